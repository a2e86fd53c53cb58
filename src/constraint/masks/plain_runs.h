// The stretches of a text in which any plain characters may follow each other, whatever state they lead to: all but
// quotes, backslashes and control characters.
//
// Within a string a pattern counts, and the names of an object's members branch, while no plain character is refused.
// FreeRuns follow one way of any characters; PlainRuns follow all ways of plain characters. An answer does not depend
// on earlier questions. One thread uses them, beside the LocalStates whose ids they keep and with which they are
// cleared.
#pragma once

#include <cstdint>
#include <vector>

#include "constraint/masks/local_states.h"
#include "constraint/trie/token_trie.h"
#include "constraint/trie/utf8_places.h"

namespace octavo {

class PlainRuns {
 public:
  /// The most bytes that are looked ahead. The few tokens that are longer are looked at one by one.
  static constexpr std::uint8_t kMostBytes = 24;
  /// The most steps from state to state for one question, beyond which a run is taken to end. A step of a large set
  /// counts for as many as the set has parts of kConfigurationsOfAStep.
  static constexpr std::size_t kMaxSteps = 1200, kConfigurationsOfAStep = 16;

  /// The local states must outlive the runs.
  explicit PlainRuns(LocalStates& locals) : locals_(locals) {}

  /// Whether all bytes below a node may follow in this state; false may also mean that the answer is not known.
  bool holds(LocalId state, const TokenTrie::Below& below);
  /// Whether any plain characters may follow in this state and in all states behind them, no control character may, and
  /// the call does not end. False may also mean that the answer is not known.
  bool is_endless(LocalId state) { return run_of(node_of(state, 0, true)) == kEndless; }
  void clear() {
    runs_ = {};
    found_ = {};
  }

 private:
  /// The number of a state, a place of a decoder, and whether characters from 128 on count.
  using Node = std::uint32_t;
  static constexpr std::uint8_t kUnknown = 0xFF, kEndless = 0xFE;

  static Node node_of(LocalId state, std::uint8_t place, bool with_others) {
    return (state * kNumUtf8Places + place) * 2 + (with_others ? 1 : 0);
  }
  static LocalId state_of(Node node) { return node / (2 * kNumUtf8Places); }

  std::uint8_t known_run(Node node) const { return node < runs_.size() ? runs_[node] : kUnknown; }
  std::uint8_t run_of(Node node) {
    const std::uint8_t known = known_run(node);
    return known != kUnknown ? known : find_run(node);
  }
  std::uint8_t find_run(Node root);
  void add_end(Node node);
  bool expand(Node node);
  bool is_inside(LocalId state);
  bool expand_range(Node node, const Utf8PlaceStep& range);
  void add_target(Node node, Node target);
  void spread_ends();

  LocalStates& locals_;
  std::vector<std::uint8_t> runs_;  // [nodes] bytes that may follow, at most kMostBytes, or kEndless
  // The question under way.
  std::vector<Node> open_;                     // nodes, in the order in which they were met
  std::vector<std::uint8_t> found_;            // [nodes] the state of the search
  std::vector<std::pair<Node, Node>> arrows_;  // pairs of a node and one that leads to it
  LocalStates::Edges edges_;                   // the edges of the node at hand
  std::size_t num_steps_ = 0;
  bool may_be_endless_ = true;
};

}  // namespace octavo

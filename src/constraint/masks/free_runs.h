// The stretches of a text in which any characters of a set may follow each other: within a string of any length, or of
// a bounded one.
//
// Most tokens of a vocabulary consist of such characters. Where all tokens below a node of its tree do, all of them may
// follow, and neither these tokens nor the places among them at which a call may end need to be looked at.
//
// One thread uses it, beside the LocalStates whose ids it keeps and with which it is cleared.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "constraint/masks/local_states.h"
#include "constraint/trie/plain_text.h"
#include "constraint/trie/token_trie.h"
#include "constraint/trie/utf8_places.h"

namespace octavo {

class FreeRuns {
 public:
  /// The most bytes that are looked ahead. The few tokens that are longer are looked at one by one.
  static constexpr std::uint8_t kMostBytes = 24;
  static constexpr std::uint8_t kEndless = 0xFF;

  /// The automaton and the local states must outlive the runs.
  FreeRuns(const Automaton& automaton, LocalStates& locals);

  /// Whether all bytes below a node may follow in this state; false may also mean that the answer is not known.
  bool holds(LocalId state, const TokenTrie::Below& below);
  /// Whether all bytes below a node, whose byte begins a character in this state, may follow.
  bool holds_behind(LocalId state, std::uint8_t lead, const TokenTrie::Below& below);
  /// The number of plain characters that may follow in this state, any of them at each place, before none may;
  /// kEndless: always; kMostBytes: at least so many. Before and behind each of them no control character may follow,
  /// and the call does not end. No value: this does not hold, or is not known.
  std::optional<std::uint8_t> plain_only(LocalId state);
  void clear() {
    steps_ = {};
    rounds_ = {};
  }

 private:
  /// The state behind one character.
  struct Step {
    bool is_known = false;
    bool leads_on = false;  // some bytes under 128 lead to `next`
    LocalId next = LocalStates::kDead;
    AsciiSet ascii = {};                          // these bytes
    std::optional<bool> others = {};              // all characters from 128 on lead to `next` too
    std::optional<std::uint8_t> run = {};         // bytes of `ascii` that may follow each other, at most kMostBytes
    std::optional<std::uint8_t> run_others = {};  // bytes that may follow, with characters from 128 on
    std::optional<bool> is_plain = {};            // takes_only_plain()
  };

  const Step& step_of(LocalId state) {
    return state < steps_.size() && steps_[state].is_known ? steps_[state] : find_step(state);
  }
  const Step& find_step(LocalId state);
  /// Whether no byte under 128 below the node leads to another state.
  static bool takes(const Step& step, const TokenTrie::Below& below) {
    return step.leads_on && are_within(below.ascii, step.ascii);
  }
  std::uint8_t run_of(const Step& step, LocalId state, bool with_others) {
    const std::optional<std::uint8_t>& known = with_others ? step.run_others : step.run;
    return known ? *known : find_run(state, with_others);
  }
  std::uint8_t find_run(LocalId state, bool with_others);
  bool takes_only_plain(LocalId state);
  bool takes_no_plain(LocalId state);
  bool is_inside(LocalId state);
  bool others_lead_on(LocalId state);
  bool all_lead_to(LocalId from, std::uint8_t place, LocalId target);
  bool range_leads_to(LocalId from, const Utf8PlaceStep& range, LocalId target);

  LocalStates& locals_;
  struct Class {
    std::uint8_t byte = 0;  // the last byte of the class
    AsciiSet ascii = {};
  };
  std::vector<Class> classes_;                        // the classes of bytes that every state treats alike
  std::array<std::uint8_t, 256> last_of_class_ = {};  // [bytes]
  std::vector<Step> steps_;                           // [states]
  std::vector<std::uint32_t> rounds_;                 // [states, places of a decoder] the round of the last look
  std::uint32_t round_ = 0;
};

}  // namespace octavo

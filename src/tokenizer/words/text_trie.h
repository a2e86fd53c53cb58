// A trie of numbered texts, which finds the texts at a place of another text byte by byte.
//
// Plain values, immutable once made; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo {

class TextTrie {
 public:
  /// The most bytes of a text, so that a walk from each place of a long text takes bounded time; real vocabularies have
  /// tokens of at most 200.
  static constexpr std::size_t kMaxTextBytes = 512;
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 28;  // the most bytes of all texts together

  struct Entry {
    std::string_view text;
    std::int32_t value;  // not negative
  };
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;

  TextTrie() { first_children_.assign(2, 1); }
  /// Makes a trie. Empty texts are left out; of equal ones the first counts. The texts need not outlive it. Error: a
  /// text is longer than kMaxTextBytes, or all together are longer than kMaxBytes.
  static Result<TextTrie> create(std::vector<Entry> entries);

  /// The child of `node` for a byte; kRoot: there is none.
  Node next(Node node, char byte) const;
  /// The number of the text that ends at the node; -1: none does.
  std::int32_t value(Node node) const { return values_[node]; }

 private:
  void build(const std::vector<Entry>& entries);

  // The children of a node are neighbours, and nodes are in the order of their parents: those of node n are
  // first_children_[n] up to first_children_[n + 1].
  std::vector<std::uint8_t> bytes_ = {0};
  std::vector<std::int32_t> values_ = {-1};
  std::vector<Node> first_children_;
  std::array<Node, 256> roots_{};  // the children of the root
};

}  // namespace octavo

#include "tokenizer/words/text_trie.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "base/to_size.h"

namespace octavo {

Result<TextTrie> TextTrie::create(std::vector<Entry> entries) {
  std::size_t num_bytes = 0;
  for (const Entry& entry : entries) {
    if (entry.text.size() > kMaxTextBytes)
      return fail("found {} of {} bytes, expected texts of at most {}", quote(entry.text), entry.text.size(),
                  kMaxTextBytes);
    num_bytes += entry.text.size();
  }
  if (num_bytes > kMaxBytes) return fail("found {} bytes of texts, expected at most {}", num_bytes, kMaxBytes);
  std::erase_if(entries, [](const Entry& entry) { return entry.text.empty(); });
  std::ranges::stable_sort(entries, {}, &Entry::text);
  TextTrie trie;
  trie.build(entries);
  return trie;
}

// Each node stands for the entries that share as many first bytes as the node is deep.
void TextTrie::build(const std::vector<Entry>& entries) {
  struct Range {
    std::size_t begin, end;
  };
  std::vector<Range> ranges = {{0, entries.size()}};  // [nodes]
  first_children_.clear();
  std::size_t depth = 0;
  std::size_t end_of_depth = 1;
  for (std::size_t node = 0; node < ranges.size(); ++node) {
    if (node == end_of_depth) {
      ++depth;
      end_of_depth = ranges.size();
    }
    auto [begin, end] = ranges[node];
    first_children_.push_back(static_cast<Node>(ranges.size()));
    if (begin < end && entries[begin].text.size() == depth) values_[node] = entries[begin].value;
    while (begin < end && entries[begin].text.size() == depth) ++begin;
    while (begin < end) {
      const char byte = entries[begin].text[depth];
      const std::size_t first = begin;
      while (begin < end && entries[begin].text[depth] == byte) ++begin;
      if (node == kRoot) roots_[static_cast<std::uint8_t>(byte)] = static_cast<Node>(ranges.size());
      ranges.push_back({first, begin});
      bytes_.push_back(static_cast<std::uint8_t>(byte));
      values_.push_back(-1);
    }
  }
  first_children_.push_back(static_cast<Node>(ranges.size()));
}

TextTrie::Node TextTrie::next(Node node, char byte) const {
  if (node == kRoot) return roots_[static_cast<std::uint8_t>(byte)];
  const std::uint8_t* first = bytes_.data() + first_children_[node];
  const std::size_t num_children = first_children_[node + 1] - first_children_[node];
  if (num_children == 0) return kRoot;
  const void* found = std::memchr(first, static_cast<std::uint8_t>(byte), num_children);
  return found == nullptr ? kRoot : static_cast<Node>(static_cast<const std::uint8_t*>(found) - bytes_.data());
}

}  // namespace octavo

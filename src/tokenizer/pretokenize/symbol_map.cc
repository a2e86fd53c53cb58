#include "tokenizer/pretokenize/symbol_map.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/utf8.h"
#include "tokenizer/words/byte_level.h"

namespace octavo {

namespace {

void add_sets(const RegexNode& node, std::set<CodePointSet>& sets) {
  if (!node.set.ranges().empty()) sets.insert(node.set);
  for (const RegexNode& child : node.children) add_sets(child, sets);
}

/// Every code point at which a set begins or ends, in order, with 0 and the limit.
std::vector<std::uint32_t> borders_of(const std::set<CodePointSet>& sets) {
  std::vector<std::uint32_t> borders = {0, CodePointSet::kLimit};
  for (const CodePointSet& set : sets)
    for (const CodePointSet::Range& range : set.ranges()) borders.insert(borders.end(), {range.begin, range.end});
  std::ranges::sort(borders);
  borders.erase(std::ranges::unique(borders).begin(), borders.end());
  return borders;
}

}  // namespace

Result<SymbolMap> SymbolMap::create(std::span<const RegexNode> patterns) {
  std::set<CodePointSet> sets;
  for (const RegexNode& pattern : patterns) add_sets(pattern, sets);
  SymbolMap map;
  map.representative_.push_back(0);
  std::vector<std::uint8_t> symbols(CodePointSet::kLimit);
  std::map<std::vector<bool>, std::uint8_t> known;  // symbols by which of the sets contain the code point
  const std::vector<std::uint32_t> borders = borders_of(sets);
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    std::vector<bool> lies_in;
    lies_in.reserve(sets.size());
    for (const CodePointSet& set : sets) lies_in.push_back(set.contains(borders[i]));
    const auto [entry, is_new] = known.try_emplace(std::move(lies_in), static_cast<std::uint8_t>(map.num_symbols_));
    if (is_new) {
      if (map.num_symbols_ == 256) return fail("the patterns tell more than 255 kinds of characters apart");
      ++map.num_symbols_;
      map.representative_.push_back(borders[i]);
    }
    std::fill(symbols.begin() + borders[i], symbols.begin() + borders[i + 1], entry->second);
  }
  map.fill(symbols);
  return map;
}

void SymbolMap::fill(std::span<const std::uint8_t> symbols) {
  std::unordered_map<std::string_view, std::uint32_t> known;
  for (std::size_t page = 0; page < kNumPages; ++page) {
    const auto* begin = symbols.data() + page * 256;
    const auto size = static_cast<std::uint32_t>(pages_.size());
    const auto [entry, is_new] = known.try_emplace({reinterpret_cast<const char*>(begin), 256}, size);
    if (is_new) pages_.insert(pages_.end(), begin, begin + 256);
    page_begin_[page] = entry->second;
  }
  const ByteAlphabet alphabet;
  for (unsigned byte = 0; byte < 256; ++byte) {
    byte_symbols_[byte] = symbol(decode_utf8(alphabet.character(static_cast<std::uint8_t>(byte))));
  }
}

std::bitset<256> SymbolMap::symbols_of(const CodePointSet& set) const {
  std::bitset<256> result;
  for (std::size_t i = 1; i < num_symbols_; ++i) result[i] = set.contains(representative_[i]);
  return result;
}

void SymbolMap::translate(std::string_view text, std::vector<std::uint8_t>& symbols) const {
  symbols.assign(text.size(), kContinuation);
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      symbols[i++] = symbol(byte);
    } else {
      symbols[i] = symbol(decode_utf8(text.substr(i)));
      i += utf8_announced_length(text[i]);
    }
  }
}

void SymbolMap::translate_bytes(std::string_view text, std::vector<std::uint8_t>& symbols) const {
  symbols.resize(text.size());
  std::ranges::transform(text, symbols.begin(),
                         [this](char c) { return byte_symbols_[static_cast<unsigned char>(c)]; });
}

}  // namespace octavo

#include "tokenizer/text/code_point_set.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {

namespace {

constexpr std::string_view kCategories =
#include "tokenizer/text/unicode_categories.inc"
    ;

}  // namespace

CodePointSet CodePointSet::of_ranges(std::vector<Range> ranges) {
  std::ranges::sort(ranges);
  CodePointSet set;
  for (const Range& range : ranges) set.add(range.begin, range.end);
  return set;
}

void CodePointSet::add(std::uint32_t begin, std::uint32_t end) {
  if (begin >= end) return;
  if (ranges_.empty() || begin > ranges_.back().end) {  // it is so where ranges come in order
    ranges_.push_back({begin, end});
    return;
  }
  // Ranges that touch the new one become part of it.
  const auto first = std::ranges::lower_bound(ranges_, begin, {}, &Range::end);
  const auto last =
      std::upper_bound(first, ranges_.end(), end, [](std::uint32_t e, const Range& r) { return e < r.begin; });
  if (first != last) {
    begin = std::min(begin, first->begin);
    end = std::max(end, (last - 1)->end);
  }
  ranges_.insert(ranges_.erase(first, last), Range{begin, end});
}

void CodePointSet::add(const CodePointSet& other) {
  for (const Range& range : other.ranges_) add(range.begin, range.end);
}

CodePointSet CodePointSet::complement() const {
  CodePointSet result;
  std::uint32_t begin = 0;
  for (const Range& range : ranges_) {
    result.add(begin, range.begin);
    begin = range.end;
  }
  result.add(begin, kLimit);
  return result;
}

CodePointSet CodePointSet::intersection(const CodePointSet& other) const {
  CodePointSet result;
  for (auto mine = ranges_.begin(), theirs = other.ranges_.begin();
       mine != ranges_.end() && theirs != other.ranges_.end();) {
    result.add(std::max(mine->begin, theirs->begin), std::min(mine->end, theirs->end));
    mine->end < theirs->end ? ++mine : ++theirs;
  }
  return result;
}

bool CodePointSet::contains(std::uint32_t code_point) const {
  const auto range = std::ranges::upper_bound(ranges_, code_point, {}, &Range::end);
  return range != ranges_.end() && range->begin <= code_point;
}

std::optional<CodePointSet> code_points_of_category(std::string_view name) {
  if (name.empty() || name.size() > 2) return std::nullopt;
  CodePointSet set;
  std::uint32_t begin = 0;
  for (std::string_view rest = kCategories; !rest.empty();) {
    std::uint32_t length = 0;
    const char* end = std::from_chars(rest.data() + 2, rest.data() + rest.size(), length).ptr;
    if (rest.starts_with(name)) set.add(begin, begin + length);
    begin += length;
    rest.remove_prefix(to_size(end - rest.data()));
  }
  if (set.ranges().empty()) return std::nullopt;
  return set;
}

CodePointSet white_space() {
  CodePointSet set = *code_points_of_category("Z");
  set.add('\t', '\r' + 1);
  set.add(0x85);
  return set;
}

std::size_t leading_bytes(std::string_view text, const CodePointSet& set) {
  std::size_t size = 0;
  while (size < text.size()) {
    const Utf8Step step = next_utf8_step(text.substr(size));
    if (step.kind != Utf8Step::Kind::kCharacter || !set.contains(decode_utf8(text.substr(size)))) break;
    size += step.length;
  }
  return size;
}

std::size_t trailing_bytes(std::string_view text, const CodePointSet& set) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    const std::string_view last = text.substr(begin, end - begin);
    if (!is_valid_utf8(last) || !set.contains(decode_utf8(last))) break;
    end = begin;
  }
  return text.size() - end;
}

}  // namespace octavo

// Sets of code points: the meaning of character classes in patterns.
//
// Plain values; any thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace octavo {

class CodePointSet {
 public:
  static constexpr std::uint32_t kLimit = 0x110000;  // the end of all code points

  struct Range {
    std::uint32_t begin, end;  // [begin, end)
    auto operator<=>(const Range&) const = default;
  };

  CodePointSet() = default;
  explicit CodePointSet(std::uint32_t code_point) { add(code_point); }
  /// The union of the ranges, in any order, in n log n steps; add() of unordered ranges takes n² steps.
  static CodePointSet of_ranges(std::vector<Range> ranges);

  void add(std::uint32_t begin, std::uint32_t end);
  void add(std::uint32_t code_point) { add(code_point, code_point + 1); }
  void add(const CodePointSet& other);
  CodePointSet complement() const;
  CodePointSet intersection(const CodePointSet& other) const;
  bool contains(std::uint32_t code_point) const;

  /// The ranges, in order, without overlap, and with gaps between them.
  const std::vector<Range>& ranges() const { return ranges_; }
  auto operator<=>(const CodePointSet&) const = default;

 private:
  std::vector<Range> ranges_;
};

/// The code points of a general category of Unicode 16.0, by its name ("Lu") or its first letter ("L"). None: the
/// category is unknown.
std::optional<CodePointSet> code_points_of_category(std::string_view name);

/// Unicode's White_Space, which \s means.
CodePointSet white_space();

/// The bytes at the beginning of `text` that are characters of `set`; below, those at its end.
std::size_t leading_bytes(std::string_view text, const CodePointSet& set);
std::size_t trailing_bytes(std::string_view text, const CodePointSet& set);

}  // namespace octavo

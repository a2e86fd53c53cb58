// Look-around at the ends of a pattern: a look-ahead behind the beginning of the text, a look-behind before its end.
// There a text matches the pattern where it matches the rest and each of the patterns that are looked for.
//
// A free function; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "constraint/regex.h"

namespace octavo {

struct LookAround {
  std::string pattern;  // the text matches it somewhere
  bool is_negated;      // or must not
};

struct SplitPattern {
  std::vector<LookAround> looks;
  std::string rest;
};

/// More are left in the pattern: each is an automaton.
inline constexpr std::size_t kMaxLooks = 8;

/// Takes (?=...) and (?!...) behind ^, and (?<=...) and (?<!...) before $, out of a pattern in time linear in its
/// length; where all of the text must match, ^ and $ may be missing. Others stay, and so do all where the pattern has
/// alternatives, of which they bind one alone: the parser refuses them by name.
SplitPattern split_look_around(std::string_view pattern, RegexReach reach);

}  // namespace octavo

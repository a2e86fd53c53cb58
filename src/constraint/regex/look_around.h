// Look-around at the ends of a pattern: a look-ahead behind the beginning of the text, a look-behind before its end.
// There a text matches the pattern where it matches the rest and each of the patterns that are looked for.
//
// A free function; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "constraint/regex/regex.h"

namespace octavo {

struct LookAround {
  std::string pattern;  // matches somewhere in the text
  bool is_negated;      // whether it must not match
};

struct SplitPattern {
  std::vector<LookAround> looks;
  std::string rest;
};

/// The most that are taken out of a pattern, because each is an automaton.
inline constexpr std::size_t kMaxLooks = 8;

/// Takes (?=...) and (?!...) behind ^, and (?<=...) and (?<!...) before $, out of a pattern in time linear in its
/// length; where the whole text must match, ^ and $ may be missing. Other look-around stays, and so does all
/// look-around of patterns with alternatives, of which it binds one alone: the parser refuses it by name.
SplitPattern split_look_around(std::string_view pattern, RegexReach reach);

}  // namespace octavo

// Patterns over a few characters, drawn by RapidCheck, that the standard library reads the same.
#pragma once

#include <rapidcheck.h>

#include <string>

namespace octavo::test {

inline std::string random_pattern(int depth = 0) {
  switch (*rc::gen::inRange(0, depth > 3 ? 3 : 8)) {
    case 0: return std::string(1, *rc::gen::element('a', 'b', 'c'));
    case 1: return *rc::gen::element<std::string>("[ab]", "[^b]", "[a-b]", "\\d", "\\w", ".", "[^\\d]", "\\x61");
    case 2: return "(?:)";
    case 3: return "(" + random_pattern(depth + 1) + "|" + random_pattern(depth + 1) + ")";
    case 4:
      return "(?:" + random_pattern(depth + 1) + ")" +
             *rc::gen::element<std::string>("*", "+", "?", "{2}", "{0,2}", "*?");
    default: return random_pattern(depth + 1) + random_pattern(depth + 1);
  }
}

}  // namespace octavo::test

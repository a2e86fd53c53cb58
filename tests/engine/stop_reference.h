// The rest that a stop text leaves of an answer, looked for in the whole of it: for tests of code that looks piece by
// piece.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::test {

/// The text before the stop text that is complete first, of those the longest.
inline std::string cut_before_stop(const std::string& text, const std::vector<std::string>& stop) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::size_t longest = 0;
    for (const std::string& candidate : stop) {
      if (std::string_view(text).substr(0, end).ends_with(candidate)) longest = std::max(longest, candidate.size());
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

}  // namespace octavo::test

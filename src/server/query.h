// The query in the target of a request. A free function without state; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace octavo::server {

/// The value of a name in the query of a target, with its percent-escapes. None: the name is not there.
inline std::optional<std::string_view> query_value(std::string_view target, std::string_view name) {
  const std::size_t begin = target.find('?');
  std::string_view query = begin == std::string_view::npos ? std::string_view() : target.substr(begin + 1);
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equal = pair.find('=');
    if (equal != std::string_view::npos && pair.substr(0, equal) == name) return pair.substr(equal + 1);
  }
  return std::nullopt;
}

}  // namespace octavo::server

// A row of a table of filters, tests or methods, by its name.
#pragma once

#include <algorithm>
#include <ranges>
#include <string_view>

namespace octavo::jinja {

/// nullptr: there is none of that name.
template <std::ranges::contiguous_range Rows>
const std::ranges::range_value_t<Rows>* find_named(const Rows& rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &std::ranges::range_value_t<Rows>::name);
  return found == std::ranges::end(rows) ? nullptr : &*found;
}

}  // namespace octavo::jinja

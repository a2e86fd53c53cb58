#include "template/builtins/filters.h"

#include <algorithm>

#include "template/builtins/tests.h"

namespace octavo::jinja {

namespace {

const NamedFilter* find_in(std::span<const NamedFilter> filters, std::string_view name) {
  const auto found = std::find_if(filters.begin(), filters.end(), [&](const auto& f) { return f.name == name; });
  return found == filters.end() ? nullptr : &*found;
}

}  // namespace

const NamedFilter* find_filter(std::string_view name) {
  for (const auto filters : {text_filters(), value_filters(), order_filters(), sequence_filters(), lazy_filters()})
    if (const NamedFilter* found = find_in(filters, name)) return found;
  return nullptr;
}

const NamedFilter* find_test(std::string_view name) { return find_in(all_tests(), name); }

}  // namespace octavo::jinja

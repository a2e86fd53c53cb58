#include "template/builtins/filters.h"

#include "template/builtins/find_named.h"
#include "template/builtins/tests.h"

namespace octavo::jinja {

const NamedFilter* find_filter(std::string_view name) {
  for (const auto filters : {text_filters(), value_filters(), order_filters(), sequence_filters(), lazy_filters()})
    if (const NamedFilter* found = find_named(filters, name)) return found;
  return nullptr;
}

const NamedFilter* find_test(std::string_view name) { return find_named(all_tests(), name); }

}  // namespace octavo::jinja

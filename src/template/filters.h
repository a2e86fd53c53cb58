// jinja2's filters and tests of data, by name.
#pragma once

#include "template/evaluation.h"

namespace octavo::jinja {

/// A filter or a test; the first argument of its call is the value that it is applied to.
struct NamedFilter {
  std::string_view name;
  Function call;
};

/// Null for a name that is none.
const NamedFilter* find_filter(std::string_view name);
const NamedFilter* find_test(std::string_view name);

std::span<const NamedFilter> text_filters();
std::span<const NamedFilter> value_filters();
std::span<const NamedFilter> order_filters();
std::span<const NamedFilter> sequence_filters();
std::span<const NamedFilter> lazy_filters();

}  // namespace octavo::jinja

// jinja2's filters and tests of data, by name.
#pragma once

#include "template/values/evaluation.h"

namespace octavo::jinja {

/// A filter or a test; the first argument of its call is the value to which it is applied.
struct NamedFilter {
  std::string_view name;
  Function call;
};

/// The filter or the test of a name; null for an unknown name.
const NamedFilter* find_filter(std::string_view name);
const NamedFilter* find_test(std::string_view name);

std::span<const NamedFilter> text_filters();
std::span<const NamedFilter> value_filters();
std::span<const NamedFilter> order_filters();
std::span<const NamedFilter> sequence_filters();
std::span<const NamedFilter> lazy_filters();

}  // namespace octavo::jinja

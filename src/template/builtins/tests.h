// jinja2's tests, which may stand behind `is`.
#pragma once

#include "template/builtins/filters.h"

namespace octavo::jinja {

std::span<const NamedFilter> all_tests();

}  // namespace octavo::jinja

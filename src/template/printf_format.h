// Python's `"%s is %d" % (name, age)`.
#pragma once

#include "template/evaluation.h"

namespace octavo::jinja {

/// A tuple gives the values in order, a dict those of %(name)s, anything else is the one value.
const Text* format_printf(Evaluation& evaluation, const Text& format, const Value& values);

}  // namespace octavo::jinja

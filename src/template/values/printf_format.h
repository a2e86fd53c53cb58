// Python's `"%s is %d" % (name, age)`.
#pragma once

#include "template/values/evaluation.h"

namespace octavo::jinja {

/// Formats values: a tuple has them in order, a dict those of %(name)s, and any other value is the only one.
const Text* format_printf(Evaluation& evaluation, const Text& format, const Value& values);

}  // namespace octavo::jinja

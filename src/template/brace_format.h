// Python's `"{} is {age:>3}".format(name, age=3)`, as jinja2's sandbox runs it: attributes and items of values are
// those that expressions of a template reach, no more.
#pragma once

#include "template/evaluation.h"

namespace octavo::jinja {

const Text* format_braces(Evaluation& evaluation, const Text& format, const Call& values);

}  // namespace octavo::jinja

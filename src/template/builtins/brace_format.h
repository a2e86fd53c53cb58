// Python's `"{} is {age:>3}".format(name, age=3)`, as jinja2's sandbox runs it: the text reaches the attributes and
// items that expressions of a template reach.
#pragma once

#include "template/values/evaluation.h"

namespace octavo::jinja {

const Text* format_braces(Evaluation& evaluation, const Text& format, const Call& values);

}  // namespace octavo::jinja

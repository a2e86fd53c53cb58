// Going through values from behind, as Python's reversed() does.
#pragma once

#include "template/values/iteration.h"

namespace octavo::jinja {

/// An iterator from behind; null for values that Python's reversed() refuses.
Iterator* iterate_reversed(Evaluation& evaluation, const Value& value);
const Text* reverse_text(Evaluation& evaluation, const Text& text);

}  // namespace octavo::jinja

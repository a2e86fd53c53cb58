// A number as Python's repr(), jinja2 and json.dumps() write it. Free function; any thread.
#pragma once

#include <string>

namespace octavo {

/// The shortest digits that read back as the same number, in Python's form: 1.0, 1e+16, -inf, nan.
std::string float_repr(double value);

}  // namespace octavo

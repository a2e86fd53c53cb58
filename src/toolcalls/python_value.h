// Values as Python writes them, as JSON.
//
// A coroutine of one CallReader, used by one thread, and a free function for any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "toolcalls/call_reader.h"

namespace octavo {

/// Takes a string, a number, True, False, None (or JSON's words for them), a list, a tuple or a dict with strings as
/// keys, and appends it to the arguments as JSON. False: another value, or one nested deeper than 64.
Reading<bool> read_python_value(CallReader& in, int depth = 0);

/// The JSON of a text that is such a value as a whole; empty: it is none.
std::optional<std::string> json_of_python(std::string_view text);

}  // namespace octavo

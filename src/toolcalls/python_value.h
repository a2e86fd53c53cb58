// Values as Python writes them, as JSON.
//
// A coroutine of one CallReader; one thread.
#pragma once

#include "toolcalls/call_reader.h"

namespace octavo {

/// Takes a string, a number, True, False, None (or JSON's words for them), a list, a tuple or a dict with strings as
/// keys, and appends it to the arguments as JSON. False: another value, or one nested deeper than 64.
Reading<bool> read_python_value(CallReader& in, int depth = 0);

}  // namespace octavo

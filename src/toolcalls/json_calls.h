// Calls as objects in JSON: {"name": ..., "arguments": {...}}.
//
// Coroutines of one CallReader; one thread.
#pragma once

#include <string_view>

#include "toolcalls/call_reader.h"

namespace octavo {

/// Calls whose first byte `first` is taken, a brace or a bracket; 0: none is. One object or an array of them, or
/// several with white space, commas or semicolons between, then `close`, which may lack; empty: nothing closes them.
/// The name stands under `name` or `tool_name`, the arguments under `arguments` or `parameters`, in any order;
/// arguments that are a string are the text in it, and where there are none they are {}. Other members are passed over,
/// but for an `id` in front of the arguments.
Reading<bool> read_json_calls(CallReader& in, std::string_view close, char first = 0);

/// Arguments that are a value in JSON, behind begin(). What cannot be read is appended as it is, up to `close`.
Reading<bool> read_json_arguments(CallReader& in, std::string_view close);

}  // namespace octavo

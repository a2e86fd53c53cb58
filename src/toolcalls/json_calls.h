// Calls as objects in JSON: {"name": ..., "arguments": {...}}.
//
// Coroutines of one CallReader; one thread.
#pragma once

#include <array>
#include <string_view>

#include "toolcalls/call_reader.h"

namespace octavo {

/// Calls whose first byte `first` is taken, a brace or a bracket; 0: none is. One object or an array of them, or
/// several with white space, commas or semicolons between, then `close`, which may lack; empty: nothing closes them.
/// The name stands under `name` or `tool_name`, the arguments under `arguments` or `parameters`, in any order;
/// arguments that are a string are the text in it, and where there are none they are {}. Other members are passed over,
/// but for an `id` in front of the arguments.
Reading<bool> read_json_calls(CallReader& in, std::string_view close, char first = 0);

/// Takes arguments in JSON, after begin(). Text that cannot be read is appended as it is, up to `close`.
Reading<bool> read_json_arguments(CallReader& in, std::string_view close);

/// Takes arguments, the end of their call, and `close`. False: `close` is missing.
Reading<bool> read_rest_of_call(CallReader& in, std::string_view close);

/// The marks in front of each call and behind the last one.
using CallMarks = std::array<std::string_view, 2>;

/// Takes calls behind a mark each, up to the last mark. `is_at_call`: the first call's mark was taken. False: a mark is
/// missing, or `read_call` gives false.
Reading<bool> read_marked_calls(CallReader& in, bool is_at_call, CallMarks marks,
                                Reading<bool> (*read_call)(CallReader& in));

}  // namespace octavo

// A model of which nothing is known but that its template takes tools: an answer that is an object in JSON with the
// name of a tool, or an array of such.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {

constinit const ToolFormat kGenericFormat = {
    .name = "generic",
    .opens = {"{", "["},
    .at_beginning = true,
    .only_known = true,
    .form = {.call = "{\"name\": \"$NAME\", \"arguments\": $ARGS}", .is_repeated = false},
    .read = [](CallReader& in, std::size_t open) { return read_json_calls(in, {}, open == 0 ? '{' : '['); }};

}  // namespace octavo

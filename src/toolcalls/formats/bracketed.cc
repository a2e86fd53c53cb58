// Apriel: an array in JSON between marks. MiniMax M1: objects, one a line.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {

constinit const ToolFormat kBracketedFormat = {
    .name = "tool-calls",
    .signs = {"<tool_calls>", "</tool_calls>"},
    .opens = {"<tool_calls>"},
    .tokens = {"<tool_calls>", "</tool_calls>"},
    .form = {.open = "<tool_calls>[",
             .call = "{\"name\": \"$NAME\", \"arguments\": $ARGS}",
             .between = ", ",
             .close = "]</tool_calls>"},
    .read = [](CallReader& in, std::size_t) { return read_json_calls(in, "</tool_calls>"); }};

}  // namespace octavo

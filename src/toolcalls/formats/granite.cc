// Granite 3: an array in JSON behind a mark, up to the answer's end.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {

constinit const ToolFormat kGraniteFormat = {
    .name = "granite",
    .signs = {"<|tool_call|>"},
    .opens = {"<|tool_call|>"},
    .tokens = {"<|tool_call|>"},
    .form = {.open = "<|tool_call|>[",
             .call = "{\"name\": \"$NAME\", \"arguments\": $ARGS}",
             .between = ", ",
             .close = "]"},
    .read = [](CallReader& in, std::size_t) { return read_json_calls(in, {}); }};

}  // namespace octavo

// Command R7B and Command A: an array in JSON between control tokens, with `tool_name` and `parameters`. Command R+:
// the same in a fence behind a word.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {

constinit const ToolFormat kCommandFormat = {
    .name = "command",
    .signs = {"<|START_ACTION|>"},
    .opens = {"<|START_ACTION|>"},
    .tokens = {"<|START_ACTION|>", "<|END_ACTION|>"},
    .form = {.open = "<|START_ACTION|>[\n    ",
             .call = "{\"tool_call_id\": \"$INDEX\", \"tool_name\": \"$NAME\", \"parameters\": $ARGS}",
             .between = ",\n    ",
             .close = "\n]<|END_ACTION|>"},
    .read = [](CallReader& in, std::size_t) { return read_json_calls(in, "<|END_ACTION|>"); }};

constinit const ToolFormat kActionFormat = {
    .name = "action",
    .signs = {"Action:\\n```json", "\"tool_name\": "},
    .opens = {"Action:\n```json"},
    .form = {.open = "Action:\n```json\n[\n    ",
             .call = "{\n        \"tool_name\": \"$NAME\",\n        \"parameters\": $ARGS\n    }",
             .between = ",\n    ",
             .close = "\n]```"},
    .read = [](CallReader& in, std::size_t) { return read_json_calls(in, "```"); }};

}  // namespace octavo

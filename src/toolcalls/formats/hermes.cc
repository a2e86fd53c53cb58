// Hermes 2 and 3, Qwen 2.5 and 3, QwQ, Granite 4, MiMo, Bielik, Reka: an object in JSON between marks.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

Reading<bool> read(CallReader& in, std::size_t) { co_return co_await read_json_calls(in, "</tool_call>"); }

}  // namespace

constinit const ToolFormat kHermesFormat = {
    .name = "hermes",
    .signs = {"<tool_call>", "</tool_call>", "arguments"},
    .other_sign = "]<]minimax[>[",
    .opens = {"<tool_call>"},
    .tokens = {"<tool_call>", "</tool_call>"},
    .end = "</tool_call>",
    .form = {.call = "<tool_call>\n{\"name\": \"$NAME\", \"arguments\": $ARGS}\n</tool_call>", .between = "\n"},
    .read = read};

}  // namespace octavo

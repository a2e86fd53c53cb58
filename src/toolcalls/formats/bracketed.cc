// Apriel: an array in JSON between marks. MiniMax M1: objects, one a line.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

Reading<bool> read(CallReader& in, std::size_t) { co_return co_await read_json_calls(in, "</tool_calls>"); }

}  // namespace

constinit const ToolFormat kBracketedFormat = {.name = "tool-calls",
                                               .signs = {"<tool_calls>", "</tool_calls>"},
                                               .opens = {"<tool_calls>"},
                                               .tokens = {"<tool_calls>", "</tool_calls>"},
                                               .form = {.open = "<tool_calls>[",
                                                        .call = "{\"name\": \"$NAME\", \"arguments\": $ARGS}",
                                                        .between = ", ",
                                                        .close = "]</tool_calls>"},
                                               .read = read};

}  // namespace octavo

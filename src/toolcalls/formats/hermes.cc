// Hermes 2 and 3, Qwen 2.5 and 3, QwQ, Granite 4, MiMo, Bielik, Reka: an object in JSON between marks. Models that know
// of tools by a description alone are told to call in the same way, once an answer: they would not come to an end.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";
constexpr std::string_view kCall = "<tool_call>\n{\"name\": \"$NAME\", \"arguments\": $ARGS}\n</tool_call>";

Reading<bool> read(CallReader& in, std::size_t) { co_return co_await read_json_calls(in, kClose); }

}  // namespace

constinit const ToolFormat kHermesFormat = {.name = "hermes",
                                            .signs = {kOpen, kClose, "arguments"},
                                            .other_sign = "]<]minimax[>[",
                                            .opens = {kOpen},
                                            .tokens = {kOpen, kClose},
                                            .end = kClose,
                                            .form = {.call = kCall, .between = "\n"},
                                            .read = read};

constinit const ToolFormat kDescribedFormat = {.name = "described",
                                               .opens = {kOpen},
                                               .tokens = {kOpen, kClose},
                                               .end = kClose,
                                               .always_held = true,
                                               .form = {.call = kCall, .is_repeated = false},
                                               .read = read};

}  // namespace octavo

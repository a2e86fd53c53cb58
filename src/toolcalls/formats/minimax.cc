// MiniMax M2: calls between marks, and arguments between marks in them.
#include "toolcalls/formats/formats.h"
#include "toolcalls/parameter_calls.h"

namespace octavo {
namespace {

constexpr ParameterStyle kStyle = {.name_ends = "\"",
                                   .behind_name = "\">",
                                   .before_key = "<parameter name=\"",
                                   .key_ends = "\"",
                                   .behind_key = "\">",
                                   .behind_value = "</parameter>",
                                   .behind_call = "</invoke>"};
constexpr std::array<std::string_view, 2> kNext = {"<invoke name=\"", "</minimax:tool_call>"};

Reading<bool> read(CallReader& in, std::size_t) {
  for (;;) {
    co_await skip_space(in);
    const int next = co_await choose(in, kNext);
    if (next != 0) co_return next == 1;
    const bool is_read = co_await read_parameter_call(in, kStyle);
    if (!is_read) co_return false;
  }
}

}  // namespace

constinit const ToolFormat kMinimaxFormat = {.name = "minimax",
                                             .signs = {"<minimax:tool_call>", "<invoke name="},
                                             .opens = {"<minimax:tool_call>"},
                                             .tokens = {"<minimax:tool_call>", "</minimax:tool_call>"},
                                             .form = {.open = "<minimax:tool_call>\n",
                                                      .call = "<invoke name=\"$NAME\">\n$PARAMETERS</invoke>\n",
                                                      .close = "</minimax:tool_call>",
                                                      .parameter = "<parameter name=\"$KEY\">$VALUE</parameter>\n"},
                                             .read = read};

}  // namespace octavo

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

}  // namespace

constinit const ToolFormat kMinimaxFormat = {
    .name = "minimax",
    .signs = {"<minimax:tool_call>", "<invoke name="},
    .opens = {"<minimax:tool_call>"},
    .tokens = {"<minimax:tool_call>", "</minimax:tool_call>"},
    .form = {.open = "<minimax:tool_call>\n",
             .call = "<invoke name=\"$NAME\">\n$PARAMETERS</invoke>\n",
             .close = "</minimax:tool_call>",
             .parameter = "<parameter name=\"$KEY\">$VALUE</parameter>\n"},
    .read = [](CallReader& in, std::size_t) { return read_parameter_calls(in, kNext, kStyle); }};

}  // namespace octavo

// Hunyuan 3: a list of calls, in each a name, then keys and values in turn. All marks end in the model's edition.
#include "toolcalls/formats/formats.h"
#include "toolcalls/parameter_calls.h"

namespace octavo {
namespace {

constexpr ParameterStyle kStyle = {.name_ends = "<",
                                   .behind_name = "<tool_sep:opensource>",
                                   .before_key = "<arg_key:opensource>",
                                   .key_ends = "<",
                                   .behind_key = "</arg_key:opensource>",
                                   .before_value = "<arg_value:opensource>",
                                   .behind_value = "</arg_value:opensource>",
                                   .behind_call = "</tool_call:opensource>"};
constexpr std::array<std::string_view, 2> kNext = {"<tool_call:opensource>", "</tool_calls:opensource>"};

Reading<bool> read(CallReader& in, std::size_t open) {
  if (open == 0) co_return co_await read_parameter_calls(in, kNext, kStyle);
  co_return co_await read_parameter_call(in, kStyle);
}

}  // namespace

constinit const ToolFormat kHunyuanFormat = {
    .name = "hunyuan",
    .signs = {"<tool_sep{}>", "<arg_key{}>", "':opensource'"},
    .opens = {"<tool_calls:opensource>", kNext[0]},
    .tokens = {"<tool_calls:opensource>", kNext[1], kNext[0], kStyle.behind_call, kStyle.behind_name, kStyle.before_key,
               kStyle.behind_key, kStyle.before_value, kStyle.behind_value},
    .form = {.open = "<tool_calls:opensource>\n",
             .call = "<tool_call:opensource>$NAME<tool_sep:opensource>\n$PARAMETERS</tool_call:opensource>\n",
             .close = kNext[1],
             .parameter = "<arg_key:opensource>$KEY</arg_key:opensource>\n"
                          "<arg_value:opensource>$VALUE</arg_value:opensource>\n"},
    .read = read};

}  // namespace octavo

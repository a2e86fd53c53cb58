// GLM 4.5 to 4.7, Ling 3, Spark 2.5, Laguna: a name, then keys and values in turn.
#include "toolcalls/formats/formats.h"
#include "toolcalls/parameter_calls.h"

namespace octavo {
namespace {

constexpr ParameterStyle kStyle = {.name_ends = "<\n",
                                   .behind_name = {},
                                   .before_key = "<arg_key>",
                                   .key_ends = "<",
                                   .behind_key = "</arg_key>",
                                   .before_value = "<arg_value>",
                                   .behind_value = "</arg_value>",
                                   .behind_call = "</tool_call>"};

}  // namespace

constinit const ToolFormat kGlmFormat = {
    .name = "glm",
    .signs = {"<tool_call>", "<arg_key>", "<arg_value>"},
    .opens = {"<tool_call>"},
    .tokens = {"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"},
    .end = "</tool_call>",
    .form = {.call = "<tool_call>$NAME\n$PARAMETERS</tool_call>",
             .between = "\n",
             .parameter = "<arg_key>$KEY</arg_key>\n<arg_value>$VALUE</arg_value>\n"},
    .read = [](CallReader& in, std::size_t) { return read_parameter_call(in, kStyle); }};

}  // namespace octavo

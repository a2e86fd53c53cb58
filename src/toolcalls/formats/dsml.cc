// DeepSeek V3.2 and V4: calls between marks, and arguments that say whether they are strings.
#include "toolcalls/formats/formats.h"
#include "toolcalls/parameter_calls.h"

namespace octavo {
namespace {

constexpr ParameterStyle kStyle = {.name_ends = "\"",
                                   .behind_name = "\">",
                                   .before_key = "<｜DSML｜parameter name=\"",
                                   .key_ends = "\"",
                                   .behind_key = "\" string=\"",
                                   .behind_value = "</｜DSML｜parameter>",
                                   .behind_call = "</｜DSML｜invoke>",
                                   .kinds = {"true\">", "false\">"}};
constexpr std::array<std::string_view, 3> kNext = {"<｜DSML｜invoke name=\"", "</｜DSML｜function_calls>",
                                                   "</｜DSML｜tool_calls>"};

}  // namespace

constinit const ToolFormat kDsmlFormat = {
    .name = "dsml",
    .signs = {"｜DSML｜"},
    .opens = {"<｜DSML｜function_calls>", "<｜DSML｜tool_calls>"},
    .tokens = {"｜DSML｜"},
    .form = {.open = "<｜DSML｜function_calls>\n",
             .call = "<｜DSML｜invoke name=\"$NAME\">\n$PARAMETERS</｜DSML｜invoke>\n",
             .close = "</｜DSML｜function_calls>",
             .parameter = "<｜DSML｜parameter name=\"$KEY\" string=\"$KIND\">$VALUE</｜DSML｜parameter>\n"},
    .read = [](CallReader& in, std::size_t) { return read_parameter_calls(in, kNext, kStyle); }};

}  // namespace octavo

// MiniCPM 5: arguments between marks within the line; a text with a bracket, an ampersand or a line feed is quoted as
// in XML, other values are as Python writes them.
#include "toolcalls/formats/formats.h"
#include "toolcalls/parameter_calls.h"

namespace octavo {
namespace {

constexpr ParameterStyle kStyle = {.name_ends = "\"",
                                   .behind_name = "\">",
                                   .before_key = "<param name=\"",
                                   .key_ends = "\"",
                                   .behind_key = "\">",
                                   .behind_value = "</param>",
                                   .before_quoted = "<![CDATA[",
                                   .behind_quoted = "]]></param>",
                                   .behind_call = "</function>"};

}  // namespace

constinit const ToolFormat kMiniCpmFormat = {
    .name = "minicpm",
    .signs = {"<function name=\"", "<param name=\"", "<![CDATA["},
    .opens = {"<function name=\""},
    .tokens = {"<function", "</function>", "<param", "</param>"},
    .end = "</function>",
    .form = {.call = "<function name=\"$NAME\">$PARAMETERS</function>",
             .parameter = "<param name=\"$KEY\">$VALUE</param>"},
    .read = [](CallReader& in, std::size_t) { return read_parameter_call(in, kStyle); }};

}  // namespace octavo

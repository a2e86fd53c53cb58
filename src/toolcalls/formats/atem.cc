// Muse Glimmer: a message to the recipient NAME, whose text is a call between marks with its arguments between marks.
#include "toolcalls/formats/formats.h"
#include "toolcalls/parameter_calls.h"

namespace octavo {
namespace {

constexpr ParameterStyle kStyle = {.name_ends = "\"",
                                   .behind_name = "\">",
                                   .before_key = "<atem:parameter name=\"",
                                   .key_ends = "\"",
                                   .behind_key = "\">",
                                   .behind_value = "</atem:parameter>",
                                   .behind_call = "</atem:invoke>"};
constexpr std::array<std::string_view, 2> kNext = {"<atem:invoke name=\"", "</atem:function_calls>"};
constexpr std::string_view kCalls = "<atem:function_calls>";

/// Reads a call, whose recipient says no more than the call does. After reasoning the mark that ends it is not shown;
/// in front of a further call the sender stands, whose marks are not shown either.
Reading<bool> read(CallReader& in, std::size_t open) {
  if (open < 3) {
    std::string recipient;
    const bool has_name = co_await read_name(in, " <", recipient);
    if (!has_name) co_return false;
    constexpr std::array<std::string_view, 2> kBehindRecipient = {"<|message|>", kCalls};
    const int found = co_await choose(in, kBehindRecipient);
    if (found < 0) co_return false;
    const bool has_calls = found == 1 || co_await expect_after_space(in, kCalls);
    if (!has_calls) co_return false;
  }
  co_return co_await read_parameter_calls(in, kNext, kStyle);
}

}  // namespace

constinit const ToolFormat kAtemFormat = {
    .name = "atem",
    .signs = {"<atem:function_calls>", "<atem:invoke name="},
    .opens = {" to=", "to=", "assistant to=", kCalls},
    .tokens = {"<|message|>"},
    .form = {.call = " to=$NAME<|message|><atem:function_calls>\n<atem:invoke name=\"$NAME\">\n$PARAMETERS"
                     "</atem:invoke>\n</atem:function_calls>",
             .parameter = "<atem:parameter name=\"$KEY\">$VALUE</atem:parameter>\n",
             .is_repeated = false},
    .read = read};

}  // namespace octavo

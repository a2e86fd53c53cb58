// Qwen3-Coder, Qwen 3.5, Nemotron 3, Step 3.5: each argument between marks, a line of its own.
#include "toolcalls/formats/formats.h"
#include "toolcalls/parameter_calls.h"

namespace octavo {
namespace {

constexpr ParameterStyle kStyle = {.name_ends = ">",
                                   .behind_name = ">",
                                   .before_key = "<parameter=",
                                   .key_ends = ">",
                                   .behind_key = ">",
                                   .behind_value = "</parameter>",
                                   .behind_call = "</function>",
                                   .trims_lines = true};

/// The outer mark is often left out.
Reading<bool> read(CallReader& in, std::size_t open) {
  if (open == 0) {
    co_await skip_space(in);
    const bool is_call = co_await expect(in, "<function=");
    if (!is_call) co_return false;
  }
  const bool is_read = co_await read_parameter_call(in, kStyle);
  if (!is_read) co_return false;
  co_await skip_space(in);
  co_return co_await expect(in, "</tool_call>");
}

}  // namespace

constinit const ToolFormat kQwenFormat = {
    .name = "qwen",
    .signs = {"<tool_call>", "<function=", "<parameter="},
    .opens = {"<tool_call>", "<function="},
    .tokens = {"<tool_call>", "</tool_call>"},
    .end = "</tool_call>",
    .in_reasoning = true,
    .form = {.call = "<tool_call>\n<function=$NAME>\n$PARAMETERS</function>\n</tool_call>",
             .between = "\n",
             .parameter = "<parameter=$KEY>\n$VALUE\n</parameter>\n"},
    .read = read};

}  // namespace octavo

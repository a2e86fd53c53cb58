// Qwen3-Coder, Qwen 3.5, Nemotron 3, Step 3.5: each argument between marks, a line of its own; the outer mark is often
// left out. Seed-OSS: arguments within the line, and outer marks of its own.
#include "toolcalls/formats/formats.h"
#include "toolcalls/parameter_calls.h"

namespace octavo {
namespace {

constexpr ParameterStyle kInline = {.name_ends = ">",
                                    .behind_name = ">",
                                    .before_key = "<parameter=",
                                    .key_ends = ">",
                                    .behind_key = ">",
                                    .behind_value = "</parameter>",
                                    .behind_call = "</function>"};
constexpr ParameterStyle kOnLines = [] {
  ParameterStyle style = kInline;
  style.trims_lines = true;
  return style;
}();

/// Reads a call; `is_open`: the mark in front of the name was taken already.
Reading<bool> read_function(CallReader& in, bool is_open, const ParameterStyle& style, std::string_view close) {
  if (!is_open) {
    const bool is_call = co_await expect_after_space(in, "<function=");
    if (!is_call) co_return false;
  }
  const bool is_read = co_await read_parameter_call(in, style);
  if (!is_read) co_return false;
  co_return co_await expect_after_space(in, close);
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
    .read = [](CallReader& in, std::size_t open) { return read_function(in, open != 0, kOnLines, "</tool_call>"); }};

constinit const ToolFormat kSeedFormat = {
    .name = "seed",
    .signs = {"<seed:tool_call>"},
    .opens = {"<seed:tool_call>"},
    .tokens = {"<seed:tool_call>", "</seed:tool_call>"},
    .end = "</seed:tool_call>",
    .form = {.call = "<seed:tool_call>\n<function=$NAME>\n$PARAMETERS</function>\n</seed:tool_call>",
             .between = "\n",
             .parameter = "<parameter=$KEY>$VALUE</parameter>\n"},
    .read = [](CallReader& in, std::size_t) { return read_function(in, false, kInline, "</seed:tool_call>"); }};

}  // namespace octavo

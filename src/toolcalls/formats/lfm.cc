// LFM2: calls as Python has them, in a list: [name(key="text", other=1), ...].
#include "toolcalls/formats/formats.h"
#include "toolcalls/parameter_calls.h"
#include "toolcalls/python_value.h"

namespace octavo {
namespace {

constexpr std::string_view kEndOfCalls = "<|tool_call_end|>";

/// Reads the arguments after their opening bracket.
Reading<bool> read_arguments(CallReader& in) {
  ObjectWriter object(in.arguments());
  for (;;) {
    co_await skip_space(in);
    int next = co_await in.peek();
    if (next == ')') break;
    std::string key;
    const bool has_key = co_await read_name(in, "=,)", key);
    if (!has_key) co_return false;
    const bool has_sign = co_await expect(in, "=");
    if (!has_sign) co_return false;
    object.key(key);
    const bool has_value = co_await read_python_value(in);
    if (!has_value) co_return false;
    co_await skip_space(in);
    next = co_await in.peek();
    if (next == ')') break;
    if (next != ',') co_return false;
    in.take();
  }
  in.take();
  object.close();
  co_return true;
}

Reading<bool> read(CallReader& in, std::size_t) {
  const bool opens = co_await expect_after_space(in, "[");
  if (!opens) co_return false;
  for (;;) {
    std::string name;
    const bool has_name = co_await read_name(in, "(", name);
    if (!has_name) co_return false;
    const bool begins = co_await expect(in, "(");
    if (!begins || !in.begin(name)) co_return false;
    const bool is_read = co_await read_arguments(in);
    if (!is_read) co_await read_rest(in, kEndOfCalls);
    in.end();
    if (!is_read) co_return true;
    const bool goes_on = co_await expect_after_space(in, ",");
    if (!goes_on) break;
  }
  co_return co_await end_list(in, kEndOfCalls);
}

}  // namespace

constinit const ToolFormat kLfmFormat = {.name = "lfm",
                                         .signs = {"List of tools: "},
                                         .opens = {"<|tool_call_start|>"},
                                         .tokens = {"<|tool_call_start|>", "<|tool_call_end|>"},
                                         .form = {.open = "<|tool_call_start|>[",
                                                  .call = "$NAME($PARAMETERS)",
                                                  .between = ", ",
                                                  .close = "]<|tool_call_end|>",
                                                  .parameter = "$KEY=$VALUE",
                                                  .between_parameters = ", ",
                                                  .notation = ValueNotation::kPython},
                                         .read = read};

}  // namespace octavo

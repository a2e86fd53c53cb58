// Apertus: an array of objects with one member each, the tool's name and its arguments.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

constexpr std::string_view kEndOfCalls = "<|tools_suffix|>";

/// Reads a call after its opening brace. False: the bytes are no call.
Reading<bool> read_call(CallReader& in) {
  std::string name;
  co_await skip_space(in);
  const bool has_name = co_await read_plain_string(in, name);
  if (!has_name) co_return false;
  const bool has_colon = co_await expect_after_space(in, ":");
  if (!has_colon || !in.begin(name)) co_return false;
  co_await skip_space(in);
  const bool is_read = co_await read_json_arguments(in, kEndOfCalls);
  in.end();
  if (!is_read) co_return false;
  co_return co_await expect_after_space(in, "}");
}

Reading<bool> read(CallReader& in, std::size_t) {
  const bool opens = co_await expect_after_space(in, "[");
  if (!opens) co_return false;
  for (;;) {
    const bool begins = co_await expect_after_space(in, "{");
    if (!begins) co_return false;
    const bool is_read = co_await read_call(in);
    if (!is_read) co_return false;
    in.keep_read();
    const bool goes_on = co_await expect_after_space(in, ",");
    if (!goes_on) break;
  }
  co_return co_await end_list(in, kEndOfCalls);
}

}  // namespace

constinit const ToolFormat kApertusFormat = {
    .name = "apertus",
    .signs = {"<|tools_prefix|>"},
    .opens = {"<|tools_prefix|>"},
    .tokens = {"<|tools_prefix|>", "<|tools_suffix|>"},
    .form = {.open = "<|tools_prefix|>[", .call = "{\"$NAME\": $ARGS}", .between = ", ", .close = "]<|tools_suffix|>"},
    .read = read};

}  // namespace octavo

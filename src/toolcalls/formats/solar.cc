// Solar Open: ids, names and arguments between control tokens.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

constexpr std::string_view kEndOfCall = "<|tool_call:end|>";

Reading<bool> read_call(CallReader& in) {
  std::string id, name;
  const bool has_id = co_await read_name(in, "<", id);
  if (!has_id) co_return false;
  const bool is_named = co_await expect(in, "<|tool_call:name|>");
  if (!is_named) co_return false;
  const bool has_name = co_await read_name(in, "<", name);
  if (!has_name) co_return false;
  const bool has_arguments = co_await expect(in, "<|tool_call:args|>");
  if (!has_arguments || !in.begin(name, id)) co_return false;
  co_return co_await read_rest_of_call(in, kEndOfCall);
}

Reading<bool> read(CallReader& in, std::size_t open) {
  if (open == 0) {
    const bool is_call = co_await expect_after_space(in, "<|tool_call:begin|>");
    if (!is_call) co_return false;
  }
  co_return co_await read_call(in);
}

}  // namespace

constinit const ToolFormat kSolarFormat = {
    .name = "solar",
    .signs = {"<|tool_call:begin|>"},
    .opens = {"<|tool_calls|>", "<|tool_call:begin|>"},
    .tokens = {"<|tool_calls|>", "<|tool_call:begin|>", "<|tool_call:name|>", "<|tool_call:args|>",
               "<|tool_call:end|>"},
    .form = {.open = "<|tool_calls|>",
             .call = "<|tool_call:begin|>$INDEX<|tool_call:name|>$NAME<|tool_call:args|>$ARGS<|tool_call:end|>"},
    .read = read};

}  // namespace octavo

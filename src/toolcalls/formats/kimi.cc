// Kimi K2: functions.NAME:INDEX and arguments between control tokens.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

constexpr std::string_view kEndOfCall = "<|tool_call_end|>";
constexpr std::array<std::string_view, 2> kNext = {"<|tool_call_begin|>", "<|tool_calls_section_end|>"};

/// The name in an id.
std::string_view name_of(std::string_view id) {
  if (id.starts_with("functions.")) id.remove_prefix(10);
  const std::size_t colon = id.rfind(':');
  return colon == std::string_view::npos ? id : id.substr(0, colon);
}

Reading<bool> read_call(CallReader& in) {
  std::string id;
  const bool has_id = co_await read_name(in, "<", id);
  if (!has_id) co_return false;
  const bool is_separated = co_await expect(in, "<|tool_call_argument_begin|>");
  if (!is_separated || !in.begin(name_of(id), id)) co_return false;
  co_await skip_space(in);
  const bool is_read = co_await read_json_arguments(in, kEndOfCall);
  in.end();
  if (!is_read) co_return true;
  co_await skip_space(in);
  co_return co_await expect(in, kEndOfCall);
}

Reading<bool> read(CallReader& in, std::size_t open) {
  bool is_call = open == 1;
  for (;;) {
    if (!is_call) {
      co_await skip_space(in);
      const int next = co_await choose(in, kNext);
      if (next != 0) co_return next == 1;
    }
    is_call = false;
    const bool is_read = co_await read_call(in);
    if (!is_read) co_return false;
    in.keep_read();
  }
}

}  // namespace

constinit const ToolFormat kKimiFormat = {
    .name = "kimi",
    .signs = {"<|tool_calls_section_begin|>", "<|tool_call_begin|>"},
    .opens = {"<|tool_calls_section_begin|>", "<|tool_call_begin|>"},
    .tokens = {"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>",
               "<|tool_call_end|>", "<|tool_calls_section_end|>"},
    .in_reasoning = true,
    .form = {.open = "<|tool_calls_section_begin|>",
             .call = "<|tool_call_begin|>functions.$NAME:$INDEX<|tool_call_argument_begin|>$ARGS<|tool_call_end|>",
             .close = "<|tool_calls_section_end|>"},
    .read = read};

}  // namespace octavo

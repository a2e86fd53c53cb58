// Kimi K2: functions.NAME:INDEX and arguments between control tokens.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

constexpr std::string_view kEndOfCall = "<|tool_call_end|>";
constexpr CallMarks kMarks = {"<|tool_call_begin|>", "<|tool_calls_section_end|>"};

/// The tool's name in an id of a call.
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
  co_return co_await read_rest_of_call(in, kEndOfCall);
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
    .read = [](CallReader& in, std::size_t open) { return read_marked_calls(in, open == 1, kMarks, read_call); }};

}  // namespace octavo

// GigaChat 3.1: an object in JSON behind a control token. GigaChat 3: one in a message of its own, behind the answer's.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

constexpr std::string_view kMark = "<|function_call|>";

Reading<bool> read(CallReader& in, std::size_t) { co_return co_await read_json_calls(in, {}); }

Reading<bool> read_message(CallReader& in, std::size_t) {
  const bool is_message = co_await expect(in, "<|role_sep|>");
  if (!is_message) co_return false;
  co_return co_await read_json_calls(in, {});
}

}  // namespace

constinit const ToolFormat kGigaChatFormat = {
    .name = "gigachat",
    .signs = {"<|role_sep|>", kMark},
    .opens = {kMark},
    .tokens = {kMark},
    .form = {.call = "<|function_call|>{\"name\": \"$NAME\", \"arguments\": $ARGS}", .is_repeated = false},
    .read = read};

constinit const ToolFormat kGigaChatMessageFormat = {
    .name = "gigachat-message",
    .signs = {"<|role_sep|>", "'function call'"},
    .opens = {"<|message_sep|>\n\nfunction call"},
    .tokens = {"<|message_sep|>\n\n", "<|message_sep|>", "<|role_sep|>\n", "<|role_sep|>"},
    .form = {.call = "<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"$NAME\", \"arguments\": $ARGS}",
             .is_repeated = false},
    .read = read_message};

}  // namespace octavo

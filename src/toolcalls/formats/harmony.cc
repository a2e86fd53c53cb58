// gpt-oss: a message to the recipient functions.NAME, in a channel of its own, behind or in front of its name.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

constexpr std::size_t kMaxHeaderBytes = 128;  // the most bytes of a message's header after the recipient

/// Reads what stands between the recipient and the message: a channel, and the kind of the arguments.
Reading<bool> read_header(CallReader& in, bool needs_channel) {
  std::string header;
  const bool ends = co_await read_until(in, "<|message|>", [&header](char c) {
    if (header.size() < kMaxHeaderBytes) header.push_back(c);
  });
  co_return ends&& header.size() < kMaxHeaderBytes&& header.contains("<|channel|>") == needs_channel;
}

Reading<bool> read(CallReader& in, std::size_t open) {
  std::string name;
  const bool has_name = co_await read_name(in, " <", name);
  if (!has_name) co_return false;
  const bool has_header = co_await read_header(in, open == 0);
  if (!has_header || !in.begin(name)) co_return false;
  co_await skip_space(in);
  co_await read_json_arguments(in, {});
  in.end();
  co_return true;
}

}  // namespace

constinit const ToolFormat kHarmonyFormat = {
    .name = "harmony",
    .signs = {"<|channel|>", "functions.", "<|message|>"},
    .opens = {"to=functions.", "<|channel|>commentary to=functions.", "<|channel|>analysis to=functions."},
    .tokens = {"<|channel|>", "<|message|>", "<|constrain|>"},
    .form = {.call = "<|channel|>commentary to=functions.$NAME <|constrain|>json<|message|>$ARGS",
             .is_repeated = false},
    .read = read};

}  // namespace octavo

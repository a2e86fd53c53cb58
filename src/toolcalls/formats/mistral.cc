// Mistral: an array in JSON behind a control token (Nemo and before), or names and arguments behind one each
// (Small 3.2, Devstral, Magistral, Ministral 3).
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

constexpr std::array<std::string_view, 2> kBehindName = {"[ARGS]", "[CALL_ID]"};

Reading<bool> read_named_call(CallReader& in) {
  std::string name, id;
  const bool has_name = co_await read_name(in, "[{", name);
  if (!has_name) co_return false;
  const int next = co_await in.peek();
  if (next == '[') {
    const int behind = co_await choose(in, kBehindName);
    if (behind < 0) co_return false;
    if (behind == 1) {
      const bool has_id = co_await read_name(in, "[", id);
      if (!has_id) co_return false;
      const bool has_arguments = co_await expect(in, kBehindName[0]);
      if (!has_arguments) co_return false;
    }
  }
  if (!in.begin(name, id)) co_return false;
  co_await skip_space(in);
  co_await read_json_arguments(in, {});
  in.end();
  co_return true;
}

Reading<bool> read(CallReader& in, std::size_t) {
  co_await skip_space(in);
  const int next = co_await in.peek();
  if (next == '[' || next == '{') co_return co_await read_json_calls(in, {});
  co_return co_await read_named_call(in);
}

}  // namespace

constinit const ToolFormat kMistralFormat = {.name = "mistral",
                                             .signs = {"[TOOL_CALLS]", "[ARGS]"},
                                             .opens = {"[TOOL_CALLS]"},
                                             .tokens = {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"},
                                             .form = {.call = "[TOOL_CALLS]$NAME[ARGS]$ARGS"},
                                             .read = read};

constinit const ToolFormat kMistralListFormat = {.name = "mistral-list",
                                                 .signs = {"[TOOL_CALLS]"},
                                                 .opens = {"[TOOL_CALLS]"},
                                                 .tokens = {"[TOOL_CALLS]"},
                                                 .form = {.open = "[TOOL_CALLS][",
                                                          .call = "{\"name\": \"$NAME\", \"arguments\": $ARGS}",
                                                          .between = ", ",
                                                          .close = "]"},
                                                 .read = read};

}  // namespace octavo

// DeepSeek V3 and R1, with arguments in a fence, and V3.1 without: names and arguments between control tokens.
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"

namespace octavo {
namespace {

constexpr std::string_view kSeparator = "<｜tool▁sep｜>", kEndOfCall = "<｜tool▁call▁end｜>";
constexpr CallMarks kMarks = {"<｜tool▁call▁begin｜>", "<｜tool▁calls▁end｜>"};
constexpr std::array<std::string_view, 4> kOpens = {"<｜tool▁calls▁begin｜>", kMarks[0]};
constexpr std::array<std::string_view, 9> kTokens = {kOpens[0], kMarks[0], kSeparator, kEndOfCall, kMarks[1]};
constexpr std::array<std::string_view, 2> kEnds = {"```", kEndOfCall};

Reading<bool> read_call(CallReader& in) {
  std::string name;
  const bool has_name = co_await read_name(in, "<", name);
  if (!has_name) co_return false;
  const bool is_separated = co_await expect(in, kSeparator);
  if (!is_separated) co_return false;
  const bool is_fenced = name == "function";
  if (is_fenced) {
    const bool has_own = co_await read_name(in, "\n", name);
    if (!has_own) co_return false;
    const bool has_fence = co_await expect_after_space(in, "```json");
    if (!has_fence) co_return false;
  }
  if (!in.begin(name)) co_return false;
  co_await skip_space(in);
  const bool is_read = co_await read_json_arguments(in, kEndOfCall);
  in.end();
  if (!is_read) co_return true;
  co_await skip_space(in);
  const int end = co_await choose(in, kEnds);
  if (end != 0) co_return end == 1;
  co_return co_await expect(in, kEndOfCall);
}

Reading<bool> read(CallReader& in, std::size_t open) {
  co_return co_await read_marked_calls(in, open == 1, kMarks, read_call);
}

}  // namespace

constinit const ToolFormat kDeepseekR1Format = {
    .name = "deepseek-r1",
    .signs = {kOpens[0], "```json"},
    .opens = kOpens,
    .tokens = kTokens,
    .form = {.open = kOpens[0],
             .call = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>$NAME\n```json\n$ARGS\n```<｜tool▁call▁end｜>",
             .between = "\n",
             .close = kMarks[1]},
    .read = read};

constinit const ToolFormat kDeepseekFormat = {
    .name = "deepseek",
    .signs = {kOpens[0]},
    .opens = kOpens,
    .tokens = kTokens,
    .form = {.open = kOpens[0],
             .call = "<｜tool▁call▁begin｜>$NAME<｜tool▁sep｜>$ARGS<｜tool▁call▁end｜>",
             .close = kMarks[1]},
    .read = read};

}  // namespace octavo

#include "toolcalls/call_reader.h"

#include "base/ascii.h"
#include "toolcalls/json_scanner.h"

namespace octavo {
namespace {}  // namespace

bool may_name_a_tool(std::string_view name) {
  return !name.empty() && name.size() <= CallReader::kMaxNameBytes &&
         name.find_first_of(" \n\r\t\"'`<>{}[]()|=,;\\") == std::string_view::npos;
}

void CallReader::take() {
  if (!is_in_call_ || is_holding_) held_.push_back(byte_);
  has_byte_ = false;
}

bool CallReader::begin(std::string_view name, std::string_view id) {
  if (num_calls_ == max_calls_ || !may_name_a_tool(name) || (only_known_ && !tools_.has(name))) return false;
  name_ = name;
  is_in_call_ = true;
  keep_read();
  events_.push_back({.kind = ToolCallEvent::Kind::kBegin,
                     .index = num_calls_,
                     .text = std::string(name),
                     .id = std::string(id.size() <= kMaxIdBytes ? id : std::string_view())});
  return true;
}

void CallReader::end() {
  flush();
  events_.push_back({.kind = ToolCallEvent::Kind::kEnd, .index = num_calls_});
  is_in_call_ = is_holding_ = false;
  ++num_calls_;
}

void CallReader::flush() {
  if (arguments_.empty()) return;
  events_.push_back(
      {.kind = ToolCallEvent::Kind::kArguments, .index = num_calls_, .text = std::exchange(arguments_, {})});
}

void CallReader::open(std::string opened, bool only_known) {
  held_ = std::move(opened);
  num_opened_ = held_.size();
  only_known_ = only_known;
  waiting_ = {};
}

bool CallReader::push(char c) {
  byte_ = c;
  has_byte_ = true;
  std::exchange(waiting_, {}).resume();
  return !std::exchange(has_byte_, false);
}

void CallReader::finish() {
  is_over_ = true;
  if (waiting_) std::exchange(waiting_, {}).resume();
  is_over_ = false;
}

// What is awaited gets a name before a condition reads it: GCC 12 makes code that traps of a coroutine with several
// conditions that await.
Reading<bool> expect(CallReader& in, std::string_view text) {
  for (const char c : text) {
    const int next = co_await in.peek();
    if (next != static_cast<unsigned char>(c)) co_return false;
    in.take();
  }
  co_return true;
}

Reading<int> choose(CallReader& in, std::span<const std::string_view> texts) {
  std::string taken;
  for (;;) {
    const int next = co_await in.peek();
    if (next == CallReader::kEnd) co_return -1;
    taken.push_back(static_cast<char>(next));
    bool any = false;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (!texts[i].starts_with(taken)) continue;
      any = true;
      if (texts[i].size() != taken.size()) continue;
      in.take();
      co_return static_cast<int>(i);
    }
    if (!any) co_return -1;
    in.take();
  }
}

Reading<bool> skip_space(CallReader& in) {
  for (;;) {
    const int next = co_await in.peek();
    if (!is_white_space(next)) co_return true;
    in.take();
  }
}

Reading<bool> expect_after_space(CallReader& in, std::string_view text) {
  co_await skip_space(in);
  co_return co_await expect(in, text);
}

Reading<bool> end_list(CallReader& in, std::string_view mark) {
  const bool ends = co_await expect(in, "]");
  if (!ends) co_return false;
  in.keep_read();
  co_return co_await expect_after_space(in, mark);
}

Reading<bool> read_name(CallReader& in, std::string_view ends, std::string& name) {
  name.clear();
  for (;;) {
    const int next = co_await in.peek();
    if (next == CallReader::kEnd) co_return false;
    const char c = static_cast<char>(next);
    if (ends.contains(c)) break;
    if (!is_white_space(next) && (next < 0x20 || next == 0x7F)) co_return false;
    if (name.size() == CallReader::kMaxNameBytes) co_return false;
    if (!name.empty() || !is_white_space(next)) name.push_back(c);
    in.take();
  }
  while (!name.empty() && is_white_space(name.back())) name.pop_back();
  co_return !name.empty() && name.find_first_of("\n\r\t") == std::string::npos;
}

Reading<bool> read_json(CallReader& in, std::string& out, std::size_t most) {
  JsonScanner scanner;
  for (;;) {
    const int next = co_await in.peek();
    if (next == CallReader::kEnd) co_return scanner.is_whole_number();
    const char c = static_cast<char>(next);
    const JsonScanner::Status status = scanner.push(c);
    if (status == JsonScanner::Status::kEnded) co_return true;
    if (status == JsonScanner::Status::kBad || out.size() >= most) co_return false;
    out.push_back(c);
    in.take();
    if (status == JsonScanner::Status::kDone) co_return true;
  }
}

Reading<bool> read_rest(CallReader& in, std::string_view close) {
  const auto add = [&in](char c) { in.arguments().push_back(c); };
  if (!close.empty()) {
    co_await read_until(in, close, add);
    co_return true;
  }
  for (;;) {
    const int next = co_await in.peek();
    if (next == CallReader::kEnd) co_return true;
    add(static_cast<char>(next));
    in.take();
  }
}

Reading<bool> read_plain_string(CallReader& in, std::string& out) {
  const bool opens = co_await expect(in, "\"");
  if (!opens) co_return false;
  const bool is_named = co_await read_name(in, "\"\\", out);
  if (!is_named) co_return false;
  co_return co_await expect(in, "\"");
}

}  // namespace octavo

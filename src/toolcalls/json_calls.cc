#include "toolcalls/json_calls.h"

#include <string>
#include <utility>

#include "toolcalls/json_text.h"

namespace octavo {
namespace {

constexpr std::size_t kAnySize = std::string::npos;

/// A call while its object is read.
struct Call {
  std::string name, id;
  std::string arguments;  // the arguments that came before the name
  bool is_whole = false;  // nothing but the object's end is missing
};

/// Appends the arguments that a value means which is no object.
void append_arguments(std::string& out, const std::string& value) {
  if (value == "null") {
    out += "{}";
  } else if (json_type_of(value) == kJsonString) {
    out += text_of_json(value);
  } else {
    out += value;
  }
}

Reading<bool> read_arguments(CallReader& in, Call& call, std::string_view close) {
  if (call.name.empty()) {
    const bool is_read = co_await read_json(in, call.arguments, CallReader::kMaxHeldBytes);
    co_return is_read;
  }
  if (!in.begin(call.name, call.id)) co_return false;
  co_return co_await read_json_arguments(in, close);
}

Reading<bool> read_member(CallReader& in, Call& call, std::string_view close) {
  std::string key;
  const bool has_key = co_await read_plain_string(in, key);
  if (!has_key) co_return false;
  const bool has_colon = co_await expect_after_space(in, ":");
  if (!has_colon) co_return false;
  co_await skip_space(in);
  if (!in.is_in_call() && (key == "name" || key == "tool_name")) {
    co_return co_await read_plain_string(in, call.name);
  }
  if (!in.is_in_call() && call.arguments.empty() && (key == "arguments" || key == "parameters")) {
    co_return co_await read_arguments(in, call, close);
  }
  std::string value;
  const bool has_value = co_await read_json(in, value, CallReader::kMaxHeldBytes);
  if (has_value && key == "id" && json_type_of(value) == kJsonString) call.id = text_of_json(value);
  co_return has_value;
}

/// Reads a call's object. Once it has arguments, an early end is forgiven: it is the commonest mistake.
Reading<bool> read_object(CallReader& in, std::string_view close, bool is_open) {
  Call call;
  if (!is_open) is_open = co_await expect(in, "{");
  if (!is_open) co_return false;
  for (;;) {
    co_await skip_space(in);
    const bool is_member = co_await read_member(in, call, close);
    if (!is_member && !in.is_in_call()) co_return false;
    co_await skip_space(in);
    const int next = co_await in.peek();
    if (is_member && next == ',') {
      in.take();
      continue;
    }
    if (is_member && next == '}') {
      in.take();
    } else if (!in.is_in_call()) {
      co_return false;
    }
    break;
  }
  if (!in.is_in_call()) {
    if (!in.begin(call.name, call.id)) co_return false;
    append_arguments(in.arguments(), call.arguments.empty() ? "{}" : call.arguments);
  }
  in.end();
  co_return true;
}

}  // namespace

Reading<bool> read_json_arguments(CallReader& in, std::string_view close) {
  const int first = co_await in.peek();
  if (first == CallReader::kEnd) co_return true;
  std::string value;
  const bool is_object = first == '{';
  std::string& out = is_object ? in.arguments() : value;
  const bool is_read = co_await read_json(in, out, is_object ? kAnySize : CallReader::kMaxHeldBytes);
  if (is_read && !is_object) {
    append_arguments(in.arguments(), value);
  } else if (!is_read) {
    in.arguments() += value;
    co_await read_rest(in, close);
  }
  co_return is_read;
}

Reading<bool> read_json_calls(CallReader& in, std::string_view close, char first) {
  bool is_list = first == '[', is_open = first == '{';
  if (first == 0) {
    co_await skip_space(in);
    const int next = co_await in.peek();
    is_list = next == '[';
    if (is_list) in.take();
  }
  for (;;) {
    co_await skip_space(in);
    const bool is_call = co_await read_object(in, close, std::exchange(is_open, false));
    if (!is_call) co_return false;
    co_await skip_space(in);
    const int next = co_await in.peek();
    if (next == ',' || (next == ';' && !is_list)) {
      in.take();
    } else if (next != '{' || is_list) {
      break;
    }
  }
  if (is_list) co_return co_await end_list(in, close);
  co_return co_await expect(in, close);
}

Reading<bool> read_rest_of_call(CallReader& in, std::string_view close) {
  co_await skip_space(in);
  const bool is_read = co_await read_json_arguments(in, close);
  in.end();
  if (!is_read) co_return true;
  co_return co_await expect_after_space(in, close);
}

Reading<bool> read_marked_calls(CallReader& in, bool is_at_call, CallMarks marks,
                                Reading<bool> (*read_call)(CallReader& in)) {
  for (;;) {
    if (!is_at_call) {
      co_await skip_space(in);
      const int next = co_await choose(in, marks);
      if (next != 0) co_return next == 1;
    }
    is_at_call = false;
    const bool is_read = co_await read_call(in);
    if (!is_read) co_return false;
    in.keep_read();
  }
}

}  // namespace octavo

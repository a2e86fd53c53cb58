#include "toolcalls/python_value.h"

#include "json/json_string.h"
#include "toolcalls/json_scanner.h"
#include "toolcalls/json_text.h"

namespace octavo {
namespace {

constexpr int kMaxDepth = 64;

/// Reads what follows a backslash. JSON's escapes stay, a hexadecimal one gets two digits more, and a backslash that
/// begins no escape stays a backslash.
Reading<bool> read_escape(CallReader& in) {
  const int next = co_await in.peek();
  if (next == CallReader::kEnd) co_return false;
  in.take();
  std::string& out = in.arguments();
  const char c = static_cast<char>(next);
  if (c == 'x') {
    out += "\\u00";
  } else if (std::string_view("\"\\bfnrtu").contains(c)) {
    out.push_back('\\');
    out.push_back(c);
  } else if (c != '\n') {  // a line feed after a backslash joins two lines
    if (c != '\'') out += "\\\\";
    append_json_byte(out, c);
  }
  for (int digits = c == 'x' ? 2 : c == 'u' ? 4 : 0; digits > 0; --digits) {
    const int digit = co_await in.peek();
    const bool is_hex =
        (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f') || (digit >= 'A' && digit <= 'F');
    if (!is_hex) co_return false;
    out.push_back(static_cast<char>(digit));
    in.take();
  }
  co_return true;
}

/// Takes white space behind a quote, and appends it to `space`. True: what comes then can stand behind a string. False:
/// the quote is one within the text, since templates write a text between quotes without escapes.
Reading<bool> ends_string(CallReader& in, std::string& space) {
  for (;;) {
    const int next = co_await in.peek();
    if (next == CallReader::kEnd) co_return true;
    const char c = static_cast<char>(next);
    if (!std::string_view(" \n\t\r").contains(c)) co_return std::string_view(",)]}:").contains(c);
    in.take();
    space.push_back(c);
  }
}

Reading<bool> read_string(CallReader& in, char quote) {
  in.take();
  in.arguments().push_back('"');
  for (;;) {
    const int next = co_await in.peek();
    if (next == CallReader::kEnd) co_return false;
    const char c = static_cast<char>(next);
    in.take();
    if (c == quote) {
      std::string text(1, c);
      const bool ends = co_await ends_string(in, text);
      if (ends) break;
      for (const char part : text) append_json_byte(in.arguments(), part);
      continue;
    }
    if (c != '\\') {
      append_json_byte(in.arguments(), c);
      continue;
    }
    const bool is_escape = co_await read_escape(in);
    if (!is_escape) co_return false;
  }
  in.arguments().push_back('"');
  co_return true;
}

Reading<bool> read_word(CallReader& in) {
  std::string word;
  const bool is_word = co_await read_name(in, ",)]}", word);
  if (!is_word) co_return false;
  const auto python = json_of_python_word(word);
  if (!python && json_type_of(word) == 0) co_return false;
  in.arguments() += python.value_or(word);
  co_return true;
}

/// Reads a list, a tuple or a dict.
Reading<bool> read_members(CallReader& in, int open, int depth) {
  const bool is_dict = open == '{';
  const char close = is_dict ? '}' : open == '[' ? ']' : ')';
  in.take();
  in.arguments().push_back(is_dict ? '{' : '[');
  for (bool is_first = true;; is_first = false) {
    co_await skip_space(in);
    int next = co_await in.peek();
    if (next == close) break;
    if (!is_first) in.arguments() += ", ";
    if (is_dict) {
      if (next != '"' && next != '\'') co_return false;
      const bool has_key = co_await read_string(in, static_cast<char>(next));
      if (!has_key) co_return false;
      const bool has_colon = co_await expect_after_space(in, ":");
      if (!has_colon) co_return false;
      in.arguments() += ": ";
    }
    const bool has_value = co_await read_python_value(in, depth + 1);
    if (!has_value) co_return false;
    co_await skip_space(in);
    next = co_await in.peek();
    if (next == close) break;
    if (next != ',') co_return false;
    in.take();
  }
  in.take();
  in.arguments().push_back(is_dict ? '}' : ']');
  co_return true;
}

}  // namespace

Reading<bool> read_python_value(CallReader& in, int depth) {
  if (depth == kMaxDepth) co_return false;
  co_await skip_space(in);
  const int next = co_await in.peek();
  if (next == '"' || next == '\'') co_return co_await read_string(in, static_cast<char>(next));
  if (next == '{' || next == '[' || next == '(') co_return co_await read_members(in, next, depth);
  co_return co_await read_word(in);
}

std::optional<std::string> json_of_python(std::string_view text) {
  const ToolSet no_tools;
  CallReader in(no_tools, 1);
  in.open({}, false);
  Reading<bool> reading = read_python_value(in);
  reading.start();
  for (const char c : text)
    if (reading.done() || !in.push(c)) return {};
  if (!reading.done()) in.push(',');  // ends a word
  if (!reading.done() || !reading.take()) return {};
  return std::move(in.arguments());
}

}  // namespace octavo

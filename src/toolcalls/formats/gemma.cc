// Gemma 4: a notation of its own, with bare keys and strings between tokens: call:NAME{key:<|"|>text<|"|>,other:1}.
#include "json/json_string.h"
#include "toolcalls/formats/formats.h"
#include "toolcalls/json_calls.h"
#include "toolcalls/json_scanner.h"
#include "toolcalls/json_text.h"
#include "toolcalls/parameter_calls.h"

namespace octavo {
namespace {

constexpr std::string_view kQuote = "<|\"|>", kEndOfCall = "<tool_call|>";
constexpr int kMaxDepth = 64;

/// Reads a string after its opening quote.
Reading<bool> read_string(CallReader& in) {
  std::string& out = in.arguments();
  out.push_back('"');
  const bool ends = co_await read_until(in, kQuote, [&out](char c) { append_json_byte(out, c); });
  if (ends) out.push_back('"');
  co_return ends;
}

/// Reads a number or a word; any other text is a string.
Reading<bool> read_bare(CallReader& in) {
  std::string text;
  const bool has_text = co_await read_name(in, ",}]", text);
  if (!has_text) co_return false;
  if (const auto word = json_of_python_word(text)) {
    in.arguments() += *word;
  } else if (json_type_of(text) != 0) {
    in.arguments() += text;
  } else {
    append_json_string(in.arguments(), text);
  }
  co_return true;
}

Reading<bool> read_key(CallReader& in, std::string& key) {
  const int next = co_await in.peek();
  if (next == '<') {
    const bool opens = co_await expect(in, kQuote);
    if (!opens) co_return false;
    key.clear();
    const bool ends = co_await read_until(in, kQuote, [&key](char c) {
      if (key.size() < CallReader::kMaxNameBytes) key.push_back(c);
    });
    if (!ends) co_return false;
  } else {
    const bool has_key = co_await read_name(in, ":,}", key);
    if (!has_key) co_return false;
  }
  co_return co_await expect(in, ":");
}

Reading<bool> read_value(CallReader& in, int depth);

/// Reads an object or an array after its opening bracket.
Reading<bool> read_members(CallReader& in, bool is_object, int depth) {
  const char close = is_object ? '}' : ']';
  ObjectWriter object(in.arguments());
  if (!is_object) in.arguments().push_back('[');
  for (bool is_first = true;; is_first = false) {
    co_await skip_space(in);
    int next = co_await in.peek();
    if (next != close) {
      if (is_object) {
        std::string key;
        const bool has_key = co_await read_key(in, key);
        if (!has_key) co_return false;
        object.key(key);
      } else if (!is_first) {
        in.arguments() += ", ";
      }
      const bool has_value = co_await read_value(in, depth + 1);
      if (!has_value) co_return false;
      co_await skip_space(in);
      next = co_await in.peek();
    }
    if (next != close && next != ',') co_return false;
    in.take();
    if (next == close) break;
  }
  if (is_object) {
    object.close();
  } else {
    in.arguments().push_back(']');
  }
  co_return true;
}

Reading<bool> read_value(CallReader& in, int depth) {
  if (depth == kMaxDepth) co_return false;
  co_await skip_space(in);
  const int next = co_await in.peek();
  if (next == '<') {
    const bool opens = co_await expect(in, kQuote);
    if (!opens) co_return false;
    co_return co_await read_string(in);
  }
  if (next == '"') co_return co_await read_json(in, in.arguments(), std::string::npos);
  if (next == '{' || next == '[') {
    in.take();
    co_return co_await read_members(in, next == '{', depth);
  }
  co_return co_await read_bare(in);
}

Reading<bool> read(CallReader& in, std::size_t) {
  std::string name;
  const bool has_name = co_await read_name(in, "{", name);
  if (!has_name) co_return false;
  const bool opens = co_await expect(in, "{");
  if (!opens || !in.begin(name)) co_return false;
  const bool is_read = co_await read_members(in, true, 0);
  if (!is_read) co_await read_rest(in, kEndOfCall);
  in.end();
  if (!is_read) co_return true;
  co_return co_await expect_after_space(in, kEndOfCall);
}

}  // namespace

constinit const ToolFormat kGemmaFormat = {
    .name = "gemma",
    .signs = {"<|tool_call>", "<tool_call|>"},
    .opens = {"<|tool_call>call:"},
    .tokens = {"<|tool_call>", "<tool_call|>", "<|\"|>"},
    .end = "<tool_call|>",
    .form = {.call = "<|tool_call>call:$NAME$ARGS<tool_call|>", .notation = ValueNotation::kMarked, .mark = kQuote},
    .read = read};

}  // namespace octavo

#include "toolcalls/parameter_calls.h"

#include "base/ascii.h"
#include "json/json_string.h"
#include "toolcalls/json_scanner.h"
#include "toolcalls/json_text.h"
#include "toolcalls/python_value.h"

namespace octavo {
namespace {

/// Appends a string's text as it comes, without a line feed at either end.
class StringText {
 public:
  StringText(std::string& out, bool trims_lines) : out_(out), trims_lines_(trims_lines) {}

  void push(char c) {
    if (trims_lines_ && std::exchange(is_first_, false) && c == '\n') return;
    if (std::exchange(has_line_, false)) append_json_byte(out_, '\n');
    has_line_ = trims_lines_ && c == '\n';
    if (!has_line_) append_json_byte(out_, c);
  }
  /// Ends a text that was cut: no mark follows.
  void cut() {
    if (has_line_) append_json_byte(out_, '\n');
  }

 private:
  std::string& out_;
  bool trims_lines_;
  bool is_first_ = true, has_line_ = false;  // has_line_: whether the last byte was a line feed
};

std::string_view without_lines(std::string_view text) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

void append_value(std::string& out, std::string_view text, std::uint8_t types) {
  const std::string_view bare = trimmed(text);
  const std::uint8_t type = json_type_of(bare);
  if ((type & types) != 0) {
    out += bare;
  } else if (const auto word = json_of_python_word(bare); word && (json_type_of(*word) & types) != 0) {
    out += *word;
  } else if (const auto value = (types & kJsonString) == 0 ? json_of_python(bare) : std::nullopt) {
    out += *value;
  } else if (type != 0 && (types & kJsonString) == 0) {
    out += bare;
  } else {
    append_json_string(out, text);
  }
}

Reading<bool> read_string(CallReader& in, std::string_view mark, bool trims_lines, std::string& out,
                          std::string_view begun) {
  out.push_back('"');
  StringText text(out, trims_lines);
  const bool ends = co_await read_until(in, mark, [&text](char c) { text.push(c); }, begun);
  if (ends) {
    out.push_back('"');
  } else {
    text.cut();
  }
  co_return ends;
}

/// Takes `mark` as far as it is there, and appends what was taken to `taken`. False: it is not whole.
Reading<bool> take_mark(CallReader& in, std::string_view mark, std::string& taken) {
  for (const char c : mark) {
    const int next = co_await in.peek();
    if (next == CallReader::kEnd || static_cast<char>(next) != c) co_return false;
    in.take();
    taken.push_back(c);
  }
  co_return !mark.empty();
}

Reading<bool> read_parameter(CallReader& in, const ParameterStyle& style, ObjectWriter& object) {
  std::string key;
  const bool has_key = co_await read_name(in, style.key_ends, key);
  if (!has_key) co_return false;
  const bool ends = co_await expect(in, style.behind_key);
  if (!ends) co_return false;
  std::uint8_t types = in.types_of(key);
  if (!style.kinds[0].empty()) {
    const int kind = co_await choose(in, style.kinds);
    if (kind < 0) co_return false;
    types = kind == 0 ? kJsonString : kAnyJson & ~kJsonString;
  }
  if (!style.before_value.empty()) {
    const bool begins = co_await expect_after_space(in, style.before_value);
    if (!begins) co_return false;
  }
  object.key(key);
  std::string begun;
  const bool is_quoted = co_await take_mark(in, style.before_quoted, begun);
  if (is_quoted)
    co_return co_await read_parameter_value(in, style.behind_quoted, types, style.trims_lines, in.arguments());
  co_return co_await read_parameter_value(in, style.behind_value, types, style.trims_lines, in.arguments(), begun);
}

}  // namespace

void ObjectWriter::key(std::string_view name) {
  out_ += has_members_ ? ", " : "{";
  has_members_ = true;
  append_json_string(out_, name);
  out_ += ": ";
}

void ObjectWriter::close() { out_ += has_members_ ? "}" : "{}"; }

Reading<bool> read_parameter_value(CallReader& in, std::string_view mark, std::uint8_t types, bool trims_lines,
                                   std::string& out, std::string_view begun) {
  if (types == kJsonString) co_return co_await read_string(in, mark, trims_lines, out, begun);
  std::string text;
  bool is_long = false;
  const bool ends = co_await read_until(
      in, mark,
      [&](char c) {
        if (is_long) return append_json_byte(out, c);
        text.push_back(c);
        if (text.size() < CallReader::kMaxHeldBytes) return;
        is_long = true;
        append_json_string(out, text);
        out.pop_back();
      },
      begun);
  if (is_long) {
    out.push_back('"');
  } else if (ends) {
    append_value(out, trims_lines ? without_lines(text) : std::string_view(text), types);
  }
  co_return ends;
}

Reading<bool> read_parameter_call(CallReader& in, const ParameterStyle& style) {
  std::string name;
  const bool has_name = co_await read_name(in, style.name_ends, name);
  if (!has_name) co_return false;
  const bool ends = co_await expect(in, style.behind_name);
  if (!ends || !in.begin(name)) co_return false;
  ObjectWriter object(in.arguments());
  const std::array<std::string_view, 2> next = {style.before_key, style.behind_call};
  for (;;) {
    co_await skip_space(in);
    in.hold();
    const int found = co_await choose(in, next);
    if (found == 0) {
      in.keep_read();
      const bool is_read = co_await read_parameter(in, style, object);
      if (is_read) continue;
    }
    const bool is_cut = found != 1 && co_await in.peek() == CallReader::kEnd;
    if (!is_cut) object.close();  // arguments that were cut must not look whole
    if (is_cut || found == 1) in.keep_read();
    in.end();
    co_return is_cut || found == 1;
  }
}

Reading<bool> read_parameter_calls(CallReader& in, std::span<const std::string_view> marks,
                                   const ParameterStyle& style) {
  for (;;) {
    co_await skip_space(in);
    const int next = co_await choose(in, marks);
    if (next != 0) co_return next > 0;
    const bool is_read = co_await read_parameter_call(in, style);
    if (!is_read) co_return false;
  }
}

}  // namespace octavo

#include "template/builtins/brace_format.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/to_size.h"
#include "template/builtins/attributes.h"
#include "template/values/number_format.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

/// One formatting. Fields may stand in the specification of others, two deep as in Python.
class BraceFormat {
 public:
  BraceFormat(Evaluation& evaluation, const Call& values) : evaluation_(evaluation), values_(values) {}

  const Text* run(const Text& format, int depth) {
    if (depth < 0) evaluation_.fail("Max string recursion exceeded in a format");
    const std::string_view bytes = format.bytes;
    TextBuilder out(evaluation_.arena());
    for (std::size_t at = 0; at < bytes.size();) {
      evaluation_.step();
      const std::size_t brace = std::min(bytes.size(), bytes.find_first_of("{}", at));
      out.append_part(format, at, brace);
      if (brace == bytes.size()) break;
      if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
        out.append_part(format, brace, brace + 1);
        at = brace + 2;
        continue;
      }
      if (bytes[brace] == '}') evaluation_.fail("Single '}}' encountered in format string");
      const std::size_t end = end_of_field(bytes, brace + 1);
      format_field(*part_of(evaluation_.arena(), format, brace + 1, end), out, depth);
      at = end + 1;
    }
    return out.finish();
  }

 private:
  std::size_t end_of_field(std::string_view bytes, std::size_t begin) {
    int depth = 1;
    bool in_index = false;  // a brace in [] belongs to the index
    for (std::size_t at = begin; at < bytes.size(); ++at) {
      if (bytes[at] == '[') in_index = true;
      if (bytes[at] == ']') in_index = false;
      if (in_index) continue;
      depth += bytes[at] == '{' ? 1 : bytes[at] == '}' ? -1 : 0;
      if (depth == 0) return at;
    }
    evaluation_.fail("expected '}}' before end of string");
  }

  void format_field(const Text& field, TextBuilder& out, int depth) {
    const std::string_view bytes = field.bytes;
    std::size_t name_end = 0;
    for (bool in_index = false; name_end < bytes.size(); ++name_end) {
      if (bytes[name_end] == '[') in_index = true;
      if (bytes[name_end] == ']') in_index = false;
      if (!in_index && (bytes[name_end] == ':' || bytes[name_end] == '!')) break;
    }
    Value value = find_value(bytes.substr(0, name_end));
    std::size_t spec_begin = name_end;
    if (name_end < bytes.size() && bytes[name_end] == '!') {
      const bool ends = name_end + 2 == bytes.size() || (name_end + 2 < bytes.size() && bytes[name_end + 2] == ':');
      if (!ends) evaluation_.fail("expected one character and ':' after '!' in a format");
      value = convert(value, bytes[name_end + 1]);
      spec_begin = name_end + 2;
    }
    if (spec_begin < bytes.size()) ++spec_begin;
    const Text* spec = part_of(evaluation_.arena(), field, spec_begin, bytes.size());
    format_value(value, run(*spec, depth - 1)->bytes, out);
  }

  Value convert(const Value& value, char conversion) {
    if (conversion == 's') return Value::of(to_text(evaluation_, value));
    if (conversion != 'r') evaluation_.fail("unknown conversion '!{}' in a format, expected !s or !r", conversion);
    TextBuilder out(evaluation_.arena());
    append_repr(evaluation_, out, value);
    return Value::of(out.finish());
  }

  Value find_value(std::string_view name) {
    std::size_t at = std::min(name.size(), name.find_first_of(".["));
    Value value = first_value(name.substr(0, at));
    while (at < name.size()) {
      const bool is_item = name[at] == '[';
      if (!is_item && name[at] != '.') evaluation_.fail("only '.' or '[' may follow ']' in a format's field");
      const std::size_t begin = at + 1;
      at = std::min(name.size(), is_item ? name.find(']', begin) : name.find_first_of(".[", begin));
      const std::string_view part = name.substr(begin, at - begin);
      if (part.empty()) evaluation_.fail("empty attribute in format string");
      if (is_item && at == name.size()) evaluation_.fail("missing ']' in format string");
      at += is_item ? 1 : 0;
      const auto index = is_item ? number_of(part) : std::nullopt;
      value = index     ? get_item(evaluation_, value, Value::integer(*index))
              : is_item ? get_item(evaluation_, value, evaluation_.text(part))
                        : get_attribute(evaluation_, value, *make_text(evaluation_.arena(), part));
    }
    return value;
  }

  static std::optional<std::int64_t> number_of(std::string_view digits) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size() || digits.starts_with('-')) return std::nullopt;
    return number;
  }

  Value first_value(std::string_view name) {
    auto index = number_of(name);
    if (name.empty()) {
      if (used_numbers_) evaluation_.fail("cannot switch from manual field specification to automatic field numbering");
      index = next_++;
    } else if (index) {
      if (next_ > 0) evaluation_.fail("cannot switch from automatic field numbering to manual field specification");
      used_numbers_ = true;
    }
    if (index) {
      if (to_size(*index) >= values_.arguments.size())
        evaluation_.fail("the format has a field {}, found {} values", *index, values_.arguments.size());
      return values_.arguments[to_size(*index)];
    }
    for (const NamedValue& named : values_.named)
      if (named.name->bytes == name) return named.value;
    evaluation_.fail("the format has a field '{}', which is not among the values", name);
  }

  FormatSpec parse(std::string_view text) {
    FormatSpec spec;
    std::size_t at = 0;
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '=' || c == '^'; };
    const auto peek = [&] { return at < text.size() ? text[at] : '\0'; };
    const std::size_t fill_bytes = text.empty() ? 0 : character_bytes(text[0]);
    if (fill_bytes > 0 && fill_bytes < text.size() && is_align(text[fill_bytes])) {
      spec.fill = text.substr(0, fill_bytes);
      at = fill_bytes;
    }
    if (is_align(peek())) spec.align = text[at++];
    if (peek() == '+' || peek() == '-' || peek() == ' ') spec.sign = text[at++];
    if (peek() == '#') spec.alternate = true, ++at;
    if (peek() == '0') spec.zero = spec.align == 0, ++at;
    spec.width = read_number(text, at);
    if (peek() == ',' || peek() == '_') spec.grouping = text[at++];
    if (peek() == '.') {
      const std::size_t digits = ++at;
      spec.precision = read_number(text, at);
      if (at == digits) evaluation_.fail("Format specifier missing precision");
    }
    if (at < text.size()) spec.type = text[at++];
    if (at < text.size()) evaluation_.fail("Invalid format specifier '{}'", text);
    return spec;
  }

  std::int64_t read_number(std::string_view text, std::size_t& at) {
    std::int64_t number = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      number = number * 10 + (text[at] - '0');
      if (number > kMostFormatWidth) evaluation_.fail("a width or precision beyond {} in a format", kMostFormatWidth);
    }
    return number;
  }

  void format_value(const Value& value, std::string_view written, TextBuilder& out) {
    if (written.empty()) return append_str(evaluation_, out, value);
    FormatSpec spec = parse(written);
    if (value.is(Kind::kText)) {
      if (spec.type != 0 && spec.type != 's') evaluation_.fail("unknown format code '{}' for a string", spec.type);
      if (spec.align == '=' || spec.sign != '-' || spec.grouping != 0 || spec.alternate)
        evaluation_.fail("a format '{}' is for numbers, found a string", written);
      if (spec.zero) spec.fill = "0";
      const Text* text = &value.text();
      if (spec.precision >= 0)
        text = part_of(evaluation_.arena(), *text, 0, byte_of_character(*text, to_size(spec.precision)));
      return append_padded(evaluation_, out, spec, *text, '<');
    }
    if (!value.is_number()) evaluation_.fail("unsupported format string for a {}", type_name(value));
    if (spec.precision > kMostPrecision) evaluation_.fail("a precision beyond {} in a format", kMostPrecision);
    const bool is_whole = value.is_integer() && std::string_view("eEfFgG%").find(spec.type) == std::string_view::npos;
    const bool whole = value.is_integer() && (spec.type == 0 || is_whole);
    if (whole && spec.precision >= 0) evaluation_.fail("Precision not allowed in integer format specifier");
    append_number(
        evaluation_, out, spec,
        whole ? format_integer(evaluation_, spec, value.as_int()) : format_float(evaluation_, spec, value.as_double()));
  }

  Evaluation& evaluation_;
  const Call& values_;
  std::int64_t next_ = 0;
  bool used_numbers_ = false;
};

}  // namespace

const Text* format_braces(Evaluation& evaluation, const Text& format, const Call& values) {
  return BraceFormat(evaluation, values).run(format, 2);
}

}  // namespace octavo::jinja

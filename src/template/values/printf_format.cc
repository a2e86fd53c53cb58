#include "template/values/printf_format.h"

#include <optional>

#include "base/to_size.h"
#include "template/values/arithmetic.h"
#include "template/values/number_format.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

/// One formatting: reads the format from left to right, and takes values as it meets their places.
class PrintfFormat {
 public:
  PrintfFormat(Evaluation& evaluation, const Text& format, const Value& values)
      : evaluation_(evaluation), format_(format), values_(values), out_(evaluation.arena()) {}

  const Text* run() {
    const std::string_view bytes = format_.bytes;
    while (at_ < bytes.size()) {
      const std::size_t percent = std::min(bytes.size(), bytes.find('%', at_));
      out_.append_part(format_, at_, percent);
      at_ = percent + 1;
      if (percent < bytes.size()) format_one(percent);
    }
    const bool all_used =
        values_.is(Kind::kTuple) ? num_used_ == values_.items().size() : num_used_ == 1 || is_mapping();
    if (!all_used) evaluation_.fail("not all arguments converted during string formatting");
    return with_markup(evaluation_.arena(), *out_.finish(), format_.is_markup);
  }

 private:
  // Python takes anything with keys or indexes that is neither a tuple nor a string for a mapping.
  bool is_mapping() const { return values_.is(Kind::kDict) || values_.is(Kind::kList) || values_.is(Kind::kRange); }

  char peek() const { return at_ < format_.bytes.size() ? format_.bytes[at_] : '\0'; }

  Value next_value() {
    if (values_.is(Kind::kTuple)) {
      if (num_used_ == values_.items().size()) evaluation_.fail("not enough arguments for format string");
      return values_.items()[num_used_++];
    }
    if (num_used_++ > 0) evaluation_.fail("not enough arguments for format string");
    return values_;
  }

  std::optional<Value> read_key() {
    if (peek() != '(') return std::nullopt;
    if (!values_.is(Kind::kDict)) evaluation_.fail("format requires a mapping, found {}", type_name(values_));
    const std::size_t begin = ++at_;
    for (int depth = 1; depth > 0; ++at_) {
      if (at_ == format_.bytes.size()) evaluation_.fail("incomplete format key");
      depth += format_.bytes[at_] == '(' ? 1 : format_.bytes[at_] == ')' ? -1 : 0;
    }
    const std::string_view key = format_.bytes.substr(begin, at_ - 1 - begin);
    const Entry* entry = find_text(evaluation_.arena(), values_.dict(), key);
    if (entry == nullptr) evaluation_.fail("the format's key '{}' is not in the mapping", key);
    return entry->value;
  }

  void read_flags(FormatSpec& spec) {
    for (;; ++at_) {
      switch (peek()) {
        case '-': spec.align = '<'; break;
        case '+': spec.sign = '+'; break;
        case ' ': spec.sign = spec.sign == '+' ? '+' : ' '; break;
        case '#': spec.alternate = true; break;
        case '0': spec.zero = true; break;
        default: return;
      }
    }
  }

  std::int64_t read_number() {
    if (peek() == '*') {
      ++at_;
      const Value value = next_value();
      if (!value.is_integer()) evaluation_.fail("* wants int, found {}", type_name(value));
      return value.as_int();
    }
    std::int64_t number = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      number = number * 10 + (peek() - '0');
      if (number > kMostFormatWidth) evaluation_.fail("a width or precision beyond {} in a format", kMostFormatWidth);
    }
    return number;
  }

  FormatSpec read_spec() {
    FormatSpec spec;
    read_flags(spec);
    spec.width = read_number();
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = spec.width < -kMostFormatWidth ? kMostFormatWidth + 1 : -spec.width;
    }
    if (peek() == '.') {
      ++at_;
      spec.precision = std::max<std::int64_t>(0, read_number());
    }
    if (peek() == 'h' || peek() == 'l' || peek() == 'L') ++at_;
    spec.type = peek();
    return spec;
  }

  void format_one(std::size_t percent) {
    evaluation_.step();
    const std::optional<Value> keyed = read_key();
    FormatSpec spec = read_spec();
    if (at_++ >= format_.bytes.size()) evaluation_.fail("incomplete format");
    if (spec.type == '%') return out_.append("%", format_.origin_at(percent));
    const Value value = keyed ? *keyed : next_value();
    switch (spec.type) {
      case 's':
      case 'r':
      case 'a': return format_text(spec, value);
      case 'c': return format_character(spec, value);
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X': return format_whole(spec, value);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': return format_real(spec, value);
      default: evaluation_.fail("unsupported format character '{}'", spec.type);
    }
  }

  void format_text(const FormatSpec& spec, const Value& value) {
    TextBuilder builder(evaluation_.arena());
    if (spec.type == 's') {
      append_str(evaluation_, builder, value);
    } else {
      append_repr(evaluation_, builder, value);
    }
    const Text* text = builder.finish();
    if (spec.type == 'a' && !text->is_ascii) evaluation_.fail("%a of text beyond ASCII is not supported");
    if (format_.is_markup && !(value.is(Kind::kText) && value.text().is_markup)) {
      TextBuilder escaped(evaluation_.arena());
      append_escaped(escaped, *text);
      text = escaped.finish();
    }
    if (spec.precision >= 0)
      text = part_of(evaluation_.arena(), *text, 0, byte_of_character(*text, to_size(spec.precision)));
    FormatSpec padding = spec;
    padding.zero = false;
    append_padded(evaluation_, out_, padding, *text, '>');
  }

  void format_character(const FormatSpec& spec, const Value& value) {
    const Text* text = value.is(Kind::kText) ? &value.text() : nullptr;
    if (value.is_integer()) {
      if (value.as_int() < 0 || value.as_int() > 0x10FFFF || (value.as_int() >= 0xD800 && value.as_int() < 0xE000))
        evaluation_.fail("%c of {}, expected a character's number", value.as_int());
      TextBuilder builder(evaluation_.arena());
      builder.append_character(static_cast<std::uint32_t>(value.as_int()), Origin::kTemplate);
      text = builder.finish();
    }
    if (text == nullptr || count_characters(*text) != 1)
      evaluation_.fail("%c requires an integer or one character, found {}", type_name(value));
    append_padded(evaluation_, out_, spec, *text, '>');
  }

  void format_whole(FormatSpec spec, const Value& value) {
    if (!value.is_number() || (value.is(Kind::kFloat) && spec.type != 'd' && spec.type != 'i' && spec.type != 'u'))
      evaluation_.fail("%{} format: a number is required, found {}", spec.type, type_name(value));
    if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
    const std::int64_t number = value.is(Kind::kFloat) ? to_integer(evaluation_, value.as_double()) : value.as_int();
    std::string digits = format_integer(evaluation_, spec, number);
    if (spec.precision > kMostPrecision) evaluation_.fail("a precision beyond {} in a format", kMostPrecision);
    const std::size_t first = digits.find_first_not_of("+- ");
    const std::size_t begin = spec.alternate && spec.type != 'd' ? first + 2 : first;
    if (spec.precision > static_cast<std::int64_t>(digits.size() - begin))
      digits.insert(begin, to_size(spec.precision) - (digits.size() - begin), '0');
    append_number(evaluation_, out_, spec, digits);
  }

  void format_real(const FormatSpec& spec, const Value& value) {
    if (!value.is_number())
      evaluation_.fail("%{} format: a real number is required, found {}", spec.type, type_name(value));
    if (spec.precision > kMostPrecision) evaluation_.fail("a precision beyond {} in a format", kMostPrecision);
    append_number(evaluation_, out_, spec, format_float(evaluation_, spec, value.as_double()));
  }

  Evaluation& evaluation_;
  const Text& format_;
  const Value values_;
  TextBuilder out_;
  std::size_t at_ = 0;
  std::size_t num_used_ = 0;
};

}  // namespace

const Text* format_printf(Evaluation& evaluation, const Text& format, const Value& values) {
  return PrintfFormat(evaluation, format, values).run();
}

}  // namespace octavo::jinja

#include "template/values/number_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/float_repr.h"
#include "base/to_size.h"

namespace octavo::jinja {

namespace {

std::string_view sign_of(const FormatSpec& spec, bool negative) {
  if (negative) return "-";
  return spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
}

std::string digits_of(std::uint64_t value, unsigned base, bool upper) {
  std::string digits;
  do {
    digits += (upper ? "0123456789ABCDEF" : "0123456789abcdef")[value % base];
    value /= base;
  } while (value > 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string print(char type, bool alternate, std::int64_t precision, double value) {
  const char format[] = {
      '%', alternate ? '#' : '.', alternate ? '.' : '*', alternate ? '*' : type, alternate ? type : '\0', '\0'};
  std::array<char, 1024> buffer;
  // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the letter is one of e E f F g G
  const int size = std::snprintf(buffer.data(), buffer.size(), format, static_cast<int>(precision), value);
  return {buffer.data(), to_size(size)};
}

/// The fewest digits that, with a mark between each `every` of them, have a length of at least `width`.
std::size_t digits_for(std::size_t width, std::size_t every) {
  const std::size_t digits = width - width / (every + 1);
  return width % (every + 1) == 0 ? digits + 1 : digits;  // a mark is between digits, never before them
}

/// Puts a mark between each `every` digits of the whole part, which is filled with zeros up to `width` in all.
std::string group(Evaluation& evaluation, const std::string& number, char mark, std::size_t every, std::size_t width) {
  const std::size_t whole = std::min(number.size(), number.find_first_not_of("0123456789abcdefABCDEF"));
  if (whole == 0) return number;
  const std::size_t behind = number.size() - whole;
  const std::size_t digits = width > behind ? std::max(whole, digits_for(width - behind, every)) : whole;
  const std::size_t num_bytes = digits + (digits - 1) / every + behind;
  evaluation.steps_for(num_bytes);
  evaluation.arena().charge_bytes(num_bytes);
  std::string grouped;
  grouped.reserve(num_bytes);
  for (std::size_t left = digits; left > 0; --left) {
    if (left < digits && left % every == 0) grouped += mark;
    grouped += left > whole ? '0' : number[whole - left];
  }
  return grouped.append(number, whole);
}

std::string general(const FormatSpec& spec, double value) {
  if (spec.precision < 0) return float_repr(value);
  // Python's own form is that of %g, with at least one digit after the point.
  std::string text = print('g', false, std::max<std::int64_t>(1, spec.precision), value);
  if (text.find_first_of(".en") == std::string::npos) {
    const bool fits = static_cast<std::int64_t>(text.size()) < std::max<std::int64_t>(1, spec.precision);
    text = fits ? text + ".0" : print('e', false, std::max<std::int64_t>(0, spec.precision - 1), value);
  }
  return text;
}

}  // namespace

std::string format_integer(Evaluation& evaluation, const FormatSpec& spec, std::int64_t value) {
  const bool negative = value < 0;
  const std::uint64_t magnitude = negative ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  std::string prefix;
  unsigned base = 10;
  switch (spec.type) {
    case 0:
    case 'n':
    case 'd': break;
    case 'b': base = 2, prefix = "0b"; break;
    case 'o': base = 8, prefix = "0o"; break;
    case 'x': base = 16, prefix = "0x"; break;
    case 'X': base = 16, prefix = "0X"; break;
    default: evaluation.fail("unknown format code '{}' for an integer", spec.type);
  }
  std::string digits = digits_of(magnitude, base, spec.type == 'X');
  const std::string sign(sign_of(spec, negative));
  if (!spec.alternate) prefix.clear();
  if (spec.grouping != 0) {
    const std::size_t width = spec.zero ? to_size(spec.width) : 0;
    const std::size_t taken = sign.size() + prefix.size();
    digits = group(evaluation, digits, spec.grouping, base == 10 ? 3 : 4, width > taken ? width - taken : 0);
  }
  return sign + prefix + digits;
}

std::string format_float(Evaluation& evaluation, const FormatSpec& spec, double value) {
  const bool negative = std::signbit(value) && !std::isnan(value);
  const double magnitude = std::abs(value);
  const std::int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  std::string digits;
  switch (spec.type) {
    case 0: digits = general(spec, magnitude); break;
    case 'n': digits = print('g', spec.alternate, precision, magnitude); break;
    case '%': digits = print('f', spec.alternate, precision, magnitude * 100) + "%"; break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': digits = print(spec.type, spec.alternate, precision, magnitude); break;
    default: evaluation.fail("unknown format code '{}' for a float", spec.type);
  }
  const std::string sign(sign_of(spec, negative));
  if (spec.grouping != 0) {
    const std::size_t width = spec.zero ? to_size(spec.width) : 0;
    digits = group(evaluation, digits, spec.grouping, 3, width > sign.size() ? width - sign.size() : 0);
  }
  return sign + digits;
}

void append_padded(Evaluation& evaluation, TextBuilder& out, const FormatSpec& spec, const Text& text, char align) {
  if (spec.width > kMostFormatWidth)
    evaluation.fail("a width of {} in a format, expected at most {}", spec.width, kMostFormatWidth);
  const auto characters = static_cast<std::int64_t>(count_characters(text));
  const std::int64_t padding = std::max<std::int64_t>(0, spec.width - characters);
  if (spec.align != 0) align = spec.align;
  const std::int64_t before = align == '>' || align == '=' ? padding : align == '^' ? padding / 2 : 0;
  out.append_repeated(spec.fill, to_size(before));
  out.append(text);
  out.append_repeated(spec.fill, to_size(padding - before));
}

void append_number(Evaluation& evaluation, TextBuilder& out, const FormatSpec& spec, std::string_view number) {
  const bool inside = spec.align == '=' || (spec.align == 0 && spec.zero);
  if (!inside) return append_padded(evaluation, out, spec, Text{.bytes = number, .spans = {}}, '>');
  std::size_t sign = number.find_first_not_of("+- ");
  if (spec.alternate && number.size() > sign + 1 && number[sign] == '0') sign += 2;
  out.append(number.substr(0, sign));
  FormatSpec rest = spec;
  rest.width = std::max<std::int64_t>(0, spec.width - static_cast<std::int64_t>(sign));
  rest.align = '>';
  if (spec.zero && spec.align == 0) rest.fill = "0";
  append_padded(evaluation, out, rest, Text{.bytes = number.substr(sign), .spans = {}}, '>');
}

}  // namespace octavo::jinja

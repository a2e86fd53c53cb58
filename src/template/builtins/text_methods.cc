// The methods of strings that make other values from them.
#include <algorithm>

#include "base/to_size.h"
#include "template/builtins/arguments.h"
#include "template/builtins/brace_format.h"
#include "template/builtins/methods.h"
#include "template/builtins/text_operations.h"
#include "template/values/iteration.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

/// The characters to strip; null where they are None or not given.
const Text* text_or_null(const Arguments& arguments, std::size_t i) {
  return arguments.is_none(i) ? nullptr : &arguments.text(i);
}

template <Side kSide>
Value strip_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "strip", call, {"self", "chars"}, 1);
  return Value::of(strip(evaluation, arguments.text(0), text_or_null(arguments, 1), kSide));
}

template <Case kCase>
Value case_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, kCase == Case::kUpper ? "upper" : "lower", call, {"self"}, 1);
  return Value::of(in_case(evaluation, arguments.text(0), kCase));
}

Value capitalize_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "capitalize", call, {"self"}, 1);
  return Value::of(capitalize(evaluation, arguments.text(0)));
}

/// str.title(): a letter after a letter becomes lower case, any other letter title case.
Value title_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "title", call, {"self"}, 1);
  const Text& text = arguments.text(0);
  evaluation.steps_for(16 * text.bytes.size());
  TextBuilder out(evaluation.arena());
  bool follows_letter = false;
  for (std::size_t at = 0; at < text.bytes.size();) {
    const std::size_t next = at + character_bytes(text.bytes[at]);
    const std::uint32_t code_point = code_point_at(text.bytes, at);
    append_in_case(out, text, at, next, follows_letter ? Case::kLower : Case::kTitle, true);
    follows_letter = is_lower(code_point) || is_upper(code_point) || is_title(code_point);
    at = next;
  }
  return Value::of(out.finish());
}

Value swapcase_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "swapcase", call, {"self"}, 1);
  const Text& text = arguments.text(0);
  evaluation.steps_for(16 * text.bytes.size());
  TextBuilder out(evaluation.arena());
  for (std::size_t at = 0; at < text.bytes.size(); at += character_bytes(text.bytes[at])) {
    const bool upper = is_upper(code_point_at(text.bytes, at));
    append_in_case(out, text, at, at + character_bytes(text.bytes[at]), upper ? Case::kLower : Case::kUpper, true);
  }
  return Value::of(out.finish());
}

template <bool kFromRight>
Value split_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "split", call, {"self", "sep", "maxsplit"}, 1);
  const auto parts = (kFromRight ? split_from_right : split)(evaluation, arguments.text(0), text_or_null(arguments, 1),
                                                             arguments.integer(2, -1));
  return evaluation.list(parts);
}

Value splitlines_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "splitlines", call, {"self", "keepends"}, 1);
  return evaluation.list(split_lines(evaluation, arguments.text(0), arguments.truth(1, false)));
}

template <bool kFromRight>
Value partition_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "partition", call, {"self", "sep"}, 2);
  const Text& text = arguments.text(0);
  const auto parts = (kFromRight ? split_from_right : split)(evaluation, text, &arguments.text(1), 1);
  const Value empty = evaluation.text("");
  if (parts.size() == 2) {
    const Value all[] = {parts[0], arguments[1], parts[1]};
    return evaluation.tuple(all);
  }
  const Value all[] = {kFromRight ? empty : parts[0], empty, kFromRight ? parts[0] : empty};
  return evaluation.tuple(all);
}

Value replace_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "replace", call, {"self", "old", "new", "count"}, 3);
  if (!call.named.empty()) evaluation.fail("replace() takes no keyword arguments");
  const Text& text = arguments.text(0);
  if (text.is_markup) evaluation.fail("replace() of markup is not supported");
  return Value::of(replace(evaluation, text, arguments.text(1), arguments.text(2), arguments.integer(3, -1)));
}

Value join_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "join", call, {"self", "iterable"}, 2);
  if (arguments.text(0).is_markup) evaluation.fail("join() of markup is not supported");
  return Value::of(join(evaluation, arguments.text(0), arguments[1], false));
}

Value format_method(Evaluation& evaluation, const Call& call) {
  const Text& text = call.arguments[0].text();
  if (text.is_markup) evaluation.fail("format() of markup is not supported");
  return Value::of(format_braces(evaluation, text, {call.arguments.subspan(1), call.named}));
}

enum class Padding : std::uint8_t { kLeft, kRight, kCenter };

template <Padding kPadding>
Value pad_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "just", call, {"self", "width", "fillchar"}, 2);
  const Text& text = arguments.text(0);
  const Text* fill = arguments.has(2) ? &arguments.text(2) : make_text(evaluation.arena(), " ");
  if (count_characters(*fill) != 1) evaluation.fail("The fill character must be exactly one character long");
  const std::int64_t size = length_of(evaluation, arguments[0]).value_or(0);
  const std::int64_t width = arguments.integer(1, 0), padding = std::max<std::int64_t>(0, width - size);
  std::int64_t left = 0;
  if (kPadding == Padding::kRight) left = padding;
  if (kPadding == Padding::kCenter) left = padding / 2 + (padding & width & 1);
  TextBuilder out(evaluation.arena());
  out.append_repeated(fill->bytes, to_size(left), fill->origin);
  out.append(text);
  out.append_repeated(fill->bytes, to_size(padding - left), fill->origin);
  return Value::of(out.finish());
}

Value zfill_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "zfill", call, {"self", "width"}, 2);
  const Text& text = arguments.text(0);
  const std::int64_t padding = arguments.integer(1, 0) - length_of(evaluation, arguments[0]).value_or(0);
  if (padding <= 0) return arguments[0];
  const std::size_t sign = text.bytes.starts_with('-') || text.bytes.starts_with('+') ? 1 : 0;
  TextBuilder out(evaluation.arena());
  out.append_part(text, 0, sign);
  out.append_repeated("0", to_size(padding));
  out.append_part(text, sign, text.bytes.size());
  return Value::of(out.finish());
}

template <bool kPrefix>
Value remove_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, kPrefix ? "removeprefix" : "removesuffix", call, {"self", "affix"}, 2);
  const Text& text = arguments.text(0);
  const std::string_view affix = arguments.text(1).bytes;
  evaluation.steps_for(text.bytes.size());
  if (!(kPrefix ? text.bytes.starts_with(affix) : text.bytes.ends_with(affix))) return arguments[0];
  const std::size_t begin = kPrefix ? affix.size() : 0;
  return Value::of(part_of(evaluation.arena(), text, begin, begin + text.bytes.size() - affix.size()));
}

Value expandtabs_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "expandtabs", call, {"self", "tabsize"}, 1);
  const Text& text = arguments.text(0);
  const std::int64_t size = arguments.integer(1, 8);
  evaluation.steps_for(16 * text.bytes.size());
  TextBuilder out(evaluation.arena());
  std::int64_t column = 0;
  for (std::size_t at = 0; at < text.bytes.size(); at += character_bytes(text.bytes[at])) {
    if (text.bytes[at] == '\t') {
      const std::int64_t spaces = size <= 0 ? 0 : size - column % size;
      out.append_repeated(" ", to_size(spaces), text.origin_at(at));
      column += spaces;
      continue;
    }
    column = text.bytes[at] == '\n' || text.bytes[at] == '\r' ? 0 : column + 1;
    out.append_part(text, at, at + character_bytes(text.bytes[at]));
  }
  return Value::of(out.finish());
}

constexpr NamedMethod kMethods[] = {
    {"strip", strip_method<Side::kBoth>},
    {"lstrip", strip_method<Side::kLeft>},
    {"rstrip", strip_method<Side::kRight>},
    {"upper", case_method<Case::kUpper>},
    {"lower", case_method<Case::kLower>},
    {"capitalize", capitalize_method},
    {"title", title_method},
    {"swapcase", swapcase_method},
    {"split", split_method<false>},
    {"rsplit", split_method<true>},
    {"splitlines", splitlines_method},
    {"partition", partition_method<false>},
    {"rpartition", partition_method<true>},
    {"replace", replace_method},
    {"join", join_method},
    {"format", format_method},
    {"ljust", pad_method<Padding::kLeft>},
    {"rjust", pad_method<Padding::kRight>},
    {"center", pad_method<Padding::kCenter>},
    {"zfill", zfill_method},
    {"removeprefix", remove_method<true>},
    {"removesuffix", remove_method<false>},
    {"expandtabs", expandtabs_method},
};

}  // namespace

std::span<const NamedMethod> text_methods() { return kMethods; }

}  // namespace octavo::jinja

// Filters that make texts.
#include <algorithm>

#include "base/to_size.h"
#include "template/builtins/arguments.h"
#include "template/builtins/filter_arguments.h"
#include "template/builtins/filters.h"
#include "template/builtins/json_writer.h"
#include "template/builtins/methods.h"
#include "template/builtins/text_operations.h"
#include "template/values/arithmetic.h"
#include "template/values/iteration.h"
#include "template/values/operators.h"
#include "template/values/printf_format.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

template <Case kCase>
Value filter_case(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, kCase == Case::kUpper ? "upper" : "lower", call, {"s"}, 1);
  return Value::of(in_case(evaluation, *to_text(evaluation, arguments[0]), kCase));
}

Value filter_capitalize(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "capitalize", call, {"s"}, 1);
  return Value::of(capitalize(evaluation, *to_text(evaluation, arguments[0])));
}

/// jinja2's own title: words begin behind spaces, hyphens and opening brackets.
Value filter_title(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "title", call, {"s"}, 1);
  const Text& text = *to_text(evaluation, arguments[0]);
  evaluation.steps_for(16 * text.bytes.size());
  const auto separates = [&](std::size_t at) {
    return std::string_view("-({[<").find(text.bytes[at]) != std::string_view::npos ||
           is_space(code_point_at(text.bytes, at));
  };
  TextBuilder out(evaluation.arena());
  for (std::size_t at = 0; at < text.bytes.size();) {
    const std::size_t first = at + character_bytes(text.bytes[at]);
    const bool is_separator = separates(at);
    std::size_t end = first;
    while (end < text.bytes.size() && separates(end) == is_separator) end += character_bytes(text.bytes[end]);
    append_in_case(out, text, at, first, Case::kUpper);
    append_in_case(out, text, first, end, Case::kLower);
    at = end;
  }
  return Value::of(out.finish());
}

Value filter_trim(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "trim", call, {"value", "chars"}, 1);
  return Value::of(strip(evaluation, *to_text(evaluation, arguments[0]),
                         arguments.is_none(1) ? nullptr : &arguments.text(1), Side::kBoth));
}

Value filter_replace(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "replace", call, {"s", "old", "new", "count"}, 3);
  const std::int64_t count = arguments.is_none(3) ? -1 : arguments.integer(3, -1);
  const Text* text = with_markup(evaluation.arena(), *to_text(evaluation, arguments[0]), false);
  return Value::of(
      replace(evaluation, *text, *to_text(evaluation, arguments[1]), *to_text(evaluation, arguments[2]), count));
}

Value filter_string(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "string", call, {"object"}, 1);
  return Value::of(to_text(evaluation, arguments[0]));
}

template <bool kAgain>
Value filter_escape(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "escape", call, {"s"}, 1);
  const Text* text = to_text(evaluation, arguments[0]);
  if (text->is_markup && !kAgain) return Value::of(text);
  TextBuilder out(evaluation.arena());
  append_escaped(out, *text);
  return Value::of(with_markup(evaluation.arena(), *out.finish(), true));
}

Value filter_safe(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "safe", call, {"value"}, 1);
  return Value::of(with_markup(evaluation.arena(), *to_text(evaluation, arguments[0]), true));
}

Value filter_center(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "center", call, {"value", "width"}, 1);
  const Value both[] = {Value::of(to_text(evaluation, arguments[0])), Value::integer(arguments.integer(1, 80))};
  return find_method(both[0], "center")->call(evaluation, {.arguments = both, .named = {}});
}

Value filter_indent(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "indent", call, {"s", "width", "first", "blank"}, 1);
  Arena& arena = evaluation.arena();
  const bool blank = arguments.truth(3, false);
  TextBuilder spaces(arena);
  if (arguments.has(1) && arguments[1].is(Kind::kText)) {
    spaces.append(arguments[1].text());
  } else {
    spaces.append_repeated(" ", to_size(std::max<std::int64_t>(0, arguments.integer(1, 4))));
  }
  const Text& indentation = *spaces.finish();
  if (arguments[0].is(Kind::kUndefined)) fail_undefined(evaluation, arguments[0]);
  const Text& text = *concatenate(evaluation, arguments.text(0), *make_text(arena, "\n"));
  const std::vector<Value> lines = split_lines(evaluation, text, false);
  TextBuilder out(arena);
  if (arguments.truth(2, false)) out.append(indentation);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.append("\n");
    if (i > 0 && (blank || !lines[i].text().bytes.empty())) out.append(indentation);
    out.append(lines[i].text());
  }
  return Value::of(with_markup(arena, *out.finish(), text.is_markup));
}

Value filter_truncate(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "truncate", call, {"s", "length", "killwords", "end", "leeway"}, 1);
  Arena& arena = evaluation.arena();
  const Text& text = arguments.text(0);
  evaluation.steps_for(text.bytes.size());
  const Text& end = arguments.has(3) ? arguments.text(3) : *make_text(arena, "...");
  const auto end_size = static_cast<std::int64_t>(count_characters(end));
  const std::int64_t length = arguments.integer(1, 255);
  const std::int64_t leeway = arguments.is_none(4) ? 5 : arguments.integer(4, 5);
  if (length < end_size || leeway < 0)
    evaluation.fail("truncate() needs a length of at least {} and a leeway of at least 0, found {} and {}", end_size,
                    length, leeway);
  if (static_cast<std::int64_t>(count_characters(text)) - leeway <= length) return arguments[0];
  const Text* kept = part_of(arena, text, 0, byte_of_character(text, to_size(length - end_size)));
  if (!arguments.truth(2, false)) kept = &split_from_right(evaluation, *kept, make_text(arena, " "), 1)[0].text();
  return Value::of(concatenate(evaluation, *kept, end));
}

Value filter_wordcount(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "wordcount", call, {"s"}, 1);
  const std::string_view bytes = to_text(evaluation, arguments[0])->bytes;
  evaluation.steps_for(4 * bytes.size());
  std::int64_t count = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < bytes.size(); at += character_bytes(bytes[at])) {
    const bool word = is_word(code_point_at(bytes, at));
    if (word && !in_word) ++count;
    in_word = word;
  }
  return Value::integer(count);
}

Value filter_format(Evaluation& evaluation, const Call& call) {
  if (call.arguments.size() > 1 && !call.named.empty())
    evaluation.fail("format takes values by position or by name, found both");
  const Text& format = *to_text(evaluation, call.arguments[0]);
  if (call.named.empty())
    return Value::of(format_printf(evaluation, format, evaluation.tuple(call.arguments.subspan(1))));
  DictBuilder values(evaluation.arena());
  for (const NamedValue& named : call.named) values.put(Value::of(named.name), named.value);
  return Value::of(format_printf(evaluation, format, Value::of(values.finish())));
}

Value filter_join(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "join", call, {"value", "d", "attribute"}, 1);
  const Text& separator = arguments.has(1) ? *to_text(evaluation, arguments[1]) : *make_text(evaluation.arena(), "");
  Value items = arguments[0];
  if (!arguments.is_none(2)) {
    std::vector<Value> attributes;
    const AttributePath path(evaluation, arguments[2]);
    for (const Value& item : collect(evaluation, items)) attributes.push_back(path.get(item));
    items = evaluation.list(attributes);
  }
  return Value::of(join(evaluation, separator, items, true));
}

constexpr NamedFilter kFilters[] = {
    {"upper", filter_case<Case::kUpper>},
    {"lower", filter_case<Case::kLower>},
    {"capitalize", filter_capitalize},
    {"title", filter_title},
    {"trim", filter_trim},
    {"replace", filter_replace},
    {"string", filter_string},
    {"escape", filter_escape<false>},
    {"e", filter_escape<false>},
    {"forceescape", filter_escape<true>},
    {"safe", filter_safe},
    {"center", filter_center},
    {"indent", filter_indent},
    {"truncate", filter_truncate},
    {"wordcount", filter_wordcount},
    {"format", filter_format},
    {"join", filter_join},
    {"tojson", filter_tojson},
};

}  // namespace

std::span<const NamedFilter> text_filters() { return kFilters; }

}  // namespace octavo::jinja

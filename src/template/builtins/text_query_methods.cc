// The methods of strings that ask something about them.
#include <algorithm>
#include <optional>

#include "base/to_size.h"
#include "template/builtins/arguments.h"
#include "template/builtins/methods.h"
#include "template/values/find_text.h"
#include "template/values/iteration.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"
#include "template/values/unicode.h"

namespace octavo::jinja {

namespace {

/// The part of a text that `start` and `end` name, by Python's rules; nothing where the start is beyond the end.
struct Window {
  std::size_t begin;
  std::size_t end;
};

std::optional<Window> window_of(Evaluation& evaluation, const Arguments& arguments) {
  const Text& text = arguments.text(0);
  evaluation.steps_for(text.bytes.size());
  const auto size = static_cast<std::int64_t>(count_characters(text));
  const auto bound = [&](std::size_t i, std::int64_t fallback) {
    if (arguments.is_none(i)) return fallback;
    const std::int64_t index = arguments.integer(i, 0);
    return index < 0 ? std::max<std::int64_t>(0, index + size) : index;
  };
  const std::int64_t begin = bound(2, 0), end = std::min(bound(3, size), size);
  if (begin > size || begin > end) return std::nullopt;
  return Window{byte_of_character(text, to_size(begin)), byte_of_character(text, to_size(end))};
}

template <bool kStart>
Value affix_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, kStart ? "startswith" : "endswith", call, {"self", "affix", "start", "end"}, 2);
  const Value& wanted = arguments[1];
  const std::span<const Value> all = wanted.is(Kind::kTuple) ? wanted.items() : std::span(&wanted, 1);
  const auto window = window_of(evaluation, arguments);
  for (const Value& affix : all) {
    evaluation.step();
    if (!affix.is(Kind::kText))
      evaluation.fail("{} needs a string or a tuple of strings, found {}", kStart ? "startswith" : "endswith",
                      type_name(affix));
    if (!window) continue;
    const std::string_view part = arguments.text(0).bytes.substr(window->begin, window->end - window->begin);
    evaluation.steps_for(std::min(part.size(), affix.text().bytes.size()));
    if (kStart ? part.starts_with(affix.text().bytes) : part.ends_with(affix.text().bytes)) return Value::boolean(true);
  }
  return Value::boolean(false);
}

/// Where a text occurs last in another one. Linear in time, as both are searched from the end.
std::size_t find_last(Evaluation& evaluation, std::string_view text, std::string_view wanted) {
  const std::string reversed_text(text.rbegin(), text.rend()), reversed(wanted.rbegin(), wanted.rend());
  evaluation.arena().charge_bytes(text.size() + wanted.size());
  const std::size_t place = find_bytes(evaluation, reversed_text, reversed);
  return place == std::string_view::npos ? place : text.size() - place - wanted.size();
}

template <bool kLast, bool kMustBeThere>
Value find_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, kMustBeThere ? "index" : "find", call, {"self", "sub", "start", "end"}, 2);
  const Text& text = arguments.text(0);
  const std::string_view wanted = arguments.text(1).bytes;
  std::size_t place = std::string_view::npos;
  if (const auto window = window_of(evaluation, arguments)) {
    const std::string_view part = text.bytes.substr(window->begin, window->end - window->begin);
    place = kLast ? find_last(evaluation, part, wanted) : find_bytes(evaluation, part, wanted);
    if (place != std::string_view::npos) place += window->begin;
  }
  if (place == std::string_view::npos) {
    if (kMustBeThere) evaluation.fail("substring not found");
    return Value::integer(-1);
  }
  const Text before{.bytes = text.bytes.substr(0, place), .spans = {}, .is_ascii = text.is_ascii};
  return Value::integer(static_cast<std::int64_t>(count_characters(before)));
}

Value count_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "count", call, {"self", "sub", "start", "end"}, 2);
  const std::string_view wanted = arguments.text(1).bytes;
  const auto window = window_of(evaluation, arguments);
  if (!window) return Value::integer(0);
  const Text part{.bytes = arguments.text(0).bytes.substr(window->begin, window->end - window->begin),
                  .spans = {},
                  .is_ascii = false};
  if (wanted.empty()) return Value::integer(static_cast<std::int64_t>(count_characters(part)) + 1);
  std::int64_t count = 0;
  for (std::size_t at = 0; at <= part.bytes.size(); ++count) {
    evaluation.step();
    const std::size_t found = find_text(part.bytes, wanted, at);
    if (found == std::string_view::npos) break;
    at = found + wanted.size();
  }
  return Value::integer(count);
}

/// Whether there are characters and all have a property.
template <bool (*kHas)(std::uint32_t)>
Value all_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "is...", call, {"self"}, 1);
  const std::string_view bytes = arguments.text(0).bytes;
  evaluation.steps_for(4 * bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += character_bytes(bytes[at]))
    if (!kHas(code_point_at(bytes, at))) return Value::boolean(false);
  return Value::boolean(!bytes.empty());
}

bool is_letter_or_number(std::uint32_t code_point) { return is_letter(code_point) || is_numeric(code_point); }
bool is_identifier_part(std::uint32_t code_point) {
  return code_point == '_' || is_letter(code_point) || is_decimal(code_point);
}

/// Whether all letters with a case have the wanted one, and there is at least one.
template <bool kUpper>
Value cased_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, kUpper ? "isupper" : "islower", call, {"self"}, 1);
  const std::string_view bytes = arguments.text(0).bytes;
  evaluation.steps_for(4 * bytes.size());
  bool found = false;
  for (std::size_t at = 0; at < bytes.size(); at += character_bytes(bytes[at])) {
    const std::uint32_t code_point = code_point_at(bytes, at);
    const bool upper = is_upper(code_point), lower = is_lower(code_point);
    if ((kUpper ? lower : upper) || is_title(code_point)) return Value::boolean(false);
    found = found || (kUpper ? upper : lower);
  }
  return Value::boolean(found);
}

Value istitle_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "istitle", call, {"self"}, 1);
  const std::string_view bytes = arguments.text(0).bytes;
  evaluation.steps_for(4 * bytes.size());
  bool found = false, follows_letter = false;
  for (std::size_t at = 0; at < bytes.size(); at += character_bytes(bytes[at])) {
    const std::uint32_t code_point = code_point_at(bytes, at);
    const bool begins = is_upper(code_point) || is_title(code_point), goes_on = is_lower(code_point);
    if ((begins && follows_letter) || (goes_on && !follows_letter)) return Value::boolean(false);
    follows_letter = begins || goes_on;
    found = found || follows_letter;
  }
  return Value::boolean(found);
}

Value isascii_method(Evaluation& evaluation, const Call& call) {
  const Arguments arguments(evaluation, "isascii", call, {"self"}, 1);
  return Value::boolean(arguments.text(0).is_ascii);
}

Value isprintable_method(Evaluation& evaluation, const Call& call) {
  if (call.arguments[0].text().bytes.empty()) return Value::boolean(true);
  return all_method<is_printable>(evaluation, call);
}

Value isidentifier_method(Evaluation& evaluation, const Call& call) {
  const std::string_view bytes = call.arguments[0].text().bytes;
  if (!bytes.empty() && is_decimal(code_point_at(bytes, 0))) return Value::boolean(false);
  return all_method<is_identifier_part>(evaluation, call);
}

constexpr NamedMethod kMethods[] = {
    {"startswith", affix_method<true>},
    {"endswith", affix_method<false>},
    {"find", find_method<false, false>},
    {"rfind", find_method<true, false>},
    {"index", find_method<false, true>},
    {"rindex", find_method<true, true>},
    {"count", count_method},
    {"isspace", all_method<is_space>},
    {"isalpha", all_method<is_letter>},
    {"isalnum", all_method<is_letter_or_number>},
    {"isdecimal", all_method<is_decimal>},
    {"isdigit", all_method<is_digit>},
    {"isnumeric", all_method<is_numeric>},
    {"isprintable", isprintable_method},
    {"isidentifier", isidentifier_method},
    {"isascii", isascii_method},
    {"isupper", cased_method<true>},
    {"islower", cased_method<false>},
    {"istitle", istitle_method},
};

}  // namespace

std::span<const NamedMethod> text_query_methods() { return kMethods; }

}  // namespace octavo::jinja

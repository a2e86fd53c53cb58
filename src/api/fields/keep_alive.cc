#include "api/fields/keep_alive.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/to_size.h"
#include "json/json_cursor.h"

namespace octavo {
namespace {

namespace json = boost::json;

using std::chrono::milliseconds;

constexpr double kMostSeconds = 1e9;  // thirty years count as for ever
constexpr std::size_t kMaxText = 64;

struct Unit {
  std::string_view name;
  double seconds;
};
// A name that is the beginning of another one stands after it, as "m" after "ms".
constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"\u00b5s", 1e-6}, {"\u03bcs", 1e-6},
                           {"ms", 1e-3}, {"s", 1},     {"m", 60},         {"h", 3600}};

milliseconds kept_for(double seconds) {
  if (seconds < 0 || seconds > kMostSeconds) return kKeptForever;
  return milliseconds(static_cast<milliseconds::rep>(seconds * 1000));
}

/// Takes a unit from the front of a text and gives its seconds; 0: there is none.
double take_unit(std::string_view& text) {
  for (const Unit& unit : kUnits) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return unit.seconds;
  }
  return 0;
}

/// The seconds of a duration such as "1h30m", "-1s" or "0"; nothing for any other text.
std::optional<double> parse_duration(std::string_view text) {
  if (text.size() > kMaxText) return std::nullopt;
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  double seconds = 0;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || !std::isfinite(number) || std::signbit(number)) return std::nullopt;
    text.remove_prefix(to_size(end - text.data()));
    const double unit = take_unit(text);
    if (unit == 0) return std::nullopt;
    seconds += number * unit;
  }
  return is_negative ? -seconds : seconds;
}

bool is_empty(const json::object& body, std::string_view name) {
  const json::value* value = body.if_contains(name);
  if (value == nullptr || value->is_null()) return true;
  return (value->is_string() && value->get_string().empty()) || (value->is_array() && value->get_array().empty());
}

}  // namespace

ApiResult<std::optional<milliseconds>> keep_alive_of(const json::object& body) {
  constexpr std::string_view kExpected = "seconds, or a duration such as \"5m\" or \"1h30m\"";
  const JsonCursor given = JsonCursor(body)["keep_alive"];
  if (!given.is_given()) return std::nullopt;
  if (given.value()->is_number()) return kept_for(given.value()->to_number<double>());
  OCTAVO_TRY(const std::string_view text, to_api_result(given.needed_string(kExpected)));
  const auto seconds = parse_duration(text);
  if (!seconds) return refused(given.wrong_value(kExpected));
  return kept_for(*seconds);
}

bool asks_to_unload(const json::object& body) {
  const auto kept = keep_alive_of(body);
  return kept && *kept == milliseconds(0) && is_empty(body, "prompt") && is_empty(body, "messages");
}

}  // namespace octavo

#include "cli/terminal/parse.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/displayable.h"

namespace octavo::cli {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<Unit, 9> kUnits = {{{"B", 1},
                                         {"KiB", std::uint64_t{1} << 10},
                                         {"MiB", std::uint64_t{1} << 20},
                                         {"GiB", std::uint64_t{1} << 30},
                                         {"TiB", std::uint64_t{1} << 40},
                                         {"kB", 1'000},
                                         {"MB", 1'000'000},
                                         {"GB", 1'000'000'000},
                                         {"TB", 1'000'000'000'000}}};

/// Parses the whole text as a number; false if it is none or does not fit.
template <class T>
bool parse_whole(std::string_view text, T& value) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && stop == end;
}

}  // namespace

Result<std::int64_t> parse_integer(std::string_view text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  if (!parse_whole(text, value) || value < low || value > high)
    return fail("found '{}', expected an integer from {} to {}", text, low, high);
  return value;
}

Result<std::vector<int>> parse_integers(std::string_view text, int low, int high) {
  std::vector<int> values;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    OCTAVO_TRY(const std::int64_t value, parse_integer(text.substr(0, comma), low, high));
    values.push_back(static_cast<int>(value));
    if (comma == text.size()) return values;
    text.remove_prefix(comma + 1);
  }
}

Result<std::uint64_t> parse_u64(std::string_view text) {
  std::uint64_t value = 0;
  if (!parse_whole(text, value))
    return fail("found '{}', expected an integer from 0 to {}", text, std::numeric_limits<std::uint64_t>::max());
  return value;
}

Result<float> parse_real(std::string_view text, float low, float high) {
  float value = 0;
  if (!parse_whole(text, value) || !std::isfinite(value) || value < low || value > high)
    return fail("found '{}', expected a number from {} to {}", text, low, high);
  return value;
}

Result<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view kExpected = "expected a size such as 4GiB, 1.5GiB, 512MiB, 4GB or a number of bytes";
  const std::size_t number_end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, number_end);
  const std::string_view unit_name = text.substr(number_end);
  std::uint64_t unit = unit_name.empty() ? 1 : 0;
  for (const Unit& row : kUnits)
    if (row.name == unit_name) unit = row.bytes;
  const std::size_t dot = std::min(number.find('.'), number.size());
  const std::string_view fraction = dot < number.size() ? number.substr(dot + 1) : std::string_view();
  std::uint64_t whole = 0;
  std::uint64_t thousandths = 0;
  const bool well_formed = unit != 0 && parse_whole(number.substr(0, dot), whole) && fraction.size() <= 3 &&
                           (dot == number.size() || parse_whole(fraction, thousandths));
  if (!well_formed) return fail("found '{}', {}", text, kExpected);
  for (std::size_t digits = fraction.size(); digits < 3; ++digits) thousandths *= 10;
  if (whole >= (std::uint64_t{1} << 63) / unit) return fail("found '{}', expected less than 2^63 bytes", text);
  return whole * unit + thousandths * unit / 1000;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array<std::string_view, 4> kNames = {"KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kNames.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kNames[unit]);
}

Result<std::chrono::seconds> parse_age(std::string_view text) {
  constexpr std::int64_t kMost = 999'999'999;
  const std::string_view unit = text.substr(std::min(text.find_first_not_of("0123456789"), text.size()));
  std::int64_t number = 0;
  if (parse_whole(text.substr(0, text.size() - unit.size()), number) && number <= kMost) {
    if (unit == "s") return std::chrono::seconds(number);
    if (unit == "m") return std::chrono::minutes(number);
    if (unit == "h") return std::chrono::hours(number);
    if (unit == "d") return std::chrono::days(number);
  }
  return fail("found '{}', expected a time such as 30d, 12h, 90m or 600s", text);
}

Result<std::vector<TokenId>> parse_ids(std::string_view text) {
  constexpr std::string_view kSeparators = ", \t\n\r";
  std::vector<TokenId> ids;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kSeparators);
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(kSeparators));
    OCTAVO_TRY(const auto id, parse_integer(word, 0, std::numeric_limits<TokenId>::max()));
    ids.push_back(static_cast<TokenId>(id));
    text.remove_prefix(word.size());
  }
  if (ids.empty()) return fail("found no token id, expected ids such as 1,2,3");
  return ids;
}

std::string escaped(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const DisplayStep step = next_display_step(bytes);
    const std::string_view part = bytes.substr(0, step.length);
    bytes.remove_prefix(step.length);
    if (part == "\n") {
      out += "\\n";
    } else if (part == "\t") {
      out += "\\t";
    } else if (part == "\\") {
      out += "\\\\";
    } else if (step.is_displayable) {
      out += part;
    } else {
      for (const char c : part) out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(c));
    }
  }
  return out;
}

}  // namespace octavo::cli

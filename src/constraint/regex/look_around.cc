#include "constraint/regex/look_around.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace octavo {
namespace {

/// The end of the part that begins at `place`: an escape, a class, a group or a character; the end of the pattern where
/// it is not closed.
std::size_t end_of_part(std::string_view pattern, std::size_t place) {
  int depth = 0;
  bool in_class = false;
  for (; place < pattern.size(); ++place) {
    const char c = pattern[place];
    if (c == '\\') {
      ++place;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')') {
      --depth;
    }
    if (depth <= 0 && !in_class) return std::min(place + 1, pattern.size());
  }
  return pattern.size();
}

/// The parts of a pattern without alternatives.
std::optional<std::vector<std::string_view>> parts_of(std::string_view pattern) {
  std::vector<std::string_view> parts;
  for (std::size_t place = 0; place < pattern.size();) {
    if (pattern[place] == '|') return std::nullopt;
    const std::size_t end = end_of_part(pattern, place);
    parts.push_back(pattern.substr(place, end - place));
    place = end;
  }
  return parts;
}

bool is_quantifier(std::string_view part) { return std::string_view("*+?{").contains(part.front()); }

/// The text inside a group that begins with `begin`.
std::optional<std::string_view> inside(std::string_view part, std::string_view begin) {
  if (!part.starts_with(begin) || !part.ends_with(')')) return std::nullopt;
  return part.substr(begin.size(), part.size() - begin.size() - 1);
}

std::optional<LookAround> look_ahead(std::string_view part) {
  for (const bool is_negated : {false, true})
    if (const auto text = inside(part, is_negated ? "(?!" : "(?="))
      return LookAround{.pattern = fmt::format("^(?:{})", *text), .is_negated = is_negated};
  return std::nullopt;
}

std::optional<LookAround> look_behind(std::string_view part) {
  for (const bool is_negated : {false, true})
    if (const auto text = inside(part, is_negated ? "(?<!" : "(?<="))
      return LookAround{.pattern = fmt::format("(?:{})$", *text), .is_negated = is_negated};
  return std::nullopt;
}

}  // namespace

SplitPattern split_look_around(std::string_view pattern, RegexReach reach) {
  SplitPattern unsplit{.looks = {}, .rest = std::string(pattern)};
  if (!pattern.contains("(?")) return unsplit;
  const auto parts = parts_of(pattern);
  if (!parts) return unsplit;
  SplitPattern split;
  std::size_t begin = parts->front() == "^" ? 1 : 0, end = parts->size();
  const std::size_t ahead = begin;
  while (begin < end && (ahead > 0 || reach == RegexReach::kWhole)) {
    auto look = look_ahead((*parts)[begin]);
    if (!look || (begin + 1 < end && is_quantifier((*parts)[begin + 1]))) break;
    split.looks.push_back(*std::move(look));
    ++begin;
  }
  const bool ends = end > begin && parts->back() == "$";
  if (ends) --end;
  while (end > begin && (ends || reach == RegexReach::kWhole)) {
    auto look = look_behind((*parts)[end - 1]);
    if (!look) break;
    split.looks.push_back(*std::move(look));
    --end;
  }
  if (split.looks.empty() || split.looks.size() > kMaxLooks) return unsplit;
  split.rest.append(ahead, '^');
  for (std::size_t i = begin; i < end; ++i) split.rest += (*parts)[i];
  if (ends) split.rest += '$';
  return split;
}

}  // namespace octavo

#include "cli/options/nearest.h"

#include <algorithm>

#include "base/ascii.h"

namespace octavo::cli {
namespace {

constexpr std::size_t kLongestWord = 64;  // longer words are no typing errors, and would take time

bool begins_with(std::string_view text, std::string_view begin) {
  return text.size() >= begin.size() && edit_distance(text.substr(0, begin.size()), begin) == 0;
}

/// A name without its dashes, which say nothing about how similar two names are.
std::string_view without_dashes(std::string_view name) { return without_leading(name, "-"); }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> cost((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return cost[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.size(), b.size());
}

std::string nearest(std::string_view word, std::span<const std::string> known) {
  const std::string_view core = without_dashes(word);
  if (core.empty() || core.size() > kLongestWord) return {};
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  const std::string* begun = nullptr;
  for (const std::string& name : known) {
    const std::string_view candidate = without_dashes(name);
    if (begun == nullptr && core.size() >= 2 && begins_with(candidate, core)) begun = &name;
    const std::size_t distance = edit_distance(core, candidate);
    // One error in a short word, two in one of five letters, three in one of nine: beyond that it is another word.
    if (distance > (std::max(core.size(), candidate.size()) + 3) / 4 || distance >= candidate.size()) continue;
    if (best == nullptr || distance < best_distance) {
      best = &name;
      best_distance = distance;
    }
  }
  if (best == nullptr) best = begun;
  return best == nullptr ? std::string() : *best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string name = nearest(word, known);
  return name.empty() ? name : "; did you mean " + name + "?";
}

}  // namespace octavo::cli

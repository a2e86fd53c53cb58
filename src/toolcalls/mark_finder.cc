#include "toolcalls/mark_finder.h"

#include <algorithm>

#include "base/error.h"

namespace octavo {

MarkFinder::MarkFinder(std::span<const std::string_view> texts) {
  for (const std::string_view text : texts) {
    OCTAVO_CHECK(!text.empty() && text.size() <= kMaxMarkBytes);
    Mark mark{.text = text};
    mark.borders.assign(text.size(), 0);
    for (std::size_t i = 1; i < text.size(); ++i) {
      std::uint8_t matched = mark.borders[i - 1];
      while (matched > 0 && text[matched] != text[i]) matched = mark.borders[matched - 1U];
      mark.borders[i] = static_cast<std::uint8_t>(text[matched] == text[i] ? matched + 1 : 0);
    }
    marks_.push_back(std::move(mark));
  }
}

bool MarkFinder::Mark::advance(char c) {
  while (matched > 0 && text[matched] != c) matched = borders[matched - 1U];
  if (text[matched] == c) ++matched;
  if (matched < text.size()) return false;
  matched = 0;
  return true;
}

std::size_t MarkFinder::held() const {
  std::size_t most = 0;
  for (const Mark& mark : marks_) most = std::max<std::size_t>(most, mark.matched);
  return most;
}

void MarkFinder::restart() {
  for (Mark& mark : marks_) mark.matched = 0;
}

}  // namespace octavo

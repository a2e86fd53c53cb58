#include "engine/answers/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {
namespace {

// How many bytes at the front of `bytes` the first `text_bytes` of its shown form stand for. The rest of a character
// that has not arrived is no part of `bytes`; an incomplete character at their end was shown as U+FFFD.
std::size_t source_bytes(std::string_view bytes, std::size_t text_bytes) {
  std::size_t source = 0;
  for (std::size_t text = 0; text < text_bytes;) {
    const Utf8Step step = next_utf8_step(bytes.substr(source));
    source += step.length;
    text += step.kind == Utf8Step::Kind::kCharacter ? step.length : kReplacementCharacter.size();
  }
  return source;
}

// How many bytes of `text` match after one more byte, when `matched` bytes did before.
std::uint16_t next_matched(const std::string& text, std::span<const std::uint16_t> borders, std::uint16_t matched,
                           char byte) {
  while (matched > 0 && text[matched] != byte) matched = borders[matched - 1U];
  return text[matched] == byte ? static_cast<std::uint16_t>(matched + 1) : std::uint16_t{0};
}

}  // namespace

StopTexts::StopTexts(std::vector<std::string> texts) {
  for (std::string& text : texts) {
    std::vector<std::uint16_t> borders(text.size());
    for (std::size_t i = 1; i < text.size(); ++i) borders[i] = next_matched(text, borders, borders[i - 1], text[i]);
    longest_ = std::max(longest_, text.size());
    patterns_.push_back({.text = std::move(text), .borders = std::move(borders)});
  }
}

Result<void> StopTexts::check(std::string_view field, std::span<const std::string> texts) {
  if (texts.size() > kMaxStopTexts)
    return fail("{}: found {} texts, expected at most {}", field, texts.size(), kMaxStopTexts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty() || texts[i].size() > kMaxStopTextBytes) {
      return fail("{}[{}]: found {} bytes, expected 1 to {}", field, i, texts[i].size(), kMaxStopTextBytes);
    }
    if (!is_valid_utf8(texts[i])) return fail("{}[{}]: found bytes that are not UTF-8, expected text", field, i);
  }
  return {};
}

StopMatcher::StopMatcher() {
  constexpr std::size_t kPieceBytes = 256;  // longer pieces are rare, and make room once
  num_matched_.reserve(kMaxStopTexts);
  text_.reserve(2 * kMaxStopTextBytes + kPieceBytes);
  bytes_.reserve(2 * kMaxStopTextBytes + kPieceBytes);
}

void StopMatcher::restart(const StopTexts& stop) {
  stop_ = &stop;
  num_matched_.assign(stop.patterns_.size(), 0);
  text_.clear();
  bytes_.clear();
  shown_text_ = shown_bytes_ = 0;
  match_ = -1;
}

// The number of the longest pattern that this byte completes; -1: it completes none.
int StopMatcher::advance(char byte) {
  int longest = -1;
  for (std::size_t i = 0; i < num_matched_.size(); ++i) {
    const auto& [text, borders] = stop_->patterns_[i];
    num_matched_[i] = next_matched(text, borders, num_matched_[i], byte);
    if (num_matched_[i] < text.size()) continue;
    if (longest < 0 || text.size() > stop_->patterns_[to_size(longest)].text.size()) longest = static_cast<int>(i);
    num_matched_[i] = borders.back();  // the next match may overlap with this one
  }
  return longest;
}

StopMatcher::Piece StopMatcher::show(std::size_t text_bytes) {
  shown_text_ = text_bytes;
  shown_bytes_ = source_bytes(bytes_, text_bytes);
  return {.text = std::string_view(text_).substr(0, shown_text_),
          .bytes = std::string_view(bytes_).substr(0, shown_bytes_)};
}

StopMatcher::Piece StopMatcher::push(const Piece& piece, bool counts) {
  if (num_matched_.empty()) return piece;
  text_.erase(0, std::exchange(shown_text_, 0));
  bytes_.erase(0, std::exchange(shown_bytes_, 0));
  if (is_matched()) return {};
  text_ += piece.text;
  bytes_ += piece.bytes;
  for (std::size_t i = text_.size() - piece.text.size(); i < text_.size(); ++i) {
    const int complete = advance(text_[i]);
    if (complete < 0 || !counts) continue;
    match_ = complete;
    return show(i + 1 - stop_->patterns_[to_size(complete)].text.size());
  }
  return show(text_.size() - std::ranges::max(num_matched_));
}

StopMatcher::Piece StopMatcher::finish(const Piece& piece, bool counts) {
  const Piece shown = push(piece, counts);
  if (num_matched_.empty() || is_matched()) return shown;
  return show(text_.size());
}

StopMatcher::Piece StopMatcher::cut(const Piece& piece, bool counts) {
  const Piece shown = finish(piece, counts);
  if (!is_matched()) std::ranges::fill(num_matched_, std::uint16_t{0});
  return shown;
}

}  // namespace octavo

#include "chat/reasoning_splitter.h"

#include "base/ascii.h"
#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {
namespace {

constexpr std::size_t kPieceBytes = 1024;  // longer pieces are rare; the first one makes room for the next

}  // namespace

ReasoningSplitter::ReasoningSplitter() {
  num_matched_.reserve(ReasoningMarks::kMaxMarks);
  held_.reserve(kMaxHeldSpace + ReasoningMarks::kMaxMarkBytes + 1);
  for (std::string* text : {&text_, &bytes_, &reasoning_}) text->reserve(kPieceBytes);
}

void ReasoningSplitter::restart(const ReasoningMarks& marks, const Options& options) {
  marks_ = &marks;
  options_ = options;
  is_inside_ = was_inside_ = options.begins_inside;
  has_content_ = has_reasoning_ = had_silent_text_ = false;
  num_matched_.assign(marks.marks().size(), 0);
  held_.clear();
  clear();
}

void ReasoningSplitter::clear() {
  for (std::string* text : {&text_, &bytes_, &reasoning_}) text->clear();
  other_bytes_ = text_before_mark_ = bytes_before_mark_ = 0;
  had_mark_ = false;
}

ReasoningSplitter::Piece ReasoningSplitter::piece() const {
  return {.text = text_,
          .bytes = bytes_,
          .reasoning = reasoning_,
          .other_bytes = other_bytes_,
          .had_mark = had_mark_,
          .text_before_mark = text_before_mark_,
          .bytes_before_mark = bytes_before_mark_};
}

void ReasoningSplitter::push_token(const ReasoningMarks::Token& token) { push(marks_->symbol_of(token)); }

void ReasoningSplitter::push_hidden_token() {
  std::ranges::fill(num_matched_, std::uint8_t{0});
  settle();
}

void ReasoningSplitter::push_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Step step = next_utf8_step(bytes);
    if (step.kind == Utf8Step::Kind::kCharacter) {
      for (const char c : bytes.substr(0, step.length)) push(static_cast<std::uint8_t>(c));
    } else {
      MarkSymbol symbol = kIllFormed | static_cast<MarkSymbol>(step.length << 24U);
      for (std::size_t i = 0; i < step.length; ++i)
        symbol |= static_cast<MarkSymbol>(static_cast<std::uint8_t>(bytes[i]) << (8U * i));
      push(symbol);
    }
    bytes.remove_prefix(step.length);
  }
}

void ReasoningSplitter::finish() {
  std::ranges::fill(num_matched_, std::uint8_t{0});
  release(held_.size());
}

bool ReasoningSplitter::may_count(const Mark& mark) const {
  if ((mark.kind == ReasoningMarks::Kind::kClose) != is_inside_) return false;
  if (is_inside_ || mark.has_tokens) return true;
  if (mark.kind == ReasoningMarks::Kind::kOpen) return !has_content_ && !was_inside_;
  return !has_content_ || (was_inside_ && !had_silent_text_);
}

/// Adds a symbol. The longest mark that it completes, or null.
const ReasoningSplitter::Mark* ReasoningSplitter::advance(MarkSymbol symbol) {
  const Mark* completed = nullptr;
  for (std::size_t i = 0; i < num_matched_.size(); ++i) {
    const Mark& mark = marks_->marks()[i];
    std::uint8_t& matched = num_matched_[i];
    if (!may_count(mark)) {
      matched = 0;
      continue;
    }
    while (matched > 0 && mark.symbols[matched] != symbol) matched = mark.borders[matched - 1U];
    if (mark.symbols[matched] == symbol) ++matched;
    if (matched < mark.symbols.size()) continue;
    if (completed == nullptr || mark.symbols.size() > completed->symbols.size()) completed = &mark;
    matched = 0;  // where another mark is longer, this one ends within it
  }
  return completed;
}

void ReasoningSplitter::push(MarkSymbol symbol) {
  held_.push_back(symbol);
  if (const Mark* mark = advance(symbol)) {
    complete(*mark);
  } else {
    settle();
  }
}

void ReasoningSplitter::complete(const Mark& mark) {
  const std::size_t before = held_.size() - mark.symbols.size();
  const bool is_space_before =
      std::all_of(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(before), is_white_space);
  if (is_space_before && holds_space()) {
    for (std::size_t i = 0; i < before; ++i) drop(held_[i]);
  } else {
    for (std::size_t i = 0; i < before; ++i) show(held_[i]);
  }
  held_.clear();
  std::ranges::fill(num_matched_, std::uint8_t{0});
  if (!options_.is_left_in) {
    had_mark_ = true;
    text_before_mark_ = text_.size();
    bytes_before_mark_ = bytes_.size();
  }
  for (const MarkSymbol symbol : mark.symbols) {
    if (!options_.is_left_in) {
      drop(symbol);
    } else if (symbol < kFirstMarkToken) {
      text_.push_back(static_cast<char>(symbol));
      bytes_.push_back(static_cast<char>(symbol));
    } else {
      text_ += marks_->token(symbol).text;
      bytes_ += marks_->token(symbol).text;
    }
  }
  if (mark.kind == ReasoningMarks::Kind::kSilent) {
    had_silent_text_ = had_silent_text_ || (!mark.has_tokens && has_content_);
    return;
  }
  is_inside_ = mark.kind == ReasoningMarks::Kind::kOpen;
  was_inside_ = true;
  has_reasoning_ = false;
}

/// Releases all that can neither become a mark nor stand beside one.
void ReasoningSplitter::settle() {
  for (;;) {
    const std::size_t of_mark = std::ranges::max(num_matched_);
    std::size_t kept = of_mark;
    while (holds_space() && kept < held_.size() && kept - of_mark < kMaxHeldSpace &&
           is_white_space(held_[held_.size() - kept - 1]))
      ++kept;
    if (kept == held_.size()) return;
    release(held_.size() - kept);
    // Content may have begun with the released text: then a mark that counts only at the beginning has not begun.
    for (std::size_t i = 0; i < num_matched_.size(); ++i)
      if (!may_count(marks_->marks()[i])) num_matched_[i] = 0;
  }
}

void ReasoningSplitter::release(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) show(held_[i]);
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(count));
}

void ReasoningSplitter::show(MarkSymbol symbol) {
  if (is_white_space(symbol) && drops_space()) return drop(symbol);
  const bool is_reasoning = is_inside_ && !options_.is_left_in;
  std::string& text = is_reasoning ? reasoning_ : text_;
  const std::size_t before = bytes_.size();
  std::size_t num_bytes = 1;
  if (symbol < kFirstMarkToken) {
    text.push_back(static_cast<char>(symbol));
    if (!is_reasoning) bytes_.push_back(static_cast<char>(symbol));
  } else if (symbol >= kIllFormed) {
    text += kReplacementCharacter;
    num_bytes = to_size((symbol >> 24) & 3);
    for (std::size_t i = 0; i < num_bytes && !is_reasoning; ++i)
      bytes_.push_back(static_cast<char>((symbol >> (8 * static_cast<int>(i))) & 0xFF));
  } else {
    const ReasoningMarks::Token& token = marks_->token(symbol);
    if (is_hidden(token)) return drop(symbol);
    text += token.text;
    num_bytes = token.text.size();
    if (!is_reasoning) bytes_ += token.text;
  }
  other_bytes_ += num_bytes - (bytes_.size() - before);
  if (!is_white_space(symbol)) (is_inside_ ? has_reasoning_ : has_content_) = true;
}

void ReasoningSplitter::drop(MarkSymbol symbol) {
  other_bytes_ += symbol < kFirstMarkToken ? 1 : text_bytes(marks_->token(symbol));
}

}  // namespace octavo

// The content and the reasoning of an answer, looked for in the whole of it: for tests of code that looks piece by
// piece.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/reasoning_splitter.h"

namespace octavo::test {

/// A token of an answer: one of the marks' tokens, another that is never shown, or text.
struct AnswerPart {
  enum class Kind { kText, kMarkToken, kHidden };
  Kind kind = Kind::kText;
  std::string text;
};

struct SplitAnswer {
  std::string content, reasoning;
  bool is_inside = false;

  friend bool operator==(const SplitAnswer&, const SplitAnswer&) = default;
};

/// Works on one string, in which bytes below 32 that no test's text has stand for tokens.
class ReasoningReference {
 public:
  ReasoningReference(const ReasoningMarks& marks, std::span<const AnswerPart> parts) : marks_(marks) {
    for (const AnswerPart& part : parts) {
      if (part.kind == AnswerPart::Kind::kText) {
        whole_ += part.text;
      } else {
        whole_ += part.kind == AnswerPart::Kind::kHidden ? '\x01' : code_of(part.text);
      }
    }
    for (const ReasoningMarks::Mark& mark : marks.marks()) {
      std::string text;
      for (const MarkSymbol symbol : mark.symbols)
        text += symbol < kFirstMarkToken ? static_cast<char>(symbol) : code_of(marks.token(symbol).text);
      patterns_.push_back(std::move(text));
    }
  }

  SplitAnswer split(bool begins_inside) {
    bool inside = begins_inside, was_inside = begins_inside, had_silent = false;
    std::size_t at = 0;
    for (;;) {
      const Found found = find(at, inside, was_inside, had_silent);
      std::string text = whole_.substr(at, found.begin - at);
      std::erase_if(text, is_hidden);
      const bool at_start = shown(answer_.content).find_first_not_of(kSpace) == std::string::npos;
      if (inside) {
        text.erase(0, first_of_text(text));
        if (found.mark >= 0) cut_end(text);
        answer_.reasoning += shown(text);
      } else {
        if (at_start && was_inside) text.erase(0, first_of_text(text));
        if (at_start && found.mark >= 0 && is_space(text)) cut_end(text);
        answer_.content += shown(text);
      }
      if (found.mark < 0) break;
      const ReasoningMarks::Mark& mark = marks_.marks()[static_cast<std::size_t>(found.mark)];
      at = found.begin + patterns_[static_cast<std::size_t>(found.mark)].size();
      if (mark.kind == ReasoningMarks::Kind::kSilent) {
        had_silent = had_silent || (!mark.has_tokens && !is_space(answer_.content));
      } else {
        inside = mark.kind == ReasoningMarks::Kind::kOpen;
        was_inside = true;
      }
    }
    answer_.is_inside = inside;
    return answer_;
  }

 private:
  static constexpr const char* kSpace = " \n\t\r";
  struct Found {
    std::size_t begin;
    int mark = -1;
  };

  char code_of(std::string_view token) const {
    const auto& known = token_texts();
    const auto found = std::ranges::find(known, token);
    return static_cast<char>(14 + (found - known.begin()));
  }
  std::vector<std::string> token_texts() const {
    std::vector<std::string> texts;
    for (const ReasoningMarks::Mark& mark : marks_.marks())
      for (const MarkSymbol symbol : mark.symbols)
        if (symbol >= kFirstMarkToken && std::ranges::find(texts, marks_.token(symbol).text) == texts.end())
          texts.push_back(marks_.token(symbol).text);
    return texts;
  }
  bool is_control(char code) const {
    const std::string text = token_texts()[static_cast<std::size_t>(code - 14)];
    for (const ReasoningMarks::Mark& mark : marks_.marks())
      for (const MarkSymbol symbol : mark.symbols)
        if (symbol >= kFirstMarkToken && marks_.token(symbol).text == text) return marks_.token(symbol).is_control;
    return false;
  }
  static bool is_token(char c) { return c >= 14 && c < 32; }
  static bool is_hidden(char c) { return c == 1; }

  /// With tokens written out, as far as they are shown.
  std::string shown(std::string_view text) const {
    std::string out;
    for (const char c : text) {
      if (is_hidden(c)) continue;
      if (!is_token(c)) {
        out += c;
      } else if (!is_control(c)) {
        out += token_texts()[static_cast<std::size_t>(c - 14)];
      }
    }
    return out;
  }
  bool is_space(std::string_view text) const { return shown(text).find_first_not_of(kSpace) == std::string::npos; }
  /// Where something but white space and tokens that are not shown begins; those before it may go.
  std::size_t first_of_text(const std::string& text) const {
    std::size_t at = 0;
    while (at < text.size() && is_space(std::string_view(text).substr(at, 1))) ++at;
    return at;
  }
  void cut_end(std::string& text) const {
    std::size_t end = text.size();
    while (end > 0 && text.size() - end < ReasoningSplitter::kMaxHeldSpace &&
           std::string_view(kSpace).find(text[end - 1]) != std::string_view::npos)
      --end;
    text.resize(end);
  }

  /// The mark that is complete first, of those the longest; where none counts, the end.
  Found find(std::size_t at, bool inside, bool was_inside, bool had_silent) const {
    for (std::size_t end = at + 1; end <= whole_.size(); ++end) {
      Found best{.begin = whole_.size()};
      for (std::size_t i = 0; i < patterns_.size(); ++i) {
        const std::string& pattern = patterns_[i];
        if (end - at < pattern.size() || whole_.compare(end - pattern.size(), pattern.size(), pattern) != 0) continue;
        const std::size_t begin = end - pattern.size();
        if (!counts(marks_.marks()[i], at, begin, inside, was_inside, had_silent)) continue;
        if (best.mark < 0 || begin < best.begin) best = {.begin = begin, .mark = static_cast<int>(i)};
      }
      if (best.mark >= 0) return best;
    }
    return {.begin = whole_.size()};
  }
  bool counts(const ReasoningMarks::Mark& mark, std::size_t at, std::size_t begin, bool inside, bool was_inside,
              bool had_silent) const {
    using Kind = ReasoningMarks::Kind;
    if ((mark.kind == Kind::kClose) != inside) return false;
    if (inside || mark.has_tokens) return true;
    const bool at_start = is_space(answer_.content) && is_space(std::string_view(whole_).substr(at, begin - at));
    if (mark.kind == Kind::kOpen) return at_start && !was_inside;
    return at_start || (was_inside && !had_silent);
  }

  const ReasoningMarks& marks_;
  std::string whole_;
  std::vector<std::string> patterns_;  // [marks]
  SplitAnswer answer_;
};

}  // namespace octavo::test

// Cuts an answer into its reasoning and its content, as it comes.
//
// Each answer has one, used by one thread at a time; the marks outlive it. A mark may come as tokens of its own or as
// text that is cut anywhere: text that may become a mark is held back, and is shown once it cannot. White space around
// reasoning belongs to the marks.
//
// A mark that is text alone counts only at the places of the families' templates: an opening mark at the beginning of
// the answer, a silent one there, or once behind the reasoning. Elsewhere the answer speaks of the mark.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/reasoning_marks.h"

namespace octavo {

class ReasoningSplitter {
 public:
  /// The most white space that may belong to a mark; of more, the last bytes do.
  static constexpr std::size_t kMaxHeldSpace = 64;

  struct Options {
    bool begins_inside = false;           // the prompt ends behind an opening mark
    bool is_left_in = false;              // all text is content, the marks included
    std::span<const TokenId> shown = {};  // control tokens of the marks that are shown where they form no mark
    bool shows_all = false;               // all control tokens are shown so

    bool shows(TokenId token) const { return shows_all || std::ranges::find(shown, token) != shown.end(); }
  };

  /// The texts that were decided since clear(), valid until the next call.
  struct Piece {
    std::string_view text = {}, bytes = {};                   // content, in the sense of StreamDecoder::Piece
    std::string_view reasoning = {};                          // text
    std::size_t other_bytes = 0;                              // added bytes that are shown as reasoning or dropped
    bool had_mark = false;                                    // whether a mark was complete, which is no content
    std::size_t text_before_mark = 0, bytes_before_mark = 0;  // content in front of the last mark
  };

  /// Takes the memory for the longest answer.
  ReasoningSplitter();

  /// Begins another answer.
  void restart(const ReasoningMarks& marks, const Options& options);

  /// Adds one of the marks' tokens.
  void push_token(const ReasoningMarks::Token& token);
  /// Adds a token that is never shown and belongs to no mark.
  void push_hidden_token();
  /// Adds bytes of text that end where a character does.
  void push_text(std::string_view bytes);
  /// Ends the answer: text that is held back is shown.
  void finish();

  void clear();
  Piece piece() const;
  /// Whether the next token belongs to reasoning.
  bool is_inside() const { return is_inside_; }
  /// The bytes of a mark's token that count as text; none for a token that is never shown.
  std::size_t text_bytes(const ReasoningMarks::Token& token) const {
    return is_hidden(token) && !options_.is_left_in ? 0 : token.text.size();
  }

 private:
  using Mark = ReasoningMarks::Mark;
  /// Symbols beside those of a mark: up to three bytes that are no character, and their number above them.
  static constexpr MarkSymbol kIllFormed = 1 << 30;

  void push(MarkSymbol symbol);
  const Mark* advance(MarkSymbol symbol);
  bool may_count(const Mark& mark) const;
  void complete(const Mark& mark);
  void settle();
  void release(std::size_t count);
  void show(MarkSymbol symbol);
  void drop(MarkSymbol symbol);
  bool is_hidden(const ReasoningMarks::Token& token) const { return token.is_control && !options_.shows(token.id); }
  bool holds_space() const { return !options_.is_left_in && (is_inside_ || !has_content_); }
  bool drops_space() const {
    return !options_.is_left_in && (is_inside_ ? !has_reasoning_ : was_inside_ && !has_content_);
  }

  const ReasoningMarks* marks_ = nullptr;
  Options options_;
  bool is_inside_ = false, was_inside_ = false;
  bool has_content_ = false;               // whether content other than white space was shown
  bool has_reasoning_ = false;             // whether the reasoning at hand has shown more than white space
  bool had_silent_text_ = false;           // whether a silent mark of text counted behind content
  std::vector<std::uint8_t> num_matched_;  // [marks] the number of its symbols with which the answer ends
  std::vector<MarkSymbol> held_;           // white space, then text that may become a mark
  std::string text_, bytes_, reasoning_;   // decided texts
  std::size_t other_bytes_ = 0;
  bool had_mark_ = false;
  std::size_t text_before_mark_ = 0, bytes_before_mark_ = 0;
};

}  // namespace octavo

// An answer's text as its tokens are drawn: whole characters, reasoning apart from content, and no stop text.
//
//     token ─▶ StreamDecoder ─▶ ReasoningSplitter ─▶ StopMatcher ─▶ text
//                                      └──────────────────────────▶ reasoning
//
// One for each choice, in the same memory for one answer after another; only the thread that drives the engine may
// touch it. Stop texts are looked for in content alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chat/reasoning_splitter.h"
#include "engine/answers/stop_matcher.h"
#include "engine/text/model_tokenizer.h"
#include "octavo/request.h"
#include "tokenizer/stream_decoder.h"

namespace octavo {

/// How the answers of a request show their reasoning.
struct ReasoningView {
  const ReasoningMarks* marks = nullptr;    // null: reasoning is not looked for
  ReasoningSplitter::Options options = {};  // `shown` counts without marks, too
};

class AnswerText {
 public:
  /// The text that may be shown now.
  struct Piece {
    std::string_view text = {}, bytes = {};  // the content's text and bytes
    std::string_view reasoning = {};
    std::size_t other_bytes = 0;  // bytes of reasoning, and bytes that are never shown
  };

  explicit AnswerText(const ModelTokenizer& words) : words_(words), decoder_(words.tokenizer()) {}

  /// Begins another answer, after a prompt's `last_token`. `stop` must outlive it and not move.
  void restart(std::optional<TokenId> last_token, const StopTexts& stop, const ReasoningView& reasoning);

  /// Adds a token. `ends`: it ends the answer and is not shown; `is_last`: nothing follows, so nothing is held back;
  /// `stops_count`: a stop text that becomes complete ends the answer. The texts are valid until the next push().
  Piece push(TokenId token, bool ends, bool is_last, bool stops_count);
  /// The text that was held back, once nothing follows. The piece that push() gave stays valid, as a callback that
  /// called this may still look at it. The new texts are valid until any other call.
  Piece finish(bool stops_count);

  /// The number of the stop text that was complete; -1: none was.
  int stop_text() const { return stop_matcher_.match(); }
  /// Whether the next token belongs to reasoning.
  bool is_inside_reasoning() const { return reasoning_.marks != nullptr && splitter_.is_inside(); }
  /// Whether the last token has left an incomplete character.
  bool is_inside_character() const { return decoder_.holds_back(); }
  /// Whether the token's bytes are text.
  bool is_text(TokenId token) const;

 private:
  struct Texts {
    std::string text, bytes, reasoning;
    std::size_t other_bytes = 0;

    void clear();
    Piece piece() const { return {.text = text, .bytes = bytes, .reasoning = reasoning, .other_bytes = other_bytes}; }
  };

  bool is_hidden(TokenId token) const;
  void add_token(TokenId token, bool stops_count, Texts& out);
  void add_rest(bool stops_count, Texts& out);
  void add_split(bool stops_count, Texts& out);
  static void add(const StopMatcher::Piece& piece, Texts& out);

  const ModelTokenizer& words_;
  ReasoningView reasoning_;
  StreamDecoder decoder_;
  ReasoningSplitter splitter_;
  StopMatcher stop_matcher_;
  Texts pushed_, rest_;
};

}  // namespace octavo

// Finds where an answer's text is to end: where the first of its stop texts is complete.
//
// StopTexts belong to a request, and each of its choices has a StopMatcher; only the thread that drives the engine may
// touch them. Stop texts are searched for in the text that is shown: they match across tokens, and never inside a
// character. The method is that of Knuth, Morris and Pratt: a few comparisons for each byte and stop text, however much
// is held back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "tokenizer/stream_decoder.h"

namespace octavo {

inline constexpr std::size_t kMaxStopTexts = 64;
inline constexpr std::size_t kMaxStopTextBytes = 1024;

class StopTexts {
 public:
  StopTexts() = default;
  /// `texts` have passed check().
  explicit StopTexts(std::vector<std::string> texts);

  /// Checks that there are at most kMaxStopTexts texts, each of 1 to kMaxStopTextBytes bytes of UTF-8. Errors name
  /// `field`, what was found and what was expected.
  static Result<void> check(std::string_view field, std::span<const std::string> texts);

 private:
  friend class StopMatcher;
  struct Pattern {
    std::string text;
    /// [bytes of text] the longest proper prefix of text[0..i] that is its suffix, too
    std::vector<std::uint16_t> borders;
  };
  std::vector<Pattern> patterns_;
  std::size_t longest_ = 0;  // in bytes
};

class StopMatcher {
 public:
  using Piece = StreamDecoder::Piece;

  /// A matcher without stop texts, which lets every piece pass. It has room for all that StopTexts::check() accepts.
  StopMatcher();
  explicit StopMatcher(const StopTexts& stop) : StopMatcher() { restart(stop); }

  /// Begins another answer. `stop` must outlive this and not move.
  void restart(const StopTexts& stop);

  /// Adds the next piece of the answer and gives what may be shown by now: all but the longest end that may begin a
  /// stop text. Once a stop text is complete, that is what stands before it, and later pieces are dropped. If several
  /// become complete with one byte, the longest counts. One that becomes complete while `counts` is false is ordinary
  /// text. The result is valid until the next call, and no longer than `piece`.
  Piece push(const Piece& piece, bool counts = true);
  /// Adds the last piece and gives all that is left: nothing is held back any more.
  Piece finish(const Piece& piece, bool counts = true);
  /// Adds a piece and gives all of it, although more may follow: no stop text reaches from this piece into the next.
  Piece cut(const Piece& piece, bool counts = true);
  /// The number of the stop text that was complete; -1: none was.
  int match() const { return match_; }

 private:
  int advance(char byte);
  bool is_matched() const { return match_ >= 0; }
  Piece show(std::size_t text_bytes);

  const StopTexts* stop_ = nullptr;
  std::vector<std::uint16_t> num_matched_;  // [patterns] how many bytes of each the text ends with
  std::string text_, bytes_;                // what the last call has shown, then what is held back
  std::size_t shown_text_ = 0, shown_bytes_ = 0;
  int match_ = -1;
};

}  // namespace octavo

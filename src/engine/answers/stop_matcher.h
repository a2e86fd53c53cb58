// Finds where an answer's text is to end: at the first of its stop texts that is complete.
//
// StopTexts belong to a request, one StopMatcher to each of its choices; only the thread that drives the engine may
// touch them. Stop texts are searched in the text that is shown, so they match across tokens, and never in a part of a
// character. By Knuth, Morris and Pratt's method: a few comparisons for each byte and stop text, however much is held
// back.
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

  /// Takes at most kMaxStopTexts texts, each UTF-8 of 1 to kMaxStopTextBytes bytes. Errors name `field`, found and
  /// expected.
  static Result<void> check(std::string_view field, std::span<const std::string> texts);

 private:
  friend class StopMatcher;
  struct Pattern {
    std::string text;
    /// [bytes of text] longest proper prefix of text[0..i] that is its suffix too
    std::vector<std::uint16_t> borders;
  };
  std::vector<Pattern> patterns_;
  std::size_t longest_ = 0;  // bytes
};

class StopMatcher {
 public:
  using Piece = StreamDecoder::Piece;

  /// Without stop texts every piece passes as it is. Takes the memory for any that pass StopTexts::check().
  StopMatcher();
  explicit StopMatcher(const StopTexts& stop) : StopMatcher() { restart(stop); }

  /// Begins another answer. `stop` must outlive this and stay where it is.
  void restart(const StopTexts& stop);

  /// Adds the answer's next piece and gives what may be shown by now: all but the longest end that begins a stop text.
  /// When one becomes complete, that is what stands before it, and later pieces are dropped. If several are complete at
  /// the same byte, the longest counts. One that becomes complete before it counts is text like any other. Valid until
  /// the next call, or as long as `piece`.
  Piece push(const Piece& piece, bool counts = true);
  /// Adds the last piece; nothing is held back any more.
  Piece finish(const Piece& piece, bool counts = true);
  /// Ends a piece while more may follow: no stop text reaches from this piece into the next.
  Piece cut(const Piece& piece, bool counts = true);
  /// The stop text that was complete, its number; -1: none was.
  int match() const { return match_; }

 private:
  int advance(char byte);
  bool is_matched() const { return match_ >= 0; }
  Piece show(std::size_t text_bytes);

  const StopTexts* stop_ = nullptr;
  std::vector<std::uint16_t> num_matched_;  // [patterns] bytes of each that the text ends with
  std::string text_, bytes_;                // shown by the last call, then held back
  std::size_t shown_text_ = 0, shown_bytes_ = 0;
  int match_ = -1;
};

}  // namespace octavo

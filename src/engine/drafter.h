// Guesses the next tokens of one answer: what followed its last tokens before, in its prompt, in itself, in earlier
// answers, or in a text that its request predicts.
//
// The longer the part that agrees, the likelier is what followed it; how likely is learned from the answer itself, for
// each length. A guess is checked against the tokens that were drawn, whether it had rows or not. Work a token is
// constant. Owned by Drafting (drafting.h); only the thread that drives the engine may call it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/draft.h"
#include "engine/ngram_index.h"
#include "engine/said_texts.h"

namespace octavo {

class Drafter {
 public:
  /// Tokens of a prompt that are looked at in a step: longer ones take several.
  static constexpr int kMostFollowed = 4096;
  /// Tokens of a prediction, behind the place where an answer left it and before it, in which it is found again.
  static constexpr int kSearchedBehind = 1024, kSearchedBefore = 64;

  /// `num_entries`: NgramIndex.
  explicit Drafter(std::size_t num_entries) : own_(num_entries) {}

  /// Begins another answer: prompt and answer will have `most_tokens` together. `predicted`, which may be empty,
  /// must outlive that.
  void begin(std::size_t prompt_tokens, std::size_t most_tokens, std::span<const TokenId> predicted);

  /// Fills `draft` with at most `most` tokens that may follow `text`, the prompt and the answer so far, and the chances
  /// of each. `said`: the best place in earlier answers.
  void propose(std::span<const TokenId> text, int most, const SaidTexts::Found& said, Draft& draft);
  /// The first `num_drawn` of the tokens that were proposed last were drawn; `is_wrong`: the next one was not.
  /// Otherwise nothing is known of it.
  void accepted(int num_drawn, bool is_wrong);

  /// The last proposal follows the predicted text.
  bool is_of_prediction() const { return source_ == Source::kPrediction; }

 private:
  enum class Source : std::uint8_t { kNone, kOwn, kSaid, kPrediction };
  /// The record of guesses behind matches of some lengths.
  struct Record {
    float drawn = 0, tried = 0;
  };
  static constexpr std::size_t kNumClasses = 8;

  static std::size_t class_of(int length);
  float chance(int length) const;
  void follow_prediction(std::span<const TokenId> text);
  void find_prediction(std::span<const TokenId> text);
  void fill(Source source, std::span<const TokenId> text, NgramIndex::Match match, int most, Draft& draft);

  NgramIndex own_;
  std::span<const TokenId> predicted_;
  bool is_following_ = false;  // the answer follows the prediction, or may
  int predicted_at_ = 0;       // of the next token
  int left_at_ = 0;            // where the answer last left it
  int predicted_length_ = 0;   // tokens in front of it that agree
  std::size_t num_seen_ = 0;   // tokens of the text at the last proposal
  Source source_ = Source::kNone;
  int length_ = 0;  // of the last proposal's match
  std::array<Record, kNumClasses> records_ = {};
};

}  // namespace octavo

// Guesses the next tokens of one answer: what followed its last tokens before, in its prompt, in itself, in earlier
// answers, or in a text that its request predicts. It also weighs what the model's draft head guesses.
//
// The longer the part that agrees, the likelier is what followed it; how likely is learned from the answer itself, for
// each length. A guess is checked against the tokens that were drawn, whether it had rows or not. Work a token is
// constant. Owned by Drafting (drafting.h); only the thread that drives the engine may call it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/drafts/draft.h"
#include "engine/drafts/ngram_index.h"
#include "engine/drafts/said_texts.h"
#include "model/model_runner.h"

namespace octavo {

class Drafter {
 public:
  /// Tokens of a prompt that are looked at in a step: longer ones take several.
  static constexpr int kMostFollowed = 4096;
  /// Tokens of a prediction, behind the place where an answer left it and before it, in which it is found again.
  static constexpr int kSearchedBehind = 1024, kSearchedBefore = 64;
  /// Words behind the common ones that guesses of a draft head may be: of so many last tokens of a prompt, and of the
  /// answer.
  static constexpr std::size_t kMostCandidates = 1024, kCandidateTokens = 4096;

  /// `num_entries`: NgramIndex.
  explicit Drafter(std::size_t num_entries) : own_(num_entries) {}

  /// Begins another answer: prompt and answer will have `most_tokens` together. `predicted`, which may be empty,
  /// must outlive that.
  void begin(std::size_t prompt_tokens, std::size_t most_tokens, std::span<const TokenId> predicted);

  /// Fills `draft` with at most `most` tokens that may follow `text`, the prompt and the answer so far, and the chances
  /// of each. `said`: the best place in earlier answers.
  void propose(std::span<const TokenId> text, int most, const SaidTexts::Found& said, Draft& draft);
  /// Tokens, at most `most`, that a draft head should guess behind `text` because more of them may be drawn than of
  /// `draft`.
  int num_wanted_of_head(std::span<const TokenId> text, int most, const Draft& draft);
  /// The chance that the next token that a draft head guesses is drawn.
  float head_chance() const { return of_head_.chance(kFirstHeadChance); }
  /// Words that guesses may be beside the common ones: those of the answer's text, ascending.
  std::span<const TokenId> candidates() const { return candidates_; }
  /// Fills `draft` with what a draft head guesses, and the chances of it.
  void weigh(std::span<const GuessedToken> guesses, Draft& draft);
  /// The proposal becomes the one that was weighed last.
  void take_guesses() { source_ = Source::kHead; }
  /// The first `num_drawn` of the tokens that were proposed last were drawn; `is_wrong`: the next one was not.
  /// Otherwise nothing is known of it.
  void accepted(int num_drawn, bool is_wrong);

  /// The last proposal follows the predicted text.
  bool is_of_prediction() const { return source_ == Source::kPrediction; }

 private:
  enum class Source : std::uint8_t { kNone, kOwn, kSaid, kPrediction, kHead };
  /// The record of guesses of a kind.
  struct Record {
    float drawn = 0, tried = 0;

    /// `first`: before anything is known.
    float chance(float first) const;
    void add(bool was_drawn);
  };
  static constexpr std::size_t kNumClasses = 8;
  static constexpr float kFirstHeadChance = 0.7F;  // about what makers tell of their heads

  static std::size_t class_of(int length);
  float chance(int length) const;
  void follow_prediction(std::span<const TokenId> text);
  void find_prediction(std::span<const TokenId> text);
  void add_candidates(std::span<const TokenId> text);
  void fill(Source source, std::span<const TokenId> text, NgramIndex::Match match, int most, Draft& draft);

  NgramIndex own_;
  std::span<const TokenId> predicted_;
  bool is_following_ = false;  // the answer follows the prediction, or may
  int predicted_at_ = 0;       // of the next token
  int left_at_ = 0;            // where the answer last left it
  int predicted_length_ = 0;   // tokens in front of it that agree
  std::size_t num_seen_ = 0;   // tokens of the text at the last proposal
  Source source_ = Source::kNone;
  int length_ = 0;                                          // of the last proposal's match
  std::array<Record, kNumClasses> records_ = {};            // by the lengths of matches
  Record of_head_ = {};                                     // of all guesses of a head
  std::array<Record, kNumClasses> records_of_head_ = {};    // by the chances that it gives them
  std::array<std::uint8_t, kMaxDraftTokens> classes_ = {};  // of what was weighed last
  std::vector<TokenId> candidates_;
  std::size_t num_candidate_tokens_ = 0;  // of the text, that were looked at for them
};

}  // namespace octavo

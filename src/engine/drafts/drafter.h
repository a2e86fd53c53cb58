// Guesses the next tokens of one answer from what followed its last tokens before: in its prompt, in itself, in earlier
// answers, or in a text that its request predicts. It also weighs what the model's draft head guesses.
//
// The longer the match, the likelier is what followed it; how likely is learned from the answer itself, for each
// length. A guess is compared with the drawn tokens whether or not it had rows. Work per token is constant. Owned by
// Drafting (drafting.h); only the thread that drives the engine may call it.
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
  /// The most tokens of a prompt that one step looks at: longer prompts take several.
  static constexpr int kMostFollowed = 4096;
  /// How far a prediction is searched around the place where an answer left it: tokens behind it, and before it.
  static constexpr int kSearchedBehind = 1024, kSearchedBefore = 64;
  /// The most words, besides the common ones, that guesses of a draft head may be; and from how many last tokens, of
  /// the prompt and of the answer, they are taken.
  static constexpr std::size_t kMostCandidates = 1024, kCandidateTokens = 4096;

  /// `num_entries`: see NgramIndex.
  explicit Drafter(std::size_t num_entries) : own_(num_entries) {}

  /// Begins another answer: prompt and answer will have `most_tokens` together. `predicted` may be empty, and must
  /// outlive the answer.
  void begin(std::size_t prompt_tokens, std::size_t most_tokens, std::span<const TokenId> predicted);

  /// Fills `draft` with at most `most` tokens that may follow `text`, the prompt and the answer so far, and with their
  /// chances. `said`: the best match in earlier answers.
  void propose(std::span<const TokenId> text, int most, const SaidTexts::Found& said, Draft& draft);
  /// How many tokens, at most `most`, a draft head should guess behind `text`, because more of them may be drawn than
  /// of `draft`.
  int num_wanted_of_head(std::span<const TokenId> text, int most, const Draft& draft);
  /// The chance that the first token that a draft head guesses is drawn.
  float head_chance() const { return of_head_.chance(kFirstHeadChance); }
  /// The words that guesses may be, besides the common ones: those of the answer's text, ascending.
  std::span<const TokenId> candidates() const { return candidates_; }
  /// Fills `draft` with what a draft head guesses, and with the chances of that.
  void weigh(std::span<const GuessedToken> guesses, Draft& draft);
  /// Makes the draft that was weighed last the proposal.
  void take_guesses() { source_ = Source::kHead; }
  /// Notes that the first `num_drawn` tokens of the last proposal were drawn; `is_wrong`: the next one was not.
  /// Otherwise nothing is known of the next one.
  void accepted(int num_drawn, bool is_wrong);

  /// Whether the last proposal follows the predicted text.
  bool is_of_prediction() const { return source_ == Source::kPrediction; }

 private:
  enum class Source : std::uint8_t { kNone, kOwn, kSaid, kPrediction, kHead };
  /// How often guesses of one kind were right.
  struct Record {
    float drawn = 0, tried = 0;

    /// The chance of a guess; `first`: the chance before anything is known.
    float chance(float first) const;
    void add(bool was_drawn);
  };
  static constexpr std::size_t kNumClasses = 8;
  static constexpr float kFirstHeadChance = 0.7F;  // about what makers say of their heads

  static std::size_t class_of(int length);
  float chance(int length) const;
  void follow_prediction(std::span<const TokenId> text);
  void find_prediction(std::span<const TokenId> text);
  void add_candidates(std::span<const TokenId> text);
  void fill(Source source, std::span<const TokenId> text, NgramIndex::Match match, int most, Draft& draft);

  NgramIndex own_;
  std::span<const TokenId> predicted_;
  bool is_following_ = false;  // the answer follows the prediction, or may
  int predicted_at_ = 0;       // the index of the prediction's next token
  int left_at_ = 0;            // where the answer last left the prediction
  int predicted_length_ = 0;   // how many tokens before it agree
  std::size_t num_seen_ = 0;   // the tokens of the text at the last proposal
  Source source_ = Source::kNone;
  int length_ = 0;                                          // the length of the last proposal's match
  std::array<Record, kNumClasses> records_ = {};            // by the lengths of matches
  Record of_head_ = {};                                     // all guesses of a head
  std::array<Record, kNumClasses> records_of_head_ = {};    // by the chances that the head gives them
  std::array<std::uint8_t, kMaxDraftTokens> classes_ = {};  // the classes of the draft that was weighed last
  std::vector<TokenId> candidates_;
  std::size_t num_candidate_tokens_ = 0;  // how many tokens of the text were looked at for candidates
};

}  // namespace octavo

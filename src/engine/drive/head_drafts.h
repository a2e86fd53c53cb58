// Guesses of the model's draft head at the beginning of a step: for which answers, how many, and what becomes of them.
//
// An answer gets guesses where its drafter expects more of the head than of texts (Draft::num_wanted), and as long as
// they pay: while the chance that a guess is drawn, times the milliseconds that the answers take for a token, exceeds
// what its row and its share of the head's time add. Keys and values of guesses lie behind the sequence's own, in free
// blocks without contents that go back at once; so nobody gives way for them. Their time is part of the step's. An
// assistant's guesses take no blocks; it begins with a row of the last batch, so answers whose last token was not drawn
// from one wait for a step.
//
// Owned by Step; only the thread that drives the engine may call it. Allocates nothing after warm-up.
#pragma once

#include <span>
#include <vector>

#include "engine/drive/step_parts.h"

namespace octavo {

/// The cost and the gain of guesses, in milliseconds.
struct GuessPrice {
  double step_ms = 0;   // the time of all answers' next rows
  int num_decodes = 0;  // the number of answers
  double row_ms = 0;    // what one more row adds
  double guess_ms = 0;  // an answer's share of the head's time for one guess

  /// How many of `wanted` guesses pay, where each is drawn with the same chance if those before it are.
  int num_paying(int wanted, double chance_of_one) const;
};

class HeadDrafts {
 public:
  /// After how many steps in which guesses were wanted and none paid some are tried, and how many.
  static constexpr int kPatience = 32, kMostTried = 1;

  explicit HeadDrafts(const StepParts& parts);

  /// Fills the plan's batch of guesses and reserves their blocks. False: there is nothing to guess.
  bool plan();
  /// Gives the guesses to the drafters, after the batch was computed in `ms` milliseconds.
  void take(std::span<const GuessedToken> guesses, double ms);
  /// Gives back the blocks of planned guesses; called after take() or instead of it.
  void give_back();
  /// The sequences with guesses in the batch.
  std::span<Sequence* const> sequences() const { return sequences_; }

 private:
  void add_draws(GuessBatch& batch) const;
  int num_guesses(const Sequence& sequence) const;
  void find_price();
  bool has_hidden_row(const Sequence& sequence) const;
  bool reserve(const Sequence& sequence, int num_guesses);
  Choice& choice_of(const Sequence& sequence, ActiveRequest*& request) const;

  const StepParts parts_;
  std::vector<Sequence*> wanting_;    // scratch of plan()
  std::vector<Sequence*> sequences_;  // the sequences in the batch
  GuessPrice price_;
  double guess_ms_ = 0;  // an average of the head's time for one guess of every sequence
  int num_without_ = 0;  // steps in a row in which guesses were wanted and none paid
  bool is_try_ = false;
};

}  // namespace octavo

// Guesses of the model's draft head, at the beginning of a step: for whom, how many, and what becomes of them.
//
// An answer has some where its drafter expects more of the head than of texts (Draft::num_wanted) and as long as they
// pay: while the chance that a guess is drawn, times the milliseconds that the answers take for a token, is more than
// what its row and its part of the head's time add. Keys and values of guesses lie behind the sequence's own, in free
// blocks that keep no contents and go back at once; so nobody gives way for them. What they take is part of the step's
// time. An assistant's guesses take no blocks; it begins with a row of the batch before, so those whose last token was
// not drawn from that wait for a step.
//
// Owned by Step; only the thread that drives the engine may call it. Allocates nothing after warm-up.
#pragma once

#include <span>
#include <vector>

#include "engine/drive/step_parts.h"

namespace octavo {

/// The cost and the gain of guesses, in milliseconds.
struct GuessPrice {
  double step_ms = 0;   // of all answers' next rows
  int num_decodes = 0;  // answers
  double row_ms = 0;    // that one more row adds
  double guess_ms = 0;  // an answer's part of what the head takes for a guess

  /// Guesses that pay of `wanted`, each drawn with the same chance if those before it are.
  int num_paying(int wanted, double chance_of_one) const;
};

class HeadDrafts {
 public:
  /// Steps in which guesses were wanted and none paid, after which some are tried, and how many then.
  static constexpr int kPatience = 32, kMostTried = 1;

  explicit HeadDrafts(const StepParts& parts);

  /// Fills the plan's batch of guesses, whose blocks are reserved. False: there is nothing to guess.
  bool plan();
  /// The batch was computed, in so many milliseconds: drafters get the guesses.
  void take(std::span<const GuessedToken> guesses, double ms);
  /// Gives back the blocks of planned guesses; after take(), or without it.
  void give_back();
  /// The sequences that have guesses in the batch.
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
  std::vector<Sequence*> sequences_;  // of the batch
  GuessPrice price_;
  double guess_ms_ = 0;  // that the head takes for a token of every sequence, as the last ones did
  int num_without_ = 0;  // steps in a row in which guesses were wanted and none paid
  bool is_try_ = false;
};

}  // namespace octavo

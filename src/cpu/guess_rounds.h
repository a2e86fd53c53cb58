// A batch of guesses, made in rounds of one word for each sequence: which sequences need another guess, and which word
// it is.
//
// A guess need not be exact: it considers the first kCommonTokens words of the vocabulary and those that the batch
// names. Where the token will be drawn by chance, the guess is drawn, too, among the likeliest of these words: by the
// sampler, with the random number of the token's position. Where both distributions are close, they draw the same word.
// Owned by a draft head or an assistant (draft_head.h, assistant.h); one step uses it at a time.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "cpu/compute_context.h"
#include "model/batch.h"
#include "model/model_runner.h"
#include "sampler/sampler.h"

namespace octavo {

class GuessRounds {
 public:
  /// The number of words among which a guess is drawn.
  static constexpr int kDrawnAmong = 10;

  /// Begins a batch of guesses, which must not change until all are made. `output`: the matrix that makes logits.
  void begin(const GuessBatch& batch, const WeightMatrix& output);
  /// The rows of the next round; null: all guesses are made. Valid until the next call. Positions are one larger in
  /// each round.
  const Batch* next();
  /// The sequence of a row of the round, as an index of the batch.
  int sequence_of(std::int64_t row) const { return rows_[to_size(row)]; }
  int num_rows() const { return static_cast<int>(rows_.size()); }
  /// Chooses the words of the round from the normed rows. `logits` is scratch, [rows, vocab_size].
  void choose(ComputeContext& context, const ActivationRows& normed, float* logits);
  /// The guesses for the batch, sequence by sequence.
  std::span<const GuessedToken> guesses() const { return guesses_; }

 private:
  struct Panels {
    std::int64_t begin, end;
  };

  /// The scratch memory of a thread that draws.
  struct Scratch {
    explicit Scratch(Math math) : sampler(kDrawnAmong, math) {}

    SamplerScratch sampler;
    SamplingParams params = {};  // a member, as parameters allocate where they are made
  };

  void list_panels();
  std::int64_t num_common() const { return std::min<std::int64_t>(output_->rows, kCommonTokens); }
  std::span<const std::int32_t> candidates_of(int sequence) const;
  std::span<TokenLogprob> likeliest(const float* logits, int sequence, std::span<TokenLogprob> room) const;
  TokenLogprob draw(std::span<TokenLogprob> words, int sequence, Scratch& scratch) const;
  GuessedToken guess(const float* logits, int sequence, Scratch& scratch) const;

  const GuessBatch* batch_ = nullptr;  // the batch that was given
  const WeightMatrix* output_ = nullptr;
  Batch ahead_;                      // the rows of the round
  std::vector<std::int32_t> rows_;   // the sequence of each row of the round
  std::vector<std::int32_t> first_;  // [sequences] where a sequence's guesses begin
  std::vector<GuessedToken> guesses_;
  std::vector<Panels> panels_;      // the panels of the output matrix that guesses look at
  int num_made_ = 0;                // how many guesses each sequence of the round has
  std::vector<Scratch> scratches_;  // [threads], made at the first guess
};

}  // namespace octavo

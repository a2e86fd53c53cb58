// A batch of guesses, word by word: which sequences still have one to make, and the word of each.
//
// A guess need not be exact: it looks at the first kCommonTokens words of the vocabulary and at those that the batch
// names. Where the token will be drawn, the guess is drawn as well, among the likeliest of these: by the sampler, with
// the number that the token's position has. Where both think alike, they then draw the same word. Owned by a draft head
// or an assistant (draft_head.h, assistant.h); one step uses it at a time.
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
  /// Words that a guess is drawn among.
  static constexpr int kDrawnAmong = 10;

  /// Begins a batch of guesses, which must stay as it is. `output`: the matrix that makes logits of words.
  void begin(const GuessBatch& batch, const WeightMatrix& output);
  /// The rows of the next guesses; none: all are made. Valid until the next call. Each round stands one position behind
  /// the round before.
  const Batch* next();
  /// The sequence of a row under way, of the batch that was given.
  int sequence_of(std::int64_t row) const { return rows_[to_size(row)]; }
  int num_rows() const { return static_cast<int>(rows_.size()); }
  /// Chooses the words of the round from the normed rows. `logits` is scratch, [rows, vocab_size].
  void choose(ComputeContext& context, const ActivationRows& normed, float* logits);
  /// The guesses of the batch's sequences, one behind another.
  std::span<const GuessedToken> guesses() const { return guesses_; }

 private:
  struct Panels {
    std::int64_t begin, end;
  };

  /// The memory of a thread that draws.
  struct Scratch {
    explicit Scratch(Math math) : sampler(kDrawnAmong, math) {}

    SamplerScratch sampler;
    SamplingParams params = {};  // parameters allocate where they are made
  };

  void list_panels();
  std::int64_t num_common() const { return std::min<std::int64_t>(output_->rows, kCommonTokens); }
  std::span<const std::int32_t> candidates_of(int sequence) const;
  std::span<TokenLogprob> likeliest(const float* logits, int sequence, std::span<TokenLogprob> room) const;
  TokenLogprob draw(std::span<TokenLogprob> words, int sequence, Scratch& scratch) const;
  GuessedToken guess(const float* logits, int sequence, Scratch& scratch) const;

  const GuessBatch* batch_ = nullptr;  // as it was given
  const WeightMatrix* output_ = nullptr;
  Batch ahead_;                      // its rows under way
  std::vector<std::int32_t> rows_;   // the sequence of each row under way
  std::vector<std::int32_t> first_;  // [sequences] places in guesses_
  std::vector<GuessedToken> guesses_;
  std::vector<Panels> panels_;      // of the output matrix, that guesses look at
  int num_made_ = 0;                // guesses of each sequence that is under way
  std::vector<Scratch> scratches_;  // [threads] made at the first guess
};

}  // namespace octavo

// The tokens that a step draws: which row of its logits each comes from, and for which choice.
//
// Owned by the engine's Step; only the thread that drives the engine may call it.
#pragma once

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "engine/batch_builder.h"
#include "engine/request_table.h"
#include "sampler/sampler.h"

namespace octavo {

/// A token to draw from a row of this step's logits, for one choice.
struct Draw {
  std::size_t row;  // of the builder's logit rows
  int position;     // of the token
  ActiveRequest* request;
  Choice* choice;      // null: there was no memory for the request's choices
  SampledToken token;  // token -1: its constraint allows none
};

class Draws {
 public:
  /// Rows of `vocab_size` logits, of which the first `num_drawable` may be drawn; as many draws as sequences advance in
  /// a step. The pool must outlive this.
  Draws(ThreadPool& threads, int vocab_size, int num_drawable, int max_sequences);

  void clear() { draws_.clear(); }
  /// Lists the draws from `rows`, the first of which is `first_row` of the step. At the end of a prompt these are one
  /// for each choice of the request: they are made here.
  void list(std::span<const ScheduledSequence> plan, std::span<const LogitRow> rows, std::size_t first_row,
            RequestTable& requests);
  /// Draws from `num_rows` of the rows; the logits are theirs.
  void sample_rows(std::size_t first_row, std::size_t num_rows, std::span<const float> logits);

  /// Prompts whose draws are listed have been accepted: their choices run from now on.
  void start_choices(RequestTable& requests);

  std::span<const Draw> all() const { return draws_; }

 private:
  void sample(Draw& draw, std::span<const float> row, int worker);
  bool find_allowed(const Draw& draw, std::span<MaskWord> allowed) const;

  ThreadPool& threads_;
  const int vocab_size_, num_drawable_;
  std::vector<SamplerScratch> scratches_;       // [threads]
  std::vector<std::vector<MaskWord>> allowed_;  // [threads][words of a mask]
  std::vector<Draw> draws_;                     // by row
};

}  // namespace octavo

// The tokens that a step draws: which row of logits each comes from, for which choice, and what they cost.
//
// Owned by the engine's Step; only the thread that drives the engine may call it.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "engine/batch_builder.h"
#include "engine/request_table.h"
#include "sampler/sampler.h"

namespace octavo {

/// A token to draw for one choice.
struct Draw {
  std::span<const float> row;  // of logits: until the next ones are listed
  int position;                // of the token
  ActiveRequest* request;
  Choice* choice;      // null: there was no memory for the request's choices
  SampledToken token;  // token -1: its constraint allows none
  double ms = 0;       // that it took
};

/// Rows of the step's logits that the runner holds at once.
struct LogitSlice {
  std::span<const LogitRow> rows;
  std::span<const float> logits;
};

class Draws {
 public:
  /// Rows of `vocab_size` logits, of which the first `num_drawable` may be drawn; as many draws as sequences advance in
  /// a step. The pool must outlive this.
  Draws(ThreadPool& threads, int vocab_size, int num_drawable, int max_sequences);

  void clear();
  /// Lists the first draws of choices that begin in this step though their prompts were computed before: from the rows
  /// that were kept. The choices are made here.
  void list_beginning(std::span<Sequence* const> prompts, RequestTable& requests);
  /// Lists the draws from rows of the step. At the end of a prompt these are one for each choice that begins now: they
  /// are made here, and the row is kept for the others.
  void list(std::span<const ScheduledSequence> plan, const LogitSlice& slice, RequestTable& requests);
  /// Draws what was listed since the last call.
  void sample_listed();

  /// Prompts whose draws are listed have been accepted: their choices run from now on.
  void start_choices(RequestTable& requests);
  /// A draw's event took `event_ms` beside it: that its sequence's next token will take as much is foreseen.
  void follow_cost(const Draw& draw, double event_ms) const;

  std::span<const Draw> all() const { return draws_; }
  /// Milliseconds that all of them took together.
  double ms() const { return ms_; }

 private:
  void list_choices(ActiveRequest& request, int count, const Draw& like, RequestTable& requests);
  void sample(Draw& draw, int worker);
  std::span<const MaskWord> find_allowed(const Draw& draw, int worker);

  ThreadPool& threads_;
  const int vocab_size_, num_drawable_;
  std::vector<SamplerScratch> scratches_;       // [threads]
  std::vector<std::vector<MaskWord>> allowed_;  // [threads][words of a mask]
  std::vector<Draw> draws_;
  std::size_t num_sampled_ = 0;  // the leading ones
  double ms_ = 0;
};

}  // namespace octavo

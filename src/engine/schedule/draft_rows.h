// The drafted tokens that have rows in a step.
//
// A row joins while it pays: while the chance that its token is drawn, times the milliseconds that the step's answers
// take for a token, is more than what the row adds to the predicted time. So one answer that has the machine to itself
// drafts far ahead, and a full step drafts nothing. The likeliest token of all answers goes first. Rows that others are
// owed are planned by then; drafts take what is left of the step's rows, its time and the free blocks that are promised
// to nobody and keep no contents.
//
// The cost of a further row of an answer is known from steps that had some. So an answer that has a step to itself
// tries likely tokens whatever they seem to cost, a few times at first, and now and then where nothing has paid for
// long.
//
// Owned by the scheduler; only the thread that drives the engine may call it. Allocates nothing after construction.
#pragma once

#include <span>
#include <vector>

#include "engine/schedule/block_budget.h"
#include "engine/schedule/step_budget.h"
#include "engine/schedule/step_plan.h"
#include "kv/kv_cache_manager.h"

namespace octavo {

class DraftRows {
 public:
  /// Steps that try what rows cost before their price counts alone, and such steps without a row after which one tries
  /// again.
  static constexpr int kFirstTries = 8, kPatience = 32;
  /// The most tokens of a try, and the least chance of each of them.
  static constexpr int kMostTried = 7;
  static constexpr float kLikely = 0.4F;

  /// All of these must outlive it; without a cost model every row pays.
  DraftRows(const KvCacheManager& kv, const BlockBudget& blocks, const CostModel* cost, int max_sequences);

  /// Raises num_tokens and num_drafted of planned sequences that decode. Their blocks are not reserved yet.
  void choose(std::span<ScheduledSequence> planned, StepBudget& budget);

 private:
  /// The step as it is so far.
  struct Price {
    StepWork decodes;    // the work of its answers, drafts included, without draws
    double tokens = 0;   // drawn for answers, as far as chances tell
    double most_ms = 0;  // that it may take; 0: any
    bool is_try = false;
  };

  bool list_drafts(std::span<ScheduledSequence> planned);
  bool ends_at_checkpoint(const ScheduledSequence& planned) const;
  bool take_blocks(const ScheduledSequence& planned);
  bool pays(const ScheduledSequence& planned, const StepBudget& budget, const Price& price) const;
  StepWork work_of_row(const ScheduledSequence& planned) const;
  double predict_ms(StepWork work) const;

  const KvCacheManager& kv_;
  const BlockBudget& blocks_;
  const CostModel* cost_;
  int num_tries_ = 0;                       // steps that had drafted rows, up to kFirstTries
  int num_without_ = 0;                     // steps since the last one, of those that had something to draft
  std::vector<int> taken_;                  // [groups] blocks of the rows that have joined
  std::vector<ScheduledSequence*> drafts_;  // scratch of choose(): those that may draft more
};

}  // namespace octavo

// The choice of the drafted tokens that have rows in a step.
//
// A row is added while it pays: while the chance that its token is drawn, times the milliseconds that the step's
// answers take for a token, exceeds the predicted time that the row adds. So a single answer that has the machine to
// itself drafts far ahead, and a full step drafts nothing. The likeliest token of all answers goes first. All other
// rows are planned before: drafts take what is left of the step's rows and time, and free blocks that are promised to
// nobody and have no contents.
//
// The cost of a further row of an answer is known only from steps with such rows. So an answer that has a step to
// itself tries likely tokens whatever they seem to cost, a few times at first, and now and then where nothing has paid
// for long.
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
  /// How many steps try what rows cost before their price decides; and after how many steps without a drafted row one
  /// tries again.
  static constexpr int kFirstTries = 8, kPatience = 32;
  /// The most tokens of a try, and the least chance of each.
  static constexpr int kMostTried = 7;
  static constexpr float kLikely = 0.4F;

  /// All references must outlive it; without a cost model every row pays.
  DraftRows(const KvCacheManager& kv, const BlockBudget& blocks, const CostModel* cost, int max_sequences);

  /// Raises num_tokens and num_drafted of planned sequences that decode. Blocks are not reserved yet.
  void choose(std::span<ScheduledSequence> planned, StepBudget& budget);

 private:
  /// The price of the step so far.
  struct Price {
    StepWork decodes;    // the work of its answers, drafts included, without draws
    double tokens = 0;   // expected to be drawn for answers
    double most_ms = 0;  // the most that the step may take; 0: no limit
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
  int num_tries_ = 0;                       // steps with drafted rows, up to kFirstTries
  int num_without_ = 0;                     // steps since the last one, of those with something to draft
  std::vector<int> taken_;                  // [groups] the blocks of the rows that were added
  std::vector<ScheduledSequence*> drafts_;  // scratch of choose(): the sequences that may draft more
};

}  // namespace octavo

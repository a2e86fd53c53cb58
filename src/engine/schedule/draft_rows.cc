#include "engine/schedule/draft_rows.h"

#include <algorithm>

#include "base/to_size.h"
#include "model/model_runner.h"

namespace octavo {
namespace {

/// The chance of the sequence's next drafted token.
float next_chance(const ScheduledSequence* planned) {
  return planned->sequence->draft.chances[to_size(planned->num_drafted)];
}

}  // namespace

DraftRows::DraftRows(const KvCacheManager& kv, const BlockBudget& blocks, const CostModel* cost, int max_sequences)
    : kv_(kv), blocks_(blocks), cost_(cost), taken_(to_size(kv.num_pools())) {
  drafts_.reserve(to_size(max_sequences));
}

void DraftRows::choose(std::span<ScheduledSequence> planned, StepBudget& budget) {
  if (!list_drafts(planned)) return;
  int logit_rows = 0;
  Price price;
  for (const ScheduledSequence& one : planned) {
    const Sequence& sequence = *one.sequence;
    const int end = sequence.num_computed + one.num_tokens;
    logit_rows += sequence.num_logit_rows(end);
    if (sequence.is_catching_up()) continue;
    price.tokens += sequence.num_draws(end);
    if (cost_ != nullptr) price.decodes += work_to_advance(*cost_, sequence, one.num_tokens);
  }
  // Then only the answer's own next tokens wait.
  const bool is_alone = price.tokens == 1 && !budget.has_prompt_rows();
  price.most_ms = is_alone ? budget.ms_beside() : budget.ms();
  price.is_try = price.tokens == 1 && (num_tries_ < kFirstTries || num_without_ >= kPatience);
  ++num_without_;
  std::ranges::fill(taken_, 0);
  // The runner holds the logits of all these rows at once.
  int rows_left = std::min(budget.rows_left(), kMaxLogitRows - logit_rows);
  if (kv_.has_snapshots()) rows_left = std::min(rows_left, kMaxDraftedRows);
  while (!drafts_.empty() && rows_left > 0) {
    const auto best = std::ranges::max_element(drafts_, {}, next_chance);
    ScheduledSequence& next = **best;
    const bool joins = pays(next, budget, price) && take_blocks(next);
    if (joins) {
      num_without_ = 0;
      price.decodes += work_of_row(next);
      price.tokens += next_chance(&next);
      budget.take_drafted(work_of_row(next));
      ++next.num_tokens;
      ++next.num_drafted;
      --rows_left;
    }
    if (!joins || next.num_drafted == next.sequence->draft.num_tokens || ends_at_checkpoint(next)) {
      *best = drafts_.back();
      drafts_.pop_back();
    }
  }
  if (num_without_ == 0) num_tries_ = std::min(num_tries_ + 1, kFirstTries);
}

/// Lists the planned sequences that have a draft and whose known tokens are all computed in the step. False: there are
/// none.
bool DraftRows::list_drafts(std::span<ScheduledSequence> planned) {
  drafts_.clear();
  for (ScheduledSequence& one : planned) {
    const Sequence& sequence = *one.sequence;
    const bool is_whole = sequence.num_computed + one.num_tokens == sequence.num_tokens();
    const bool may_draft = is_whole && !sequence.is_catching_up() && !ends_at_checkpoint(one);
    if (sequence.draft.num_tokens > 0 && may_draft) drafts_.push_back(&one);
  }
  return !drafts_.empty();
}

/// Whether these rows end where a state is kept: it must be the state of no later row.
bool DraftRows::ends_at_checkpoint(const ScheduledSequence& planned) const {
  if (!kv_.keeps_checkpoints()) return false;
  const int end = planned.sequence->num_computed + planned.num_tokens;
  return end % kv_.checkpoint_interval() == 0 || end == planned.sequence->notes.checkpoint_at;
}

/// Takes the blocks for one more row of a sequence. False: they are not free.
bool DraftRows::take_blocks(const ScheduledSequence& planned) {
  const SequenceId kv = planned.sequence->kv;
  const int end = planned.sequence->num_computed + planned.num_tokens, known = end - planned.num_drafted;
  const auto needed = [&](int group) {
    return kv_.blocks_needed(kv, group, known, end + 1) - kv_.blocks_needed(kv, group, known, end);
  };
  for (int group = 0; group < blocks_.num_groups(); ++group) {
    const int room = std::min(blocks_.room(group), kv_.pool(group).stats().free);
    if (taken_[to_size(group)] + needed(group) > room) return false;
  }
  for (int group = 0; group < blocks_.num_groups(); ++group) taken_[to_size(group)] += needed(group);
  return true;
}

bool DraftRows::pays(const ScheduledSequence& planned, const StepBudget& budget, const Price& price) const {
  if (cost_ == nullptr) return true;
  const StepWork row = work_of_row(planned);
  if (budget.is_timed() && cost_->predict_ms(budget.work() + row) > price.most_ms) return false;
  if (price.is_try && planned.num_drafted < kMostTried && next_chance(&planned) >= kLikely) return true;
  const double ms = predict_ms(budget.work() + row) - predict_ms(budget.work());
  return next_chance(&planned) * predict_ms(price.decodes) >= ms * price.tokens;
}

/// The work of a row for the sequence's next drafted token, without the draw: each token has one, drafted or not.
StepWork DraftRows::work_of_row(const ScheduledSequence& planned) const {
  if (cost_ == nullptr) return {.rows = 1, .logit_rows = 1};
  const Sequence& sequence = *planned.sequence;
  StepWork work = cost_->work(sequence.num_computed + planned.num_tokens, 1, 1);
  work.kv_bytes = 0;  // the rows before it read them already
  return work;
}

double DraftRows::predict_ms(StepWork work) const {
  work.draw_ms = 0;
  return cost_->predict_ms(work);
}

}  // namespace octavo

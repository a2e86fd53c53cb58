// Prompt rows: which prompt goes first, how many rows it gets, and who waits because another computes the same block.
#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/to_size.h"
#include "engine/scheduler.h"

namespace octavo {

// A prompt attaches to what others have published since it last looked, whether it has had rows or not.
void Scheduler::attach_published() {
  const int block_size = kv_.block_size();
  for (Sequence* sequence : running_) {
    if (!sequence->in_prefill() || sequence->publications_seen == publications_) continue;
    const auto next = to_size(sequence->num_computed / block_size);
    if (next >= sequence->chain.size() || !kv_.is_published(sequence->chain.hashes()[next])) continue;
    const int attached = extend_prefix(*sequence);
    if (attached == 0) continue;
    const Result<void> skipped = sequence->prefill->skip_to(sequence->num_computed);
    OCTAVO_CHECK(skipped.has_value(), "{}", skipped.error().message);
    count_cached(*sequence);
  }
}

void Scheduler::schedule_prompts() {
  for (Sequence* sequence : running_) {
    if (!sequence->in_prefill()) continue;
    prompts_.push_back(sequence);
  }
  claim_begun_blocks();
  std::ranges::sort(prompts_, {}, [](const Sequence* sequence) {
    const bool patient = sequence->steps_waited < kMaxStepsWaited;
    return std::tuple(patient, patient ? -sequence->priority_in_step : 0, patient ? sequence->num_uncomputed() : 0,
                      sequence->rank);
  });
  for (Sequence* sequence : prompts_) {
    if (!schedule_prompt(*sequence)) ++sequence->steps_waited;
  }
}

// A chunk may end within a block. Who has begun one computes its rest, and has the best priority of those that wait for
// it.
void Scheduler::claim_begun_blocks() {
  const int block_size = kv_.block_size();
  for (Sequence* sequence : prompts_) {
    sequence->priority_in_step = sequence->priority;
    const auto next = to_size(sequence->num_computed / block_size);
    if (sequence->num_computed % block_size == 0 || next >= sequence->chain.size()) continue;
    claims_.push_back({.block = sequence->chain.hashes()[next], .owner = sequence});
  }
  if (claims_.empty()) return;
  for (const Sequence* sequence : prompts_) {
    Sequence* owner = owner_of_next_block(*sequence);
    if (owner != nullptr) owner->priority_in_step = std::max(owner->priority_in_step, sequence->priority);
  }
}

/// Who else computes the block that a prompt needs next, if it could attach to it then.
Sequence* Scheduler::owner_of_next_block(const Sequence& sequence) const {
  const int block_size = kv_.block_size();
  const int next = sequence.num_computed / block_size;
  const bool attaches = sequence.may_use_cache() && sequence.num_computed % block_size == 0 &&
                        to_size(next) < sequence.chain.size() && (next + 1) * block_size < sequence.num_tokens();
  if (!attaches) return nullptr;
  const auto claim = std::ranges::find(claims_, sequence.chain.hashes()[to_size(next)], &Claim::block);
  return claim == claims_.end() || claim->owner == &sequence ? nullptr : claim->owner;
}

/// The full blocks of its tokens up to `end`.
void Scheduler::claim(Sequence& sequence, int end) {
  const int block_size = kv_.block_size();
  const auto last = std::min(to_size((end + block_size - 1) / block_size), sequence.chain.size());
  for (auto i = to_size(sequence.num_computed / block_size); i < last; ++i)
    claims_.push_back({.block = sequence.chain.hashes()[i], .owner = &sequence});
}

/// False where it was passed over. One that waits for a block of another is not.
bool Scheduler::schedule_prompt(Sequence& sequence) {
  if (owner_of_next_block(sequence) != nullptr) return true;
  const int rows = rows_in_time(sequence, rows_that_fit(sequence));
  return rows > 0 && schedule_chunk(sequence, rows);
}

/// As many of `rows` as the step's time allows, in whole blocks where it is the time that cuts. The first prompt of a
/// step gets a block whatever it costs: decodes alone may take longer than the budget.
int Scheduler::rows_in_time(const Sequence& sequence, int rows) const {
  if (budget_ms_ <= 0) return rows;
  const auto fits = [&](int count) {
    return in_time(cost_->work(sequence.num_computed, count, sequence.num_logit_rows(sequence.num_computed + count)));
  };
  if (fits(rows)) return rows;
  int low = 0, high = rows;  // low fits, high does not
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  const int block_size = kv_.block_size();
  const int whole = (sequence.num_computed + low) / block_size * block_size - sequence.num_computed;
  if (whole > 0) return whole;
  const int to_next_block = block_size - sequence.num_computed % block_size;
  return plans_prompts_ ? 0 : std::min(rows, to_next_block);
}

/// False where the policy lets decodes go first.
bool Scheduler::schedule_chunk(Sequence& sequence, int max_rows) {
  const bool decodes = !plan_.empty() && plan_.front().chunk.size() == 0;
  PrefillAction action = sequence.prefill->next_action(max_rows, decodes);
  if (action.kind == PrefillAction::kYieldToDecode && limits_.policy == PrefillPriority::kInterleaved) {
    // Between two chunks the decodes are owed a turn: they had it, their rows of this step are planned already.
    action = sequence.prefill->next_action(max_rows, decodes);
  }
  if (action.kind == PrefillAction::kYieldToDecode) return false;
  const PrefillChunk& chunk = action.chunk;
  OCTAVO_CHECK(
      action.kind == PrefillAction::kPrefill && chunk.start == sequence.num_computed && chunk.size() <= max_rows,
      "chunk {} to {} after {} tokens", chunk.start, chunk.end, sequence.num_computed);
  claim(sequence, chunk.end);
  add_promises(sequence, -1);
  reserve(sequence, chunk.end);
  add_promises(sequence, 1);
  plan(sequence, chunk.size(), chunk);
  plans_prompts_ = true;
  return true;
}

// Nothing is planned, so whatever runs is a prompt without room for a row: the best rank takes it from the worst. Where
// a better rank waits and holds what is missing, it is that one's turn.
void Scheduler::schedule_best() {
  claims_.clear();
  int rows = 0;
  while (rows == 0) {
    if (running_.empty()) admit();
    OCTAVO_CHECK(!running_.empty(), "{} sequences wait and none can run", waiting_.size());
    Sequence& best = *running_.front();
    rows = rows_that_fit(best);
    if (rows > 0) break;
    Sequence* victim = victim_for(best, false, nullptr);
    OCTAVO_CHECK(victim != nullptr || !waiting_.empty(), "sequence {} has no room though it is alone", best.id);
    victim != nullptr ? give_all(*victim) : set_aside(best);
    count_promises();
  }
  Sequence& best = *running_.front();
  const bool scheduled = schedule_chunk(best, rows);
  OCTAVO_CHECK(scheduled, "sequence {} yields to nobody", best.id);
}

}  // namespace octavo

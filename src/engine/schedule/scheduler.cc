#include "engine/schedule/scheduler.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

// With these limits, every running sequence can have a row in every step, so decodes cannot starve one another.
Scheduler::Limits checked(Scheduler::Limits limits) {
  OCTAVO_CHECK(limits.max_step_tokens >= 1 && limits.max_sequences >= 1, "{} tokens, {} sequences",
               limits.max_step_tokens, limits.max_sequences);
  limits.max_sequences = std::min(limits.max_sequences, limits.max_step_tokens);
  return limits;
}

}  // namespace

Scheduler::Scheduler(const Limits& limits, KvCacheManager& kv, const CostModel* cost)
    : limits_(checked(limits)),
      prefill_config_(PrefillConfig(limits.max_step_tokens).with_priority(limits.policy)),
      kv_(kv),
      cost_(cost),
      queues_(limits_.max_sequences),
      pins_(kv, limits_),
      block_budget_(kv, pins_, limits.max_step_tokens),
      sharing_(kv, counts_),
      preemption_(kv, queues_, block_budget_, counts_),
      admission_(
          {.kv = kv, .queues = queues_, .block_budget = block_budget_, .sharing = sharing_, .preemption = preemption_}),
      places_(kv, queues_, limits.max_step_tokens),
      turns_(limits_.max_sequences),
      choice_turns_(limits_.max_sequences),
      draft_rows_(kv, block_budget_, cost, limits_.max_sequences) {
  prompts_.reserve(to_size(limits_.max_sequences));
  needed_.resize(to_size(kv.num_pools()));
}

void Scheduler::add(Sequence& sequence) {
  OCTAVO_CHECK(sequence.state == Sequence::State::kIdle && sequence.num_tokens() >= 1 && sequence.num_computed == 0,
               "{} of {} tokens computed", sequence.num_computed, sequence.num_tokens());
  OCTAVO_CHECK(sequence.params.max_cached <= kv_.max_sequence_tokens(), "{} tokens, the cache holds {}",
               sequence.params.max_cached, kv_.max_sequence_tokens());
  OCTAVO_CHECK(sequence.num_choices() <= limits_.max_sequences, "{} choices of {}", sequence.num_choices(),
               limits_.max_sequences);
  OCTAVO_CHECK(
      !kv_.hashing().hasher || static_cast<int>(sequence.chain.size()) == sequence.num_tokens() / kv_.block_size(),
      "{} hashes of {} tokens", sequence.chain.size(), sequence.num_tokens());
  queues_.reserve_for(sequence);
  const std::int64_t head_start = std::int64_t{sequence.params.priority} * kStepsPerPriority;
  sequence.notes.own_rank = {.virtual_arrival = static_cast<std::int64_t>(queues_.step()) - head_start,
                             .id = sequence.params.id,
                             .choice = sequence.params.choice};
  const int choices_of_reads = reads_ == nullptr ? 0 : reads_->num_waiting_choices();
  owners_.add(sequence, to_size(queues_.choices_of_all() + choices_of_reads + sequence.num_choices()));
  queues_.add(sequence);
}

void Scheduler::set_reads(PrefixReads& reads) {
  reads_ = &reads;
  admission_.set_reads(reads);
}

void Scheduler::add_again(Sequence& sequence) {
  queues_.reserve_for(sequence);
  queues_.add(sequence);
}

void Scheduler::remove(Sequence& sequence) {
  if (sequence.state != Sequence::State::kIdle) queues_.remove(sequence);  // else it waits for a read
  owners_.remove(sequence);
  admission_.forget(sequence);
}

void Scheduler::schedule(StepPlan& plan, int num_engines, double spent_ms) {
  begin_step(plan, num_engines, spent_ms);
  for (Sequence* sequence : queues_.running())
    if (sequence->is_catching_up()) sharing_.attach_published(*sequence);
  block_budget_.count_promises(queues_.running());
  schedule_by_policy(plan);
  if (plan.sequences.empty()) admission_.admit(plan.newly_admitted);  // decodes that could not grow were suspended
  choose_choices(plan);
  if (plan.is_empty() && !queues_.running().empty()) schedule_best(plan);
  schedule_drafts(plan);
  OCTAVO_CHECK(!plan.is_empty() || empty() || some_wait() || awaits_reads(), "{} sequences wait and none can run",
               num_waiting());
}

void Scheduler::begin_step(StepPlan& plan, int num_engines, double spent_ms) {
  queues_.begin_step();
  if (owners_.update_ranks(static_cast<std::int64_t>(queues_.step()))) queues_.sort();
  plan.clear();
  plan.budget.begin(std::ranges::any_of(queues_.running(), [](const Sequence* s) { return !s->is_catching_up(); }),
                    num_engines, spent_ms);
}

void Scheduler::schedule_by_policy(StepPlan& plan) {
  // Before sequences of lower priority get rows, and cannot give way any more.
  if (admission_.is_urgent()) admission_.admit(plan.newly_admitted);
  if (limits_.policy == PrefillPriority::kPrefillFirst) {
    schedule_decodes(plan, true, false);
    admission_.admit(plan.newly_admitted);
    schedule_prompts(plan);
    schedule_decodes(plan, false, plan.budget.has_prompt_rows());
  } else {
    schedule_decodes(plan, false, false);
    choose_choices(plan);  // choices wait as decodes do
    admission_.admit(plan.newly_admitted);
    schedule_prompts(plan);
  }
}

void Scheduler::choose_choices(StepPlan& plan) {
  choice_turns_.choose(queues_.running(), plan.sequences, plan.budget, plan.beginning);
}

/// Plans sequences that do not catch up, best rank first: those that were passed over too often, or all whose turn it
/// is; while time is left, or regardless.
void Scheduler::schedule_decodes(StepPlan& plan, bool only_aged, bool within_time) {
  if (plan.budget.is_timed() && !only_aged) turns_.choose(queues_.running(), queues_.step(), plan.budget);
  for (std::size_t i = 0; i < queues_.running().size();) {
    Sequence& sequence = *queues_.running()[i];
    const bool is_another = sequence.is_catching_up() || sequence.awaits_choices() || queues_.has_rows(sequence) ||
                            sequence.waits() || (only_aged && sequence.notes.steps_waited < kMaxStepsWaited);
    if (is_another) {
      ++i;
    } else if (plan.budget.rows_left() == 0 || sequence.notes.skipped_in_step == queues_.step() ||
               (within_time && !plan.budget.is_in_time(sequence, sequence.num_uncomputed()))) {
      ++sequence.notes.steps_waited;
      ++i;
    } else if (schedule_decode(plan, sequence)) {
      ++i;
    } else {
      preemption_.suspend(sequence);
    }
  }
}

/// Plans a decode. False: there is no room for it to grow.
bool Scheduler::schedule_decode(StepPlan& plan, Sequence& sequence) {
  int num_tokens = std::min(sequence.num_uncomputed(), plan.budget.rows_left());
  while (num_tokens > 1 && !plan.budget.is_in_time(sequence, num_tokens))
    num_tokens /= 2;            // a single token is taken whatever its time
  if (kv_.keeps_checkpoints())  // a state is kept at its end
    num_tokens = std::min(num_tokens, kv_.checkpoint_interval() - sequence.num_computed % kv_.checkpoint_interval());
  block_budget_.count_to_advance(sequence, num_tokens, needed_);
  if (!preemption_.make_room(sequence, needed_)) return false;
  advance(plan, sequence, num_tokens);
  return true;
}

/// Plans sequences that catch up: first those that were passed over too often, then by the best priority and the fewest
/// uncomputed tokens.
void Scheduler::schedule_prompts(StepPlan& plan) {
  prompts_.clear();
  for (Sequence* sequence : queues_.running())
    if (sequence->is_catching_up()) prompts_.push_back(sequence);
  plan.claims.claim_half_done_blocks(prompts_);
  std::erase_if(prompts_, [](const Sequence* sequence) { return sequence->waits(); });
  if (places_.exist()) places_.raise_priorities(prompts_);
  std::ranges::sort(prompts_, {}, [](const Sequence* sequence) {
    const bool patient = sequence->notes.steps_waited < kMaxStepsWaited;
    return std::tuple(patient, patient ? -sequence->notes.priority_in_step : 0, patient ? sequence->num_behind() : 0,
                      sequence->notes.rank);
  });
  for (Sequence* sequence : prompts_)
    if (!schedule_prompt(plan, *sequence)) ++sequence->notes.steps_waited;
}

/// Plans a prompt. False: it was passed over, which a wait for a block of another prompt is not.
bool Scheduler::schedule_prompt(StepPlan& plan, Sequence& sequence) {
  if (sequence.params.is_whole) return schedule_whole(plan, sequence);
  if (claimant_for(plan, sequence) != nullptr) return true;
  const int most = std::min({sequence.num_behind(), sequence.num_ready(), plan.budget.rows_left()});
  const int fitting = block_budget_.tokens_that_fit(sequence, most);
  const int in_time = plan.budget.tokens_in_time(sequence, fitting, kv_.block_size());
  return in_time > 0 && schedule_chunk(plan, sequence, in_time);
}

/// Plans the whole sequence or nothing: the first one of a step whatever it takes, others while there is time, and room
/// among the rows that several may share.
bool Scheduler::schedule_whole(StepPlan& plan, Sequence& sequence) {
  const int rows = sequence.num_behind(), taken = limits_.max_step_tokens - plan.budget.rows_left();
  const bool fits = taken + rows <= limits_.grouped_tokens && plan.budget.is_in_time(sequence, rows);
  if ((!fits && taken > 0) || block_budget_.tokens_that_fit(sequence, rows) < rows) return false;
  advance(plan, sequence, rows);
  return true;
}

/// The prompt that computes what this one needs next; null if there is none.
const Sequence* Scheduler::claimant_for(const StepPlan& plan, const Sequence& sequence) const {
  return places_.exist() ? places_.claimant(sequence, prompts_) : plan.claims.claimant_of_next_block(sequence);
}

/// Plans a chunk. False: the policy lets decodes go first.
bool Scheduler::schedule_chunk(StepPlan& plan, Sequence& sequence, int max_tokens) {
  // Decodes are owed a turn between two chunks, and had it: their rows of this step are planned already.
  if (limits_.policy == PrefillPriority::kInterleaved) sequence.notes.prefill_turns.owes_yield = false;
  ChunkRequest request{
      .tokens_left = sequence.num_behind(), .max_tokens = max_tokens, .decode_waiting = plan.budget.has_decode_rows()};
  if (places_.exist()) {
    places_.plan(sequence);
    request.to_border = sequence.notes.checkpoint_at - sequence.num_computed;
  }
  const int num_tokens = next_chunk_size(prefill_config_, request, sequence.notes.prefill_turns);
  if (num_tokens == 0) return false;
  advance(plan, sequence, num_tokens);
  return true;
}

/// Whether nothing but room, or another one's room, keeps a sequence from a row: it waits neither itself nor for a
/// block that a waiting one has begun.
bool Scheduler::can_go_on(const StepPlan& plan, const Sequence& sequence) const {
  if (sequence.waits() || places_.exist()) return !sequence.waits();
  const Sequence* claimant = plan.claims.claimant_of_next_block(sequence);
  return claimant == nullptr || !claimant->waits();
}

// Nothing is planned, so all running sequences are prompts without room for a row: the best rank takes room from the
// worst, whatever others claim. If a better rank waits with the blocks that are missing, it is that one's turn. If all
// wait for masks or pictures, or for what others that do have begun, nobody's.
void Scheduler::schedule_best(StepPlan& plan) {
  const auto goes_on = [&](const Sequence* sequence) { return can_go_on(plan, *sequence); };
  int num_tokens = 0;
  while (num_tokens == 0) {
    if (queues_.running().empty()) admission_.admit(plan.newly_admitted);
    if (queues_.running().empty() && awaits_reads()) return;
    OCTAVO_CHECK(!queues_.running().empty(), "{} sequences wait and none can run", num_waiting());
    const auto first = std::ranges::find_if(queues_.running(), goes_on);
    if (first == queues_.running().end()) return;
    Sequence& best = **first;
    if (best.awaits_choices()) return choose_choices(plan);
    const int most = std::min({best.num_behind(), best.num_ready(), plan.budget.rows_left()});
    num_tokens = block_budget_.tokens_that_fit(best, most);
    if (best.params.is_whole && num_tokens < best.num_behind()) num_tokens = 0;
    if (num_tokens > 0) break;
    Sequence* victim = preemption_.victim_for(best);
    if (victim == nullptr && &best != queues_.running().front()) return;  // it is the turn of one that waits
    if (victim == nullptr && awaits_reads()) return;  // the missing blocks belong to reads; the next step tries again
    OCTAVO_CHECK(victim != nullptr || num_waiting() > 0, "sequence {} has no room though it is alone", best.params.id);
    victim != nullptr ? preemption_.preempt_all(*victim) : preemption_.suspend(best);
    block_budget_.count_promises(queues_.running());
  }
  Sequence& best = **std::ranges::find_if(queues_.running(), goes_on);
  const bool scheduled = schedule_chunk(plan, best, num_tokens);
  OCTAVO_CHECK(scheduled, "sequence {} yields to nobody", best.params.id);
}

/// The sequence whose pass the best rank waits for; null: nobody waits for one.
Sequence* Scheduler::next_for_joint_pass(const StepPlan& plan) const {
  for (Sequence* sequence : queues_.running()) {
    Sequence* claimant = plan.claims.claimant_of_next_block(*sequence);
    const bool goes_on = claimant != nullptr && (claimant->waits() || queues_.has_rows(*claimant));
    Sequence* next = goes_on ? claimant : sequence;
    if (next->awaits_joint_pass()) return next;
  }
  return nullptr;
}

Sequence* Scheduler::begin_joint_pass(const StepPlan& plan, std::vector<BlockCopy>& copies) {
  Sequence* next = next_for_joint_pass(plan);
  if (next == nullptr) return nullptr;
  Sequence& sequence = *next;
  const int rows = sequence.given.num_joint_rows(sequence.num_computed), end = sequence.num_computed + rows;
  block_budget_.count_promises(queues_.running());
  if (!make_joint_room(plan, sequence, rows)) return nullptr;
  const Result<void> reserved = kv_.reserve(sequence.kv, sequence.num_computed, end, copies);
  OCTAVO_CHECK(reserved.has_value(), "sequence {}: {}", sequence.params.id, reserved.error().message);
  sequence.notes.joint_end = end;
  return &sequence;
}

/// Makes room for the rows of a joint pass. False: it is the turn of others, who have rows or hold what is missing.
bool Scheduler::make_joint_room(const StepPlan& plan, Sequence& sequence, int rows) {
  while (block_budget_.tokens_that_fit(sequence, rows) < rows) {
    if (!plan.is_empty()) return false;
    Sequence* victim = preemption_.victim_for(sequence);
    if (victim == nullptr) {
      const bool is_best = &sequence == queues_.running().front();
      if (awaits_reads() || (!is_best && !is_awaited(plan, sequence))) return false;
      OCTAVO_CHECK(!is_best || num_waiting() > 0, "sequence {} has no room though it is alone", sequence.params.id);
      preemption_.suspend(sequence);
      return false;
    }
    preemption_.preempt_all(*victim);
    block_budget_.count_promises(queues_.running());
  }
  return true;
}

/// Whether a running sequence waits for the block that this one has begun, and so would wait as long as this one does.
bool Scheduler::is_awaited(const StepPlan& plan, const Sequence& sequence) const {
  return std::ranges::any_of(queues_.running(), [&](const Sequence* other) {
    return plan.claims.claimant_of_next_block(*other) == &sequence;
  });
}

bool Scheduler::is_in_joint_pass(const Sequence* sequence, RequestId id, int choice) const {
  return std::ranges::find(queues_.running(), sequence) != queues_.running().end() && sequence->params.id == id &&
         sequence->params.choice == choice && sequence->notes.joint_end > 0;
}

void Scheduler::schedule_joint_end(StepPlan& plan, Sequence& sequence) {
  begin_step(plan, 1, 0);
  plan.ends_joint_pass = true;
  const int end = sequence.notes.joint_end;
  const bool is_last = end == sequence.num_tokens();
  plan.sequences.push_back({.sequence = &sequence,
                            .num_tokens = end - sequence.num_computed,
                            .num_beginning = is_last && sequence.num_forks > 0 ? 1 : 0});
  sequence.notes.planned_in_step = queues_.step();
  sequence.notes.steps_waited = 0;
}

bool Scheduler::some_wait() const {
  const auto waits = [](const Sequence* sequence) { return sequence->waits(); };
  return std::ranges::any_of(queues_.running(), waits) || std::ranges::any_of(queues_.waiting(), waits);
}

/// Plans the next `num_tokens` tokens of a sequence, for which there is room.
void Scheduler::advance(StepPlan& plan, Sequence& sequence, int num_tokens) {
  plan.claims.claim(sequence, num_tokens);
  block_budget_.take_back(sequence);
  reserve(plan, sequence, sequence.num_computed, sequence.num_computed + num_tokens);
  block_budget_.promise(sequence);
  plan.budget.take(sequence, num_tokens);
  const bool ends = sequence.num_computed + num_tokens == sequence.num_tokens();
  plan.sequences.push_back(
      {.sequence = &sequence, .num_tokens = num_tokens, .num_beginning = ends && sequence.num_forks > 0 ? 1 : 0});
  sequence.notes.planned_in_step = queues_.step();
  sequence.notes.steps_waited = 0;
}

/// Plans drafts last of all, so that they take what is left.
void Scheduler::schedule_drafts(StepPlan& plan) {
  draft_rows_.choose(plan.sequences, plan.budget);
  for (const ScheduledSequence& planned : plan.sequences) {
    if (planned.num_drafted == 0) continue;
    const int end = planned.sequence->num_computed + planned.num_tokens;
    reserve(plan, *planned.sequence, end - planned.num_drafted, end);
  }
}

void Scheduler::reserve(StepPlan& plan, const Sequence& sequence, int first, int end) {
  const Result<void> reserved = kv_.reserve(sequence.kv, first, end, plan.copies);
  OCTAVO_CHECK(reserved.has_value(), "sequence {}: {}", sequence.params.id, reserved.error().message);
}

void Scheduler::accept(ScheduledSequence& planned, int num_tokens) {
  Sequence& sequence = *planned.sequence;
  OCTAVO_CHECK(0 <= num_tokens && num_tokens <= planned.num_left(), "{} of {} tokens of sequence {}", num_tokens,
               planned.num_left(), sequence.params.id);
  planned.num_accepted += num_tokens;
  sequence.notes.joint_end = 0;
  counts_.computed_tokens += static_cast<std::uint64_t>(num_tokens);
  sharing_.commit(sequence, sequence.num_computed + num_tokens);
}

void Scheduler::take_back(const ScheduledSequence& planned) {
  const Sequence& sequence = *planned.sequence;
  counts_.computed_tokens += static_cast<std::uint64_t>(planned.num_left());
  const Result<void> cut = kv_.truncate(sequence.kv, sequence.num_computed);
  OCTAVO_CHECK(cut.has_value(), "sequence {}: {}", sequence.params.id, cut.error().message);
}

void Scheduler::count_spare(std::span<int> spare) {
  block_budget_.count_promises(queues_.running());
  for (int pool = 0; pool < kv_.num_pools(); ++pool) {
    int grown = 0;
    for (const Sequence* sequence : queues_.running()) {
      const int most = sequence->num_computed + (sequence->is_catching_up() ? 0 : 1 + kMaxDraftTokens);
      grown += sequence->num_choices() + kv_.blocks_needed(sequence->kv, pool, sequence->num_computed, most);
    }
    spare[to_size(pool)] = block_budget_.room(pool) - grown;
  }
}

void Scheduler::count_first_waiting(std::span<int> needed) const {
  std::ranges::fill(needed, 0);
  if (!queues_.waiting().empty()) block_budget_.count_to_start(*queues_.waiting().front(), needed);
}

void Scheduler::fork(Sequence& parent, Sequence& child) {
  OCTAVO_CHECK(parent.num_forks > 0, "sequence {} has no choice left", parent.params.id);
  start_child(parent, child);
  --parent.num_forks;  // the child runs in its place
  queues_.add_child(child);
}

void Scheduler::replace(Sequence& parent, Sequence& child) {
  OCTAVO_CHECK(parent.num_forks == 0, "sequence {} has {} choices left", parent.params.id, parent.num_forks);
  start_child(parent, child);
  queues_.replace(parent, child);
  owners_.remove(parent);
  admission_.forget(parent);
}

void Scheduler::start_child(const Sequence& parent, Sequence& child) {
  OCTAVO_CHECK(parent.is_running() && child.state == Sequence::State::kIdle && parent.num_uncomputed() == 0 &&
                   child.num_tokens() == parent.num_tokens(),
               "{} tokens not computed of {}, {} are the child's", parent.num_uncomputed(), parent.num_tokens(),
               child.num_tokens());
  const Result<void> forked = kv_.fork_into(parent.kv, child.kv);
  OCTAVO_CHECK(forked.has_value(), "{}", forked.error().message);
  child.num_computed = parent.num_computed;
  child.notes.max_computed = parent.notes.max_computed;
  child.cached_tokens = parent.cached_tokens;
  child.stored_tokens = parent.stored_tokens;
  child.diverged_at = parent.diverged_at;
  child.num_preemptions = parent.num_preemptions;
  child.notes.own_rank = {
      .virtual_arrival = parent.notes.own_rank.virtual_arrival, .id = child.params.id, .choice = child.params.choice};
  owners_.add_fork(parent, child);
}

Result<void> Scheduler::check_integrity() const {
  OCTAVO_TRY_VOID(queues_.check_integrity());
  const int reading = reads_ == nullptr ? 0 : reads_->num_waiting();
  return owners_.check_integrity(queues_.running().size() + queues_.waiting().size() + to_size(reading));
}

}  // namespace octavo

// The step: who runs, in which order. Who may begin, who waits for whom and who makes room stand in the files beside.
#include "engine/scheduler.h"

#include <algorithm>
#include <new>
#include <variant>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {

void insert_by_rank(std::vector<Sequence*>& sequences, Sequence& sequence) {
  sequences.insert(std::ranges::upper_bound(sequences, sequence.rank, {}, &Sequence::rank), &sequence);
}

namespace {

void sort_by_rank(std::vector<Sequence*>& sequences) {
  if (!std::ranges::is_sorted(sequences, {}, &Sequence::rank)) std::ranges::sort(sequences, {}, &Sequence::rank);
}

}  // namespace

Scheduler::Scheduler(const Limits& limits, PagedKvCache& kv, const CostModel* cost)
    : limits_(limits), kv_(kv), cost_(cost), turns_(limits.max_sequences) {
  OCTAVO_CHECK(limits.max_step_tokens >= 1 && limits.max_sequences >= 1, "{} tokens, {} sequences",
               limits.max_step_tokens, limits.max_sequences);
  // Every running sequence can then have a row in every step, so decodes cannot starve one another.
  limits_.max_sequences = std::min(limits.max_sequences, limits.max_step_tokens);
  prefill_config_ = PrefillConfig(limits.max_step_tokens).with_priority(limits.policy);
  const auto seats = to_size(limits_.max_sequences);
  const auto groups = to_size(kv.num_groups());
  running_.reserve(seats);
  newly_admitted_.reserve(2 * seats + 1);  // could_have_seats() lets no more begin in a step
  prompts_.reserve(seats);
  plan_.reserve(seats);
  copies_.reserve(seats * groups);
  claims_.reserve(seats + to_size(limits.max_step_tokens));
  promised_.resize(groups);
  needed_.resize(groups);
  missing_.resize(groups);
  failed_room_.resize(groups);
}

void Scheduler::add(Sequence& sequence) {
  OCTAVO_CHECK(sequence.state == Sequence::State::kIdle && sequence.num_tokens() >= 1 && sequence.num_computed == 0,
               "{} of {} tokens computed", sequence.num_computed, sequence.num_tokens());
  OCTAVO_CHECK(sequence.max_cached <= kv_.max_sequence_tokens(), "{} tokens, the cache holds {}", sequence.max_cached,
               kv_.max_sequence_tokens());
  OCTAVO_CHECK(sequence.seats() <= limits_.max_sequences, "{} seats of {}", sequence.seats(), limits_.max_sequences);
  OCTAVO_CHECK(!kv_.hasher() || static_cast<int>(sequence.chain.size()) == sequence.num_tokens() / kv_.block_size(),
               "{} hashes of {} tokens", sequence.chain.size(), sequence.num_tokens());
  // A preempted sequence goes back here within a step, so there is always room for all.
  const auto all = to_size(seats_known_ + sequence.seats());
  if (waiting_.capacity() < all) waiting_.reserve(2 * all);
  const std::int64_t head_start = std::int64_t{sequence.priority} * kStepsPerPriority;
  sequence.own_rank = {
      .virtual_arrival = static_cast<std::int64_t>(step_) - head_start, .id = sequence.id, .choice = sequence.choice};
  owners_.add(sequence, all);
  seats_known_ += sequence.seats();
  sequence.state = Sequence::State::kWaiting;
  insert_by_rank(waiting_, sequence);
}

void Scheduler::remove(Sequence& sequence) {
  const bool is_running = sequence.state == Sequence::State::kRunning;
  const std::size_t erased = std::erase(is_running ? running_ : waiting_, &sequence);
  OCTAVO_CHECK(erased == 1, "sequence {}", sequence.id);
  if (is_running) {
    seats_taken_ -= sequence.seats();
  } else {
    if (sequence.num_computed > 0) --num_holding_;
  }
  if (sequence.was_admitted) seats_begun_ -= sequence.seats();
  owners_.remove(sequence);
  if (failed_ == &sequence) failed_ = nullptr;
  seats_known_ -= sequence.seats();
  sequence.state = Sequence::State::kIdle;
}

std::span<const ScheduledSequence> Scheduler::schedule() {
  begin_step();
  attach_published();
  count_promises();
  schedule_by_policy();
  if (plan_.empty()) admit();  // decodes that could not grow have stepped aside
  if (plan_.empty() && !running_.empty()) schedule_best();
  OCTAVO_CHECK(!plan_.empty() || empty(), "{} sequences wait and none can run", waiting_.size());
  return plan_;
}

void Scheduler::begin_step() {
  ++step_;
  if (owners_.update_ranks(static_cast<std::int64_t>(step_))) {
    sort_by_rank(running_);
    sort_by_rank(waiting_);
  }
  newly_admitted_.clear();
  plan_.clear();
  prompts_.clear();
  copies_.clear();
  claims_.clear();
  work_ = {};
  plans_prompts_ = false;
  tokens_left_ = limits_.max_step_tokens;
  const bool decodes = std::ranges::any_of(running_, [](const Sequence* s) { return !s->in_prefill(); });
  budget_ms_ = cost_ == nullptr ? 0 : limits_.step_ms * (decodes ? 1 : kPromptStepFactor);
}

void Scheduler::schedule_by_policy() {
  if (is_urgent()) admit();  // before those of lower priority have rows, and cannot give way any more
  if (limits_.policy == PrefillPriority::kPrefillFirst) {
    schedule_decodes(true, false);
    admit();
    schedule_prompts();
    schedule_decodes(false, plans_prompts_);
  } else {
    schedule_decodes(false, false);
    admit();
    schedule_prompts();
  }
}

/// Somebody waits who has a higher priority than somebody that runs, or a better rank than somebody of another owner.
bool Scheduler::is_urgent() const {
  if (waiting_.empty()) return false;
  const Sequence& best = *waiting_.front();
  return std::ranges::any_of(running_, [&](const Sequence* running) {
    return running->priority < best.priority || (running->share != best.share && running->rank > best.rank);
  });
}

void Scheduler::complete() {
  for (const auto& [sequence, num_tokens, chunk] : plan_) {
    if (chunk.size() > 0) sequence->prefill->complete(chunk);
    num_computed_tokens_ += static_cast<std::uint64_t>(num_tokens);
    commit(*sequence, sequence->num_computed + num_tokens);
  }
}

// Block by block: each is published before a later position lets it leave its window.
void Scheduler::commit(Sequence& sequence, int end) {
  const int block_size = kv_.block_size();
  while (sequence.num_computed < end) {
    const int left_in_block = block_size - sequence.num_computed % block_size;
    sequence.num_computed += std::min(left_in_block, end - sequence.num_computed);
    sequence.furthest = std::max(sequence.furthest, sequence.num_computed);
    kv_.commit(sequence.kv, sequence.num_computed);
    if (sequence.num_computed % block_size != 0 || !kv_.hasher()) continue;
    sequence.chain.extend(kv_.hasher(), block_size, sequence.tokens);
    const KvResult<void> published = kv_.publish(sequence.kv, sequence.tokens, sequence.chain);
    OCTAVO_CHECK(published.has_value(), "{}", describe(published.error()));
    ++publications_;
  }
}

void Scheduler::fork(Sequence& parent, Sequence& child) {
  OCTAVO_CHECK(parent.num_forks > 0, "sequence {} holds no seat for another", parent.id);
  --parent.num_forks;  // the seat is the child's from now on
  go_on(parent, child);
}

void Scheduler::replace(Sequence& parent, Sequence& child) {
  OCTAVO_CHECK(parent.num_forks == 0, "sequence {} holds seats for {} others", parent.id, parent.num_forks);
  running_.erase(std::ranges::find(running_, &parent));
  go_on(parent, child);
  owners_.remove(parent);
  parent.state = Sequence::State::kIdle;
}

/// In a seat that is counted already.
void Scheduler::go_on(const Sequence& parent, Sequence& child) {
  OCTAVO_CHECK(parent.state == Sequence::State::kRunning && child.state == Sequence::State::kIdle &&
                   parent.num_uncomputed() == 0 && child.num_tokens() == parent.num_tokens(),
               "{} tokens not computed of {}, {} are the child's", parent.num_uncomputed(), parent.num_tokens(),
               child.num_tokens());
  const KvResult<void> forked = kv_.fork_into(parent.kv, child.kv);
  OCTAVO_CHECK(forked.has_value(), "{}", describe(forked.error()));
  child.num_computed = parent.num_computed;
  child.furthest = parent.furthest;
  child.cached_tokens = parent.cached_tokens;
  child.num_preemptions = parent.num_preemptions;
  child.was_admitted = true;
  child.own_rank = {.virtual_arrival = parent.own_rank.virtual_arrival, .id = child.id, .choice = child.choice};
  owners_.add_fork(parent, child);
  child.state = Sequence::State::kRunning;
  insert_by_rank(running_, child);
}

void Scheduler::reserve(const Sequence& sequence, int end) {
  const KvResult<void> reserved = kv_.reserve(sequence.kv, sequence.num_computed, end, &copies_);
  if (!reserved && std::holds_alternative<MemoryRefused>(reserved.error())) throw std::bad_alloc();
  OCTAVO_CHECK(reserved.has_value(), "sequence {}: {}", sequence.id, describe(reserved.error()));
}

void Scheduler::plan(Sequence& sequence, int num_tokens, const PrefillChunk& chunk) {
  plan_.push_back({.sequence = &sequence, .num_tokens = num_tokens, .chunk = chunk});
  tokens_left_ -= num_tokens;
  const int logit_rows = sequence.num_logit_rows(sequence.num_computed + num_tokens);
  if (cost_ != nullptr) work_ += cost_->work(sequence.num_computed, num_tokens, logit_rows);
  sequence.steps_waited = 0;
  sequence.planned_in_step = step_;
}

bool Scheduler::in_time(const StepWork& more) const {
  return budget_ms_ <= 0 || cost_->predict_ms(work_ + more) <= budget_ms_;
}

/// Decode rows, best rank first: of those that were passed over too often, or of all whose turn it is; as long as time
/// is left, or all.
void Scheduler::schedule_decodes(bool only_aged, bool within_time) {
  if (budget_ms_ > 0 && !only_aged) turns_.choose(running_, step_, work_, *cost_, budget_ms_);
  for (std::size_t i = 0; i < running_.size();) {
    Sequence& sequence = *running_[i];
    const bool skipped = sequence.in_prefill() || sequence.planned_in_step == step_ ||
                         (only_aged && sequence.steps_waited < kMaxStepsWaited);
    if (skipped) {
      ++i;
    } else if (tokens_left_ == 0 || sequence.passed_in_step == step_ ||
               (within_time && budget_ms_ > 0 && !in_time(cost_->work(sequence.num_computed, 1, 1)))) {
      ++sequence.steps_waited;
      ++i;
    } else if (schedule_decode(sequence)) {
      ++i;
    } else {
      set_aside(sequence);
    }
  }
}

bool Scheduler::schedule_decode(Sequence& sequence) {
  OCTAVO_CHECK(sequence.num_uncomputed() == 1, "{} tokens to decode", sequence.num_uncomputed());
  need_blocks(sequence, sequence.num_computed + 1);
  if (!make_room(sequence, false)) return false;
  reserve(sequence, sequence.num_computed + 1);
  plan(sequence, 1, {});
  return true;
}

}  // namespace octavo

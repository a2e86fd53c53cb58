// Who runs, and by how much. What room there is for it is counted in scheduler_room.cc.
#include "engine/scheduler.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"

namespace octavo {
namespace {

void insert_by_age(std::vector<Sequence*>& sequences, Sequence& sequence) {
  sequences.insert(std::ranges::upper_bound(sequences, sequence.age(), {}, &Sequence::age), &sequence);
}

}  // namespace

Scheduler::Scheduler(const Limits& limits, PagedKvCache& kv) : limits_(limits), kv_(kv) {
  OCTAVO_CHECK(limits.max_step_tokens >= 1 && limits.max_sequences >= 1, "{} tokens, {} sequences",
               limits.max_step_tokens, limits.max_sequences);
  // Every running sequence can then have a row in every step, so decodes cannot starve one another.
  limits_.max_sequences = std::min(limits.max_sequences, limits.max_step_tokens);
  prefill_config_ = PrefillConfig(limits.max_step_tokens).with_priority(PrefillPriority::kInterleaved);
  const auto seats = static_cast<std::size_t>(limits_.max_sequences);
  const auto groups = static_cast<std::size_t>(kv.num_groups());
  running_.reserve(seats);
  prompts_.reserve(seats);
  plan_.reserve(seats);
  copies_.reserve(seats * groups);
  promised_.resize(groups);
}

void Scheduler::add(Sequence& sequence) {
  OCTAVO_CHECK(sequence.state == Sequence::State::kIdle && sequence.num_tokens() >= 1 && sequence.num_computed == 0,
               "{} of {} tokens computed", sequence.num_computed, sequence.num_tokens());
  OCTAVO_CHECK(sequence.max_cached <= kv_.max_sequence_tokens(), "{} tokens, the cache holds {}", sequence.max_cached,
               kv_.max_sequence_tokens());
  OCTAVO_CHECK(sequence.seats() <= limits_.max_sequences, "{} seats of {}", sequence.seats(), limits_.max_sequences);
  // A preempted sequence goes back here within a step, so there is always room for all.
  const auto all = static_cast<std::size_t>(seats_known_ + sequence.seats());
  if (waiting_.capacity() < all) waiting_.reserve(2 * all);
  seats_known_ += sequence.seats();
  sequence.state = Sequence::State::kWaiting;
  insert_by_age(waiting_, sequence);
}

void Scheduler::remove(Sequence& sequence) {
  const bool is_running = sequence.state == Sequence::State::kRunning;
  const std::size_t erased = std::erase(is_running ? running_ : waiting_, &sequence);
  OCTAVO_CHECK(erased == 1, "sequence {}", sequence.id);
  if (is_running) seats_taken_ -= sequence.seats();
  seats_known_ -= sequence.seats();
  sequence.state = Sequence::State::kIdle;
}

std::span<const ScheduledSequence> Scheduler::schedule() {
  plan_.clear();
  prompts_.clear();
  copies_.clear();
  tokens_left_ = limits_.max_step_tokens;
  look_for_prefixes();
  count_promises();
  schedule_decodes();
  admit();
  schedule_prompts();
  if (plan_.empty() && !running_.empty()) schedule_oldest();
  OCTAVO_CHECK(!plan_.empty() || empty(), "{} sequences wait and none can run", waiting_.size());
  return plan_;
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
    kv_.commit(sequence.kv, sequence.num_computed);
    if (sequence.num_computed % block_size != 0) return;
    const KvResult<void> published = kv_.publish(sequence.kv, sequence.tokens, sequence.cache_domain);
    OCTAVO_CHECK(published.has_value(), "{}", describe(published.error()));
    ++publications_;
  }
}

void Scheduler::fork(Sequence& parent, Sequence& child) {
  OCTAVO_CHECK(parent.state == Sequence::State::kRunning && child.state == Sequence::State::kIdle &&
                   parent.num_forks > 0 && parent.num_uncomputed() == 0,
               "{} forks, {} tokens not computed", parent.num_forks, parent.num_uncomputed());
  const KvResult<void> forked = kv_.fork_into(parent.kv, child.kv);
  OCTAVO_CHECK(forked.has_value(), "{}", describe(forked.error()));
  --parent.num_forks;  // the seat is the child's from now on
  child.num_computed = parent.num_computed;
  child.cached_tokens = parent.cached_tokens;
  child.state = Sequence::State::kRunning;
  insert_by_age(running_, child);
}

// A prompt that has had no rows yet may by now find more of its prefix: others have computed it meanwhile.
void Scheduler::look_for_prefixes() {
  for (Sequence* sequence : running_) {
    if (!sequence->in_prefill() || sequence->has_rows || sequence->publications_seen == publications_) continue;
    if (!sequence->may_use_cache()) continue;
    let_go(*sequence);  // what it held stays cached and is found again: nothing is allocated in between
    const Result<void> skipped = sequence->prefill->skip_to(attach(*sequence));
    OCTAVO_CHECK(skipped.has_value(), "{}", skipped.error().message);
  }
}

/// The number of tokens found, which count as computed.
int Scheduler::attach(Sequence& sequence) {
  sequence.publications_seen = publications_;
  if (!sequence.may_use_cache()) return 0;
  const KvResult<int> attached = kv_.attach_prefix(sequence.kv, sequence.tokens, sequence.cache_domain);
  OCTAVO_CHECK(attached.has_value(), "{}", describe(attached.error()));
  sequence.num_computed = *attached;
  return *attached;
}

void Scheduler::let_go(Sequence& sequence) {
  const KvResult<void> truncated = kv_.truncate(sequence.kv, 0);
  OCTAVO_CHECK(truncated.has_value(), "{}", describe(truncated.error()));
  sequence.num_computed = 0;
}

void Scheduler::preempt_youngest() {
  Sequence& victim = *running_.back();
  running_.pop_back();
  seats_taken_ -= victim.seats();
  let_go(victim);
  victim.prefill.reset();
  victim.state = Sequence::State::kWaiting;
  insert_by_age(waiting_, victim);
  ++num_preemptions_;
  count_promises();
}

void Scheduler::reserve(const Sequence& sequence, int end) {
  const KvResult<void> reserved = kv_.reserve(sequence.kv, sequence.num_computed, end, &copies_);
  OCTAVO_CHECK(reserved.has_value(), "sequence {}: {}", sequence.id, describe(reserved.error()));
}

void Scheduler::plan(Sequence& sequence, int num_tokens, const PrefillChunk& chunk) {
  plan_.push_back({.sequence = &sequence, .num_tokens = num_tokens, .chunk = chunk});
  tokens_left_ -= num_tokens;
  sequence.steps_waited = 0;
}

void Scheduler::schedule_decodes() {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Sequence& sequence = *running_[i];
    if (sequence.in_prefill()) continue;
    bool scheduled = schedule_decode(sequence);
    while (!scheduled && i < running_.size()) {
      preempt_youngest();  // the last time it is the sequence itself
      scheduled = i < running_.size() && schedule_decode(sequence);
    }
  }
}

bool Scheduler::schedule_decode(Sequence& sequence) {
  OCTAVO_CHECK(sequence.num_uncomputed() == 1, "{} tokens to decode", sequence.num_uncomputed());
  const int end = sequence.num_computed + 1;
  for (int group = 0; group < kv_.num_groups(); ++group) {
    if (kv_.blocks_needed(sequence.kv, group, sequence.num_computed, end) > room(group)) return false;
  }
  reserve(sequence, end);
  plan(sequence, 1, {});
  return true;
}

void Scheduler::admit() {
  std::size_t admitted = 0;
  while (admitted < waiting_.size()) {
    Sequence& sequence = *waiting_[admitted];
    if (seats_taken_ + sequence.seats() > limits_.max_sequences || !start(sequence)) break;
    insert_by_age(running_, sequence);
    ++admitted;
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(admitted));
}

// Attaches first and counts then: a cached block that is found lessens what is needed, and what is free with it.
bool Scheduler::start(Sequence& sequence) {
  for (int group = 0; group < kv_.num_groups(); ++group) {
    if (room(group) == 0) return false;  // not even a cached prefix could help: its last token is never part of it
  }
  const int attached = attach(sequence);
  if (attached > 0) count_promises();  // blocks of others may be shared now
  if (!has_room_to_start(sequence)) {
    let_go(sequence);
    if (attached > 0) count_promises();
    return false;
  }
  Result<PrefillScheduler> prefill = PrefillScheduler::create(sequence.tokens, prefill_config_);
  OCTAVO_CHECK(prefill.has_value(), "{}", prefill.error().message);
  sequence.prefill = *prefill;
  const Result<void> skipped = sequence.prefill->skip_to(attached);
  OCTAVO_CHECK(skipped.has_value(), "{}", skipped.error().message);
  sequence.has_rows = false;
  sequence.steps_waited = 0;
  sequence.state = Sequence::State::kRunning;
  seats_taken_ += sequence.seats();
  add_promises(sequence, 1);
  return true;
}

void Scheduler::schedule_prompts() {
  for (Sequence* sequence : running_) {
    if (sequence->in_prefill()) prompts_.push_back(sequence);
  }
  std::ranges::sort(prompts_, {}, [](const Sequence* sequence) {
    const bool patient = sequence->steps_waited < kMaxStepsWaited;
    return std::tuple(patient, patient ? sequence->num_uncomputed() : 0, sequence->age());
  });
  for (Sequence* sequence : prompts_) {
    const int rows = rows_that_fit(*sequence);
    if (rows > 0) {
      schedule_chunk(*sequence, rows);
    } else {
      ++sequence->steps_waited;
    }
  }
}

// Nothing is planned, so whatever runs is a prompt without room for a row.
void Scheduler::schedule_oldest() {
  Sequence& oldest = *running_.front();
  int rows = rows_that_fit(oldest);
  while (rows == 0) {
    OCTAVO_CHECK(running_.size() > 1, "sequence {} has no room though it is alone", oldest.id);
    preempt_youngest();
    rows = rows_that_fit(oldest);
  }
  schedule_chunk(oldest, rows);
}

void Scheduler::schedule_chunk(Sequence& sequence, int max_rows) {
  const bool decodes = !plan_.empty() && plan_.front().chunk.size() == 0;
  PrefillAction action = sequence.prefill->next_action(max_rows, decodes);
  // Between two chunks the decodes are owed a turn: they had it, their rows of this step are planned already.
  if (action.kind == PrefillAction::kYieldToDecode) action = sequence.prefill->next_action(max_rows, decodes);
  const PrefillChunk& chunk = action.chunk;
  OCTAVO_CHECK(
      action.kind == PrefillAction::kPrefill && chunk.start == sequence.num_computed && chunk.size() <= max_rows,
      "chunk {} to {} after {} tokens", chunk.start, chunk.end, sequence.num_computed);
  if (!sequence.has_rows) num_cached_tokens_ += static_cast<std::uint64_t>(sequence.num_computed);
  if (sequence.cached_tokens < 0) sequence.cached_tokens = sequence.num_computed;
  sequence.has_rows = true;
  add_promises(sequence, -1);
  reserve(sequence, chunk.end);
  add_promises(sequence, 1);
  plan(sequence, chunk.size(), chunk);
}

}  // namespace octavo

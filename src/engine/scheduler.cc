#include "engine/scheduler.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"

namespace octavo {
namespace {

constexpr auto kOlder = [](const Sequence* a, const Sequence* b) { return a->id < b->id; };

void insert_by_age(std::vector<Sequence*>& sequences, Sequence& sequence) {
  sequences.insert(std::ranges::upper_bound(sequences, &sequence, kOlder), &sequence);
}

void give_back_blocks(Sequence& sequence) {
  for (BlockTable& table : sequence.tables) table.truncate(0);
}

}  // namespace

Scheduler::Scheduler(const Limits& limits, std::span<BlockPool> pools) : limits_(limits), pools_(pools) {
  OCTAVO_CHECK(limits.max_step_tokens >= 1 && limits.max_sequences >= 1, "{} tokens, {} sequences",
               limits.max_step_tokens, limits.max_sequences);
  // Every admitted sequence can then have a row in every step, so decodes cannot starve one another.
  limits_.max_sequences = std::min(limits.max_sequences, limits.max_step_tokens);
  const auto seats = static_cast<std::size_t>(limits_.max_sequences);
  running_.reserve(seats);
  prompts_.reserve(seats);
  plan_.reserve(seats);
}

void Scheduler::add(Sequence& sequence) {
  OCTAVO_CHECK(sequence.num_uncomputed() >= 1 && sequence.tables.size() == pools_.size(), "{} tokens, {} tables",
               sequence.num_uncomputed(), sequence.tables.size());
  for (std::size_t group = 0; group < pools_.size(); ++group) {
    const int needed = sequence.tables[group].blocks_missing(sequence.max_cached);
    OCTAVO_CHECK(needed <= pools_[group].total_count(), "{} blocks of {}", needed, pools_[group].total_count());
  }
  sequence.admitted = false;
  // A preempted sequence goes back here within a step, so there is always room for all.
  const std::size_t all = waiting_.size() + running_.size() + 1;
  if (waiting_.capacity() < all) waiting_.reserve(2 * all);
  insert_by_age(waiting_, sequence);
}

void Scheduler::remove(Sequence& sequence) {
  const std::size_t erased = std::erase(sequence.admitted ? running_ : waiting_, &sequence);
  OCTAVO_CHECK(erased == 1, "sequence {}", sequence.id);
  give_back_blocks(sequence);
}

std::span<const ScheduledSequence> Scheduler::schedule() {
  plan_.clear();
  prompts_.clear();
  tokens_left_ = limits_.max_step_tokens;
  schedule_decodes();
  admit();
  schedule_prompts();
  OCTAVO_CHECK(!plan_.empty() || empty(), "{} sequences wait and none can run", waiting_.size());
  return plan_;
}

void Scheduler::plan(Sequence& sequence, int num_tokens) {
  plan_.push_back({.sequence = &sequence, .num_tokens = num_tokens});
  tokens_left_ -= num_tokens;
  sequence.steps_waited = 0;
}

// Makes room for all tokens of an admitted sequence, in every group or in none.
bool Scheduler::grow(Sequence& sequence) {
  for (std::size_t group = 0; group < pools_.size(); ++group) {
    if (sequence.tables[group].blocks_missing(sequence.num_tokens()) > pools_[group].free_count()) return false;
  }
  for (BlockTable& table : sequence.tables) {
    const bool grown = table.ensure_capacity(sequence.num_tokens());
    OCTAVO_CHECK(grown, "sequence {}", sequence.id);
  }
  return true;
}

void Scheduler::preempt_youngest() {
  Sequence& victim = *running_.back();
  running_.pop_back();
  give_back_blocks(victim);
  victim.num_computed = 0;
  victim.admitted = false;
  insert_by_age(waiting_, victim);
  ++num_preemptions_;
}

void Scheduler::schedule_decodes() {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Sequence& sequence = *running_[i];
    if (sequence.num_uncomputed() != 1) continue;
    bool grown = grow(sequence);
    while (!grown && i < running_.size()) {
      preempt_youngest();  // the last time it is the sequence itself
      grown = i < running_.size() && grow(sequence);
    }
    if (grown) plan(sequence, 1);
  }
  // What is still running and not planned is in the middle of its prompt.
  for (Sequence* sequence : running_) {
    if (sequence->num_uncomputed() != 1) prompts_.push_back(sequence);
  }
}

bool Scheduler::has_room_to_start(const Sequence& sequence) const {
  for (std::size_t group = 0; group < pools_.size(); ++group) {
    const BlockTable& table = sequence.tables[group];
    const int ever = table.blocks_missing(sequence.max_cached);
    const int needed = std::min(table.blocks_missing(sequence.num_tokens()) + 1, ever);
    if (needed > pools_[group].free_count()) return false;
  }
  return true;
}

void Scheduler::admit() {
  std::size_t admitted = 0;
  while (admitted < waiting_.size() && num_running() < limits_.max_sequences) {
    Sequence& sequence = *waiting_[admitted];
    if (!has_room_to_start(sequence)) break;
    const bool grown = grow(sequence);
    OCTAVO_CHECK(grown, "sequence {}", sequence.id);
    sequence.admitted = true;
    sequence.steps_waited = 0;
    insert_by_age(running_, sequence);
    prompts_.push_back(&sequence);
    ++admitted;
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(admitted));
}

void Scheduler::schedule_prompts() {
  std::ranges::sort(prompts_, {}, [](const Sequence* sequence) {
    const bool patient = sequence->steps_waited < kMaxStepsWaited;
    return std::tuple(patient, patient ? sequence->num_uncomputed() : 0, sequence->id);
  });
  for (Sequence* sequence : prompts_) {
    if (tokens_left_ == 0) {
      ++sequence->steps_waited;
      continue;
    }
    plan(*sequence, std::min(sequence->num_uncomputed(), tokens_left_));
  }
}

}  // namespace octavo

#include "engine/answers/request_table.h"

#include <new>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {

RequestTable::RequestTable(KvCacheManager& kv, Scheduler& scheduler, StepPlan& plan, const ModelTokenizer& words,
                           Drafting& drafting, EngineStats& counts, StoredPrefixes* stored)
    : kv_(kv),
      scheduler_(scheduler),
      plan_(plan),
      drafting_(drafting),
      counts_(counts),
      stored_(stored),
      choice_pool_(words) {
  spare_rows_.reserve(kMostSpareRows);
}

bool RequestTable::add(std::unique_ptr<ActiveRequest>& request) {
  ActiveRequest& active = *request;
  const bool has_deadline = active.deadline.has_value();
  const std::size_t num_blocks = table_blocks(active.prompt.num_tokens());
  try {
    const std::size_t all = requests_.size() + retired_.size() + 1;
    if (retired_.capacity() < all) retired_.reserve(2 * all);
    plan_.reserve_tables(num_table_blocks_ + num_blocks);
    active.prompt.kv = kv_.create_sequence(active.prompt.num_tokens());
    active.is_reading = true;
    kv_.set_owner(active.prompt.kv, active.owner);
    if (active.prompt.params.hides_blocks) kv_.hide(active.prompt.kv);
    if (has_deadline) deadlines_.emplace(*active.deadline, active.id);
    const auto place = requests_.try_emplace(active.id).first;
    scheduler_.add(active.prompt);
    place->second = std::move(request);
  } catch (const std::bad_alloc&) {
    if (std::exchange(active.is_reading, false)) kv_.drop(active.prompt.kv);
    requests_.erase(active.id);
    if (has_deadline) deadlines_.erase({*active.deadline, active.id});
    return false;
  }
  num_table_blocks_ += num_blocks;
  return true;
}

bool RequestTable::add_ready(Sequence& prompt) {
  try {
    scheduler_.add_again(prompt);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool RequestTable::make_choices(ActiveRequest& request, int count) {
  const int num_tokens = request.prompt.params.max_cached;
  const std::size_t num_blocks = to_size(count) * table_blocks(num_tokens);
  const auto made = std::span(request.choices).subspan(to_size(request.num_begun), to_size(count));
  try {
    plan_.reserve_tables(num_table_blocks_ + num_blocks);
    for (int i = 0; i < count; ++i) {
      std::unique_ptr<Choice>& choice = made[to_size(i)];
      if (choice) {
        choice->take_over(request.prompt);
      } else {
        choice = choice_pool_.take(request, request.num_begun + i, kv_.block_size());
      }
      choice->sequence.kv = kv_.create_sequence(num_tokens);
      choice->active = true;
      kv_.set_owner(choice->sequence.kv, request.owner);
      if (request.prompt.params.hides_blocks) kv_.hide(choice->sequence.kv);
    }
  } catch (const std::bad_alloc&) {
    for (std::unique_ptr<Choice>& choice : made) {
      if (choice && choice->active) kv_.drop(choice->sequence.kv);
      choice.reset();
    }
    return false;
  }
  num_table_blocks_ += num_blocks;
  request.num_begun += count;
  return true;
}

void RequestTable::start_choices(ActiveRequest& request) {
  Sequence& prompt = request.prompt;
  const int num_started = static_cast<int>(request.choices.size()) - prompt.num_choices();
  if (stored_ != nullptr && num_started == 0) stored_->write(prompt);
  for (int i = num_started; i < request.num_begun; ++i) {
    Sequence& child = request.choices[to_size(i)]->sequence;
    if (prompt.num_forks > 0) {
      scheduler_.fork(prompt, child);
    } else {
      scheduler_.replace(prompt, child);
      drop_prompt(request);
    }
  }
}

bool RequestTable::keep_last_row(ActiveRequest& request, std::span<const float> row) {
  try {
    if (request.last_row.empty() && !spare_rows_.empty()) {
      request.last_row = std::move(spare_rows_.back());
      spare_rows_.pop_back();
    }
    request.last_row.assign(row.begin(), row.end());
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

ActiveRequest* RequestTable::find(RequestId id) {
  const auto it = requests_.find(id);
  return it == requests_.end() ? nullptr : it->second.get();
}

ActiveRequest* RequestTable::find_expired(Clock::time_point now) {
  if (deadlines_.empty() || deadlines_.begin()->first > now) return nullptr;
  const RequestId id = deadlines_.begin()->second;
  ActiveRequest* request = find(id);
  OCTAVO_CHECK(request != nullptr, "a deadline of request {}", id);
  return request;
}

void RequestTable::retire_prompt(ActiveRequest& request) {
  drop_prompt(request);
  count_ended(request, request.num_active);
}

void RequestTable::retire(ActiveRequest& request, Choice& choice) {
  if (choice.sequence.state != Sequence::State::kIdle) scheduler_.remove(choice.sequence);
  if (stored_ != nullptr) stored_->write(choice.sequence);
  kv_.drop(choice.sequence.kv);
  num_table_blocks_ -= table_blocks(choice.sequence.params.max_cached);
  choice.active = false;
  choice.mask.drop();
  drafting_.end(request, choice);
  count_ended(request, 1);
}

void RequestTable::clear_retired() {
  for (const std::unique_ptr<ActiveRequest>& request : retired_)
    for (std::unique_ptr<Choice>& choice : request->choices)
      if (choice) choice_pool_.keep(std::move(choice));
  retired_.clear();
}

/// The blocks in the block table of a sequence of `num_tokens` tokens, in each group.
std::size_t RequestTable::table_blocks(int num_tokens) const { return to_size(num_tokens / kv_.block_size() + 1); }

/// Takes the prompt out, once it is computed or never will be.
void RequestTable::drop_prompt(ActiveRequest& request) {
  if (!std::exchange(request.is_reading, false)) return;
  const bool waits_for_read = stored_ != nullptr && stored_->forget(request.prompt);
  if (waits_for_read || request.prompt.state != Sequence::State::kIdle) scheduler_.remove(request.prompt);
  kv_.drop(request.prompt.kv);
  if (!request.last_row.empty() && spare_rows_.size() < kMostSpareRows)
    spare_rows_.push_back(std::move(request.last_row));
  num_table_blocks_ -= table_blocks(request.prompt.num_tokens());
}

void RequestTable::count_ended(ActiveRequest& request, int num_choices) {
  counts_.finished += static_cast<std::uint64_t>(num_choices);
  request.num_active -= num_choices;
  if (request.num_active > 0) return;
  request.place.leave();
  if (request.deadline) deadlines_.erase({*request.deadline, request.id});
  const auto it = requests_.find(request.id);
  retired_.push_back(std::move(it->second));
  requests_.erase(it);
}

Result<void> RequestTable::check_integrity() const {
  OCTAVO_TRY_VOID(kv_.check_integrity());
  OCTAVO_TRY_VOID(scheduler_.check_integrity());
  for (const auto& [id, request] : requests_) {
    if (request->is_reading) OCTAVO_TRY_VOID(check_sequence(request->prompt));
    for (const std::unique_ptr<Choice>& choice : request->choices) {
      if (choice && choice->active) OCTAVO_TRY_VOID(check_sequence(choice->sequence));
    }
  }
  return {};
}

Result<void> RequestTable::check_sequence(const Sequence& sequence) const {
  for (int group = 0; group < kv_.num_pools(); ++group) {
    const std::int64_t length = kv_.sequence_length(sequence.kv, group);
    if (group < kv_.num_groups() && sequence.num_computed != length) {
      return fail("request {}, choice {}: {} tokens computed, {} written in group {}", sequence.params.id,
                  sequence.params.choice, sequence.num_computed, length, group);
    }
    const int held = kv_.table(sequence.kv, group).num_blocks();
    if (group == kv_.num_groups() && sequence.num_computed > 0 && held != 1)
      return fail("request {}, choice {}: {} tokens computed, and no recurrent state", sequence.params.id,
                  sequence.params.choice, sequence.num_computed);
    if (sequence.num_computed == 0 && sequence.state != Sequence::State::kRunning && held != 0) {
      return fail("request {}, choice {}: holds {} blocks of group {} with nothing in them", sequence.params.id,
                  sequence.params.choice, held, group);
    }
  }
  return {};
}

}  // namespace octavo

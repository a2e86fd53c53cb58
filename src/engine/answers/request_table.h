// The active requests, with their deadlines and the memory that their sequences hold.
//
// A request enters by add(): its prompt gets a sequence in the KV cache and a place with the scheduler. When the
// prompt is computed its choices begin in its stead, and each leaves by retire(). A request whose choices have all
// ended is not found any more, but stays in memory until clear_retired(), because the step's plan points to it.
//
// Owned by the engine; only the thread that drives it may call it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "engine/answers/active_request.h"
#include "engine/answers/choice_pool.h"
#include "engine/answers/drafting.h"
#include "engine/schedule/scheduler.h"
#include "engine/schedule/stored_prefixes.h"

namespace octavo {

class RequestTable {
 public:
  using Clock = Choice::Clock;

  /// All references must outlive it. The plan gets room for the block tables of all sequences; ended choices are
  /// counted in `counts`. `stored`: null where no prefix is kept on disk.
  RequestTable(KvCacheManager& kv, Scheduler& scheduler, StepPlan& plan, const ModelTokenizer& words,
               Drafting& drafting, EngineStats& counts, StoredPrefixes* stored = nullptr);

  /// Adds a request. False: there is no memory for it, and it stays with the caller.
  bool add(std::unique_ptr<ActiveRequest>& request);
  /// Gives a prompt to the scheduler again after its read from the store has ended. False: there is no memory for it.
  bool add_ready(Sequence& prompt);
  /// Makes the next `count` choices of a prompt that is computed by the end of the step. False: there is no memory, and
  /// none of them was made.
  bool make_choices(ActiveRequest& request, int count);
  /// Lets the choices that were made fork from the prompt, which has been accepted. The last choice runs in its place.
  void start_choices(ActiveRequest& request);
  /// Keeps the last row of a prompt's logits, for choices that begin in later steps. False: there is no memory.
  bool keep_last_row(ActiveRequest& request, std::span<const float> row);

  /// The request; null where it is unknown or has ended.
  ActiveRequest* find(RequestId id);
  /// Pins the prompt of a request that asks for it, once it is computed (PinnedPrefixes::pin()).
  Result<void> pin(const ActiveRequest& request) { return scheduler_.pins().pin(request.prompt); }
  /// Gives back what a request that has ended has pinned; ignores others.
  void unpin(RequestId id) { scheduler_.pins().unpin(id); }
  /// The request whose deadline has passed first; null: there is none.
  ActiveRequest* find_expired(Clock::time_point now);

  /// Ends a request whose choices have not begun.
  void retire_prompt(ActiveRequest& request);
  /// Takes a choice out of everything before its last event goes out, so that its blocks are free then.
  void retire(ActiveRequest& request, Choice& choice);
  /// Frees the memory of requests that have ended for new ones, when nobody looks at them any more.
  void clear_retired();

  /// Checks that the KV cache and the scheduler are consistent, and every sequence agrees with them.
  Result<void> check_integrity() const;

 private:
  static constexpr std::size_t kMostSpareRows = 16;

  std::size_t table_blocks(int num_tokens) const;
  void drop_prompt(ActiveRequest& request);
  void count_ended(ActiveRequest& request, int num_choices);
  Result<void> check_sequence(const Sequence& sequence) const;

  KvCacheManager& kv_;
  Scheduler& scheduler_;
  StepPlan& plan_;
  Drafting& drafting_;
  EngineStats& counts_;
  StoredPrefixes* const stored_;
  ChoicePool choice_pool_;
  std::vector<std::vector<float>> spare_rows_;  // rows that were kept, for reuse
  std::map<RequestId, std::unique_ptr<ActiveRequest>> requests_;
  std::vector<std::unique_ptr<ActiveRequest>> retired_;
  std::size_t num_table_blocks_ = 0;  // the blocks of all sequences, each at its longest
  std::set<std::pair<Clock::time_point, RequestId>> deadlines_;
};

}  // namespace octavo

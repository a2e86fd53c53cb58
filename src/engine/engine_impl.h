// The engine behind the public interface: the life of a request, from submit() to its last event.
//
// step() is the one loop that every user of the library runs: schedule, build, forward, commit, sample, append, emit.
// It works on any ModelRunner; engine/load.cc puts the real one in. One thread drives it at a time (Driving), and
// everything but the inbox and the last statistics belongs to that thread. Callbacks run on it; they may submit and
// cancel, must not throw, and a step() within them does nothing.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "engine/active_request.h"
#include "engine/batch_builder.h"
#include "engine/choice_pool.h"
#include "engine/cost_model.h"
#include "engine/idle_release.h"
#include "engine/inbox.h"
#include "engine/queue_ledger.h"
#include "engine/sampling_defaults.h"
#include "engine/scheduler.h"
#include "model/model_runner.h"
#include "sampler/sampler.h"

namespace octavo {

/// What an engine is made of. Members are destroyed last to first: a runner may refer to the pool and the file.
struct EngineParts {
  std::unique_ptr<const ModelSource> source;  // the runner's views point into it; null if weights are packed
  std::unique_ptr<ThreadPool> threads;
  std::unique_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<ModelRunner> runner;
  ModelInfo info;  // max_context: the model's and the options'; the engine lowers it to what the KV memory holds
  SamplingDefaults sampling_defaults;
  Scheduler::Limits limits;
  IdleRelease::Times idle = {};
  QueueLedger::Bounds queue_bounds;  // of requests that were never admitted
};

class EngineImpl final : public Engine {
 public:
  /// Errors: a KV memory that cannot hold two tokens.
  static Result<std::unique_ptr<EngineImpl>> create(EngineParts parts);

  const ModelInfo& info() const override { return parts_.info; }
  EngineStats stats() const override;
  Result<RequestId> submit(Request request, TokenCallback on_event) override;
  void cancel(RequestId id) override;
  bool step() override;
  void run_until(std::stop_token stop) override;
  void drain() override;
  void release_memory(bool cached) override;
  /// Times a few steps on made-up tokens, for the cost model: before the first request.
  void calibrate();

  Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const override;
  std::string detokenize(std::span<const TokenId> tokens) const override;
  Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages,
                                                   std::size_t max_tokens) const override;
  SamplingParams default_sampling(SamplingParams defaults) const override;

  /// The books of the KV cache are in order, and every sequence agrees with them. At any time; after every step where
  /// OCTAVO_INTEGRITY_CHECKS is set.
  Result<void> check_integrity() const;

 private:
  /// A token to draw from a row of this step's logits, for one choice.
  struct Draw {
    std::size_t row;  // of the builder's logit rows
    ActiveRequest* request;
    Choice* choice;  // null: there was no memory for the request's choices
    SampledToken token;
  };

  /// Held by the thread that drives the engine, from the outermost call until it returns.
  class Driving;
  class Listening;

  explicit EngineImpl(EngineParts parts);

  // engine_drive.cc
  bool is_driving() const { return driver_.load() == std::this_thread::get_id(); }
  bool advance();
  bool take_inbox();
  bool end_expired(Choice::Clock::time_point now);
  void end_request(ActiveRequest& request, FinishReason reason);
  bool hear_inbox();
  void attribute_time(std::span<const ScheduledSequence> plan, Choice::Clock::time_point start);
  void tell_progress();
  void observe_step(Choice::Clock::time_point start, double predicted_ms);
  void publish_stats();
  EngineStats current_stats() const;
  bool is_drained();
  double time_step(Sequence& sequence, int depth, int rows);

  // submit.cc
  Result<int> check_request(const Request& request) const;
  Result<void> check_choices(const Request& request) const;
  Result<void> check_limits(const Request& request) const;
  Result<void> check_endings(const Request& request, int max_generated) const;
  std::unique_ptr<ActiveRequest> make_active(RequestId id, Request request, TokenCallback on_event,
                                             int max_generated) const;
  bool hand_over(std::unique_ptr<ActiveRequest>& request);
  std::size_t table_blocks(int num_tokens) const;
  bool take_in(std::unique_ptr<ActiveRequest>& request);
  bool begin_choices(ActiveRequest& request);
  void drop_prompt(ActiveRequest& request);
  void drop_sequence(SequenceId id);

  PagedKvCache& kv() const { return parts_.runner->kv(); }
  std::span<const ScheduledSequence> schedule();
  bool compute(std::span<const ScheduledSequence> plan);
  void plan_draws(std::span<const ScheduledSequence> plan);
  void read_logits(std::span<const ScheduledSequence> plan);
  void deliver_prompt_logits(std::span<const ScheduledSequence> plan, std::span<const LogitRow> rows,
                             std::span<const float> logits);
  void sample_rows(std::size_t first_row, std::size_t num_rows, std::span<const float> logits);
  void append(const Draw& draw);
  void end_without_draw(Sequence& sequence);
  FinishReason finish_reason(const ActiveRequest& request, const Choice& choice, TokenId token) const;
  void retire(ActiveRequest& request, Choice& choice);
  void count_ended(ActiveRequest& request, int num_choices);
  void emit(ActiveRequest& request, const Choice& choice, TokenEvent event);
  static void emit_unbegun(ActiveRequest& request, FinishReason reason);
  void clear_retired();
  ActiveRequest* find(RequestId id);
  Result<void> check_sequence(const Sequence& sequence) const;

  EngineParts parts_;
  int num_drawable_;  // the smaller of the model's and the tokenizer's vocabulary: padding is never drawn
  std::vector<TokenId> end_tokens_;
  const BlockHasher hasher_;  // the KV cache's; never used itself, so that any thread may copy it
  CostModel cost_;
  QueueLedger queue_;  // outlives the requests
  Scheduler scheduler_;
  BatchBuilder builder_;
  ChoicePool choice_pool_;
  std::vector<SamplerScratch> scratches_;  // [threads]
  std::vector<Draw> draws_;                // of this step, by row
  std::map<RequestId, std::unique_ptr<ActiveRequest>> requests_;
  std::vector<std::unique_ptr<ActiveRequest>> retired_;  // kept while the step's plan points to them
  std::size_t num_table_blocks_ = 0;                     // of all their sequences, each at its longest
  std::set<std::pair<Choice::Clock::time_point, RequestId>> deadlines_;
  EngineStats counts_;                   // what is counted here; the rest is asked for
  Choice::Clock::time_point last_mark_;  // when the last step's tokens were drawn
  Choice::Clock::time_point last_end_;   // when it was over, the callbacks behind it included
  Inbox::Contents taken_;                // scratch of take_inbox()

  mutable std::mutex drive_mutex_;        // of Driving
  std::atomic<std::thread::id> driver_;   // who holds it; no thread: nobody
  std::atomic<int> num_listening_ = 0;    // threads that look at the inbox again before they leave the engine alone
  std::atomic<bool> is_looping_ = false;  // some thread is in run_until()
  std::atomic<RequestId> next_id_ = 1;
  Inbox inbox_;
  mutable std::mutex stats_mutex_;
  EngineStats last_stats_;
  Choice::Clock::time_point last_stats_time_;
};

}  // namespace octavo

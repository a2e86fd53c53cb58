// The engine behind the public interface: the life of a request, from submit() to its last event.
//
// step() is the one loop that every user of the library runs: schedule, build, forward, commit, sample, append, emit.
// It works on any ModelRunner; engine/load.cc puts the real one in. One thread drives it at a time. Callbacks run on
// that thread inside step() or cancel(); they may submit and cancel, must not throw, and a step() within them does
// nothing.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "engine/active_request.h"
#include "engine/batch_builder.h"
#include "engine/sampling_defaults.h"
#include "engine/scheduler.h"
#include "gguf/gguf_file.h"
#include "model/model_runner.h"
#include "sampler/sampler.h"

namespace octavo {

/// What an engine is made of. Members are destroyed last to first: a runner may refer to the pool and the file.
struct EngineParts {
  std::unique_ptr<const GgufFile> file;  // the tokenizer's and the runner's views point into it
  std::unique_ptr<ThreadPool> threads;
  std::unique_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<ModelRunner> runner;
  ModelInfo info;  // max_context: the model's and the options'; the engine lowers it to what the KV memory holds
  SamplingDefaults sampling_defaults;
  Scheduler::Limits limits;
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

  Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const override;
  std::string detokenize(std::span<const TokenId> tokens) const override;
  Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages) const override;
  SamplingParams default_sampling(SamplingParams defaults) const override;

  /// The books of the KV cache are in order, and every sequence agrees with them. At any time; after every step where
  /// OCTAVO_INTEGRITY_CHECKS is set.
  Result<void> check_integrity() const;

 private:
  /// A token to draw from a row of this step's logits, for one choice.
  struct Draw {
    std::size_t row;  // of the builder's logit rows
    ActiveRequest* request;
    Choice* choice;
    SampledToken token;
  };

  explicit EngineImpl(EngineParts parts);

  // submit.cc
  Result<int> check_request(const Request& request) const;
  Result<void> check_choices(const Request& request) const;
  std::unique_ptr<ActiveRequest> make_active(RequestId id, Request request, TokenCallback on_event,
                                             int max_generated) const;
  void take_in(std::unique_ptr<ActiveRequest> request);

  PagedKvCache& kv() const { return parts_.runner->kv(); }
  void plan_draws(std::span<const ScheduledSequence> plan);
  void read_logits(std::span<const ScheduledSequence> plan);
  void deliver_prompt_logits(std::span<const ScheduledSequence> plan, std::span<const LogitRow> rows,
                             std::span<const float> logits);
  void sample_rows(std::size_t first_row, std::size_t num_rows, std::span<const float> logits);
  void append(ActiveRequest& request, Choice& choice, const SampledToken& sampled);
  void end_without_draw(Sequence& sequence);
  FinishReason finish_reason(const ActiveRequest& request, const Choice& choice, TokenId token) const;
  void retire(ActiveRequest& request, Choice& choice);
  void emit(ActiveRequest& request, Choice& choice, TokenEvent event);
  void end_step();
  ActiveRequest* find(RequestId id);
  Result<void> check_sequence(const Sequence& sequence) const;

  EngineParts parts_;
  int num_drawable_;  // the smaller of the model's and the tokenizer's vocabulary: padding is never drawn
  Scheduler scheduler_;
  BatchBuilder builder_;
  std::vector<SamplerScratch> scratches_;  // [threads]
  std::vector<Draw> draws_;                // of this step, by row
  std::map<RequestId, std::unique_ptr<ActiveRequest>> requests_;
  std::vector<std::unique_ptr<ActiveRequest>> retired_;  // kept while the step's plan points to them
  RequestId next_id_ = 1;
  std::uint64_t num_steps_ = 0;
  bool busy_ = false;  // inside step() or cancel(), where callbacks run
};

}  // namespace octavo

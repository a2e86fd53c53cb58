// The engine behind the public interface: the life of a request, from submit() to its last event.
//
// step() is the one loop that every user of the library runs: schedule, build, forward, sample, append, emit. It works
// on any ModelRunner; engine/load.cc puts the real one in. One thread drives it at a time. Callbacks run on that thread
// inside step() or cancel(); they may submit and cancel, must not throw, and a step() within them does nothing.
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
  Result<RequestId> submit(Request request, TokenCallback on_event) override;
  void cancel(RequestId id) override;
  bool step() override;

  Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const override;
  std::string detokenize(std::span<const TokenId> tokens) const override;
  Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages) const override;
  SamplingParams default_sampling(SamplingParams defaults) const override;

  /// Every block of every pool is free or held by exactly the sequences that refer to it; sequences agree with their
  /// tables. At any time; after every step where OCTAVO_INTEGRITY_CHECKS is set.
  Result<void> check_integrity();

  BlockPool::Stats kv_stats(int group) const { return pools_[static_cast<std::size_t>(group)].stats(); }
  const Scheduler& scheduler() const { return scheduler_; }

 private:
  EngineImpl(EngineParts parts, std::vector<BlockPool> pools);

  Result<int> check_request(const Request& request) const;
  std::unique_ptr<ActiveRequest> make_active(Request request, TokenCallback on_event, int max_generated);

  void read_logits(std::span<const ScheduledSequence> plan);
  void deliver_prompt_logits(std::span<const ScheduledSequence> plan, std::span<const LogitRow> rows,
                             std::span<const float> logits);
  void sample_rows(std::span<const ScheduledSequence> plan, std::span<const LogitRow> rows,
                   std::span<const float> logits);
  void advance(const ScheduledSequence& planned, const SampledToken& sampled);
  void append(ActiveRequest& request, const SampledToken& sampled);
  FinishReason finish_reason(const ActiveRequest& request, TokenId token) const;
  void retire(ActiveRequest& request);
  void emit(ActiveRequest& request, TokenEvent event);
  void end_step();
  ActiveRequest* find(RequestId id);

  EngineParts parts_;
  int num_drawable_;              // the smaller of the model's and the tokenizer's vocabulary: padding is never drawn
  std::vector<BlockPool> pools_;  // [groups]
  Scheduler scheduler_;
  BatchBuilder builder_;
  std::vector<SamplerScratch> scratches_;  // [threads]
  std::vector<SampledToken> samples_;      // [planned sequences]
  std::map<RequestId, std::unique_ptr<ActiveRequest>> requests_;
  std::vector<std::unique_ptr<ActiveRequest>> retired_;  // kept while the step's plan points to them
  std::vector<std::span<const BlockId>> tables_;         // check_integrity's list
  RequestId next_id_ = 1;
  bool busy_ = false;  // inside step() or cancel(), where callbacks run
};

}  // namespace octavo

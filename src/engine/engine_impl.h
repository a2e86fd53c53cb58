// The engine behind the public interface: puts its parts together and passes each call to the one that answers it.
//
//     submit: request_check, QueueUsage, RequestMaker        any thread
//     Driver: who drives; inbox, loop, statistics             any thread
//     Step: schedule, build, forward, draw                    the thread that drives
//     Answers, RequestTable: events and ends; who is active   the thread that drives
//
// It works on any ModelRunner; engine/load/load.cc puts the real one in.
#pragma once

#include <atomic>
#include <memory>

#include "chat/rank_template.h"
#include "engine/answers/answers.h"
#include "engine/answers/drafting.h"
#include "engine/answers/mask_finder.h"
#include "engine/answers/queue_usage.h"
#include "engine/answers/request_table.h"
#include "engine/drive/driver.h"
#include "engine/drive/idle_release.h"
#include "engine/drive/statistics.h"
#include "engine/drive/step.h"
#include "engine/request_check.h"
#include "engine/request_maker.h"
#include "engine/resources_impl.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/scheduler.h"
#include "engine/text/engine_constraints.h"
#include "engine/text/model_tokenizer.h"
#include "engine/text/sampling_defaults.h"
#include "kv/kv_cache_manager.h"
#include "model/model_runner.h"

namespace octavo {

/// The parts of an engine. Members are destroyed last to first: a runner may refer to the resources and the file.
struct EngineParts {
  std::unique_ptr<const ModelSource> source;        // the runner's views point into it; null if weights are packed
  std::unique_ptr<const ModelSource> draft_source;  // of a draft file, the same; null without one
  std::shared_ptr<Resources> resources;
  ModelTokenizer words;
  std::unique_ptr<ModelRunner> runner;
  ModelInfo info;  // max_context: the model's and the options'; the engine lowers it to what the KV memory holds
  bool prefix_cache = true;
  bool profile = false;  // steps are timed by part
  RankTemplate rank_template;
  SamplingDefaults sampling_defaults;
  Scheduler::Limits limits;
  DraftOptions draft = {};
  IdleRelease::Times idle = {};
  QueueUsage::Bounds queue_bounds;  // of requests that were never admitted
};

class EngineImpl final : public Engine {
 public:
  /// Errors: a KV memory that cannot hold two tokens.
  static Result<std::unique_ptr<EngineImpl>> create(EngineParts parts);

  const ModelInfo& info() const override { return parts_.info; }
  EngineStats stats() const override;
  Result<RequestId> submit(Request request, TokenCallback on_event) override;
  void cancel(RequestId id) override;
  bool step() override { return driver_.step(); }
  void run_until(std::stop_token stop) override { driver_.run_until(stop, parts_.idle); }
  void drain() override { driver_.drain(); }
  void release_memory(bool cached) override { driver_.release_memory(cached); }
  /// Times a few steps on made-up tokens, for the cost model: before the first request, and as long as no stop is asked
  /// for.
  void calibrate(const std::stop_token& stop = {});

  Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const override;
  std::string detokenize(std::span<const TokenId> tokens) const override;
  std::string vocabulary_text(TokenId token) const override;
  Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages,
                                                   const ChatTemplateOptions& options) const override;
  Result<EmbeddingPrompt> embedding_prompt(std::string_view text, const EmbeddingPromptOptions& options) const override;
  Result<EmbeddingPrompt> rank_prompt(std::string_view query, std::string_view document,
                                      const EmbeddingPromptOptions& options) const override;
  Result<InfillPrompt> infill_prompt(const InfillText& text, std::size_t max_tokens) const override;
  Result<ChatPrompt> chat_prompt(std::span<const ChatMessage> messages,
                                 const ChatTemplateOptions& options) const override;
  Result<std::string> render_chat_template(std::span<const ChatMessage> messages,
                                           const ChatTemplateOptions& options) const override;
  Result<std::shared_ptr<const Constraint>> compile_constraint(const ConstraintSource& source,
                                                               const std::stop_token& stop = {}) const override;
  std::shared_ptr<const void> find_dry_breakers(const SamplingParams& params) const override {
    return maker_.find_dry_breakers(params);
  }
  SamplingParams default_sampling(SamplingParams defaults) const override;

  /// The manager of the runner's memory.
  const KvCacheManager& kv() const { return *kv_; }
  /// The KV cache is in order, and every sequence agrees with them. At any time; after every step where
  /// OCTAVO_INTEGRITY_CHECKS is set.
  Result<void> check_integrity() const { return requests_.check_integrity(); }

 private:
  EngineImpl(EngineParts parts, std::unique_ptr<KvCacheManager> kv);
  StepParts step_parts();
  /// The options with the context as the most tokens.
  EmbeddingPromptOptions limited(EmbeddingPromptOptions options) const;

  EngineParts parts_;
  const std::unique_ptr<KvCacheManager> kv_;  // of the runner's memory
  const int num_drawable_;
  CostModel cost_;
  QueueUsage queue_;  // outlives the requests
  Scheduler scheduler_;
  StepPlan plan_;  // of the step in flight
  Statistics statistics_;
  Drafting drafting_;
  RequestTable requests_;
  MaskFinder masks_;
  Answers answers_;
  Inbox inbox_;
  Step step_;
  Driver driver_;

  const RequestLimits request_limits_;
  const RequestMaker maker_;
  mutable EngineConstraints constraints_;
  std::atomic<RequestId> next_id_ = 1;
};

}  // namespace octavo

// The events that callers get: drawn tokens become events, requests end, prompts report their progress.
//
// Owned by the engine; only the thread that drives it may call it. Every function here may call a caller's callback,
// which may submit and cancel: afterwards, pointers to other requests may be those of retired ones.
#pragma once

#include "engine/answers/mask_finder.h"
#include "engine/answers/request_table.h"
#include "engine/schedule/step_plan.h"
#include "model/model_runner.h"

namespace octavo {

class Answers {
 public:
  using Clock = Choice::Clock;

  /// All references must outlive it. Generated tokens are counted in `counts`.
  Answers(const ModelTokenizer& words, const ModelRunner& runner, RequestTable& requests, MaskFinder& masks,
          EngineStats& counts)
      : words_(words), runner_(runner), requests_(requests), masks_(masks), counts_(counts) {}

  /// Appends a sampled token to its choice, and tokens that must follow it without a draw; tells the caller of each.
  void append(const Sample& sample);
  /// Ends a request that generates nothing once its prompt is computed.
  void end_without_draw(const Sequence& sequence);
  /// Hands out prompt logits: for the `rows` of the plan, their `logits`, `vocab_size` each.
  void deliver_prompt_logits(const StepPlan& plan, std::span<const LogitRow> rows, std::span<const float> logits,
                             int vocab_size);
  /// Hands out vectors: the plan's `rows` as the runner has them, [rows][width], where each row is a vector; and the
  /// results of pooling. A request with a number that is not finite ends.
  void deliver_vectors(const StepPlan& plan, std::span<const LogitRow> rows, std::span<const float> hidden);
  /// Reports how far prompts have come. Prompts without rows in this step are among them, as others may have computed
  /// some of their tokens, or an encoder their pictures. `now`: when the step's tokens were drawn.
  void report_progress(const Scheduler& scheduler, Clock::time_point now);

  /// Ends all choices of a request: the blocks of all are free before the caller hears of the first end.
  void end(ActiveRequest& request, FinishReason reason);
  /// Ends the requests whose deadline has passed. Whether there were any.
  bool end_expired(Clock::time_point now);
  /// Sends the last events of choices that have not begun.
  static void emit_before_start(ActiveRequest& request, FinishReason reason);

 private:
  static void tell_resumed(ActiveRequest& request, const Choice& choice);
  void end_without_token(ActiveRequest& request, const Choice& choice);
  void append_to(ActiveRequest& request, Choice& choice, const SampledToken& sampled,
                 std::span<const TokenLogprob> top_logprobs);
  FinishReason pin(ActiveRequest& request);
  static void emit(ActiveRequest& request, const Choice& choice, TokenEvent event);

  const ModelTokenizer& words_;
  const ModelRunner& runner_;
  RequestTable& requests_;
  MaskFinder& masks_;
  EngineStats& counts_;
};

}  // namespace octavo

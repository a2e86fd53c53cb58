#include "server/model_metrics.h"

#include <algorithm>

namespace octavo::server {
namespace {

using prometheus::Histogram;
using prometheus::Registry;

Histogram::BucketBoundaries second_buckets() {  // for whole requests
  return {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500};
}
Histogram::BucketBoundaries step_buckets() {  // for a step, or a token
  return {0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5};
}
Histogram::BucketBoundaries token_buckets() {
  return {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
}

Histogram& histogram(Registry& registry, const std::string& model, const std::string& name, const std::string& help,
                     const Histogram::BucketBoundaries& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({{"model_name", model}}, buckets);
}

}  // namespace

ModelMetrics::ModelMetrics(Registry& registry, const std::string& id)
    : id_(id),
      first_token_(histogram(registry, id, "octavo:time_to_first_token_seconds", "From a request to its first token",
                             second_buckets())),
      between_tokens_(histogram(registry, id, "octavo:inter_token_latency_seconds",
                                "From one token of a choice to the next", step_buckets())),
      end_to_end_(
          histogram(registry, id, "octavo:e2e_request_latency_seconds", "From a request to its end", second_buckets())),
      queue_(histogram(registry, id, "octavo:request_queue_time_seconds", "Before the first step", second_buckets())),
      prefill_(histogram(registry, id, "octavo:request_prefill_time_seconds", "Steps that computed the prompt",
                         second_buckets())),
      decode_(histogram(registry, id, "octavo:request_decode_time_seconds", "Steps that computed the answer",
                        second_buckets())),
      step_(histogram(registry, id, "octavo:step_time_seconds", "Real time of a step of the engine", step_buckets())),
      predicted_step_(histogram(registry, id, "octavo:predicted_step_time_seconds",
                                "Time that a step was predicted to take", step_buckets())),
      prompt_tokens_(histogram(registry, id, "octavo:request_prompt_tokens", "Tokens of the prompt", token_buckets())),
      generated_tokens_(
          histogram(registry, id, "octavo:request_generation_tokens", "Tokens of the answer", token_buckets())),
      finished_(prometheus::BuildCounter()
                    .Name("octavo:request_success_total")
                    .Help("Choices that have ended, by the reason")
                    .Register(registry)),
      loads_(prometheus::BuildCounter()
                 .Name("octavo:model_loads_total")
                 .Help("Times that a model was loaded")
                 .Register(registry)
                 .Add({{"model_name", id}})) {}

void ModelMetrics::observe_finished(FinishReason reason, const RequestStats& stats) {
  finished_.Add({{"model_name", id_}, {"finished_reason", std::string(finish_reason_name(reason))}}).Increment();
  end_to_end_.Observe(stats.total_s);
  queue_.Observe(stats.queued_s);
  prefill_.Observe(stats.prefill_s);
  decode_.Observe(stats.decode_s);
  prompt_tokens_.Observe(stats.prompt_tokens);
  generated_tokens_.Observe(stats.generated_tokens);
}

void ModelMetrics::observe_steps(const EngineStats& stats) {
  if (stats.steps < num_steps_) num_steps_ = 0, step_s_ = predicted_step_s_ = 0;
  if (stats.steps > num_steps_ && stats.step_s > step_s_) {
    const std::uint64_t others = stats.steps - num_steps_ - 1;
    if (others > 0) {
      const double n = static_cast<double>(others);
      const double step = std::max(0.0, stats.step_s - step_s_ - stats.last_step_s) / n;
      const double predicted =
          std::max(0.0, stats.predicted_step_s - predicted_step_s_ - stats.last_predicted_step_s) / n;
      for (std::uint64_t i = 0; i < others; ++i) {
        step_.Observe(step);
        predicted_step_.Observe(predicted);
      }
    }
    step_.Observe(stats.last_step_s);
    predicted_step_.Observe(stats.last_predicted_step_s);
  }
  num_steps_ = stats.steps;
  step_s_ = stats.step_s;
  predicted_step_s_ = stats.predicted_step_s;
}

}  // namespace octavo::server

// The figures of one model in /metrics: histograms of its requests and its steps.
//
// Owned by the Metrics; the I/O thread.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <string>

#include "octavo/engine.h"
#include "server/load_report.h"

namespace octavo::server {

class ModelMetrics {
 public:
  /// `id` is the value of the label model_name. The registry must outlive this.
  ModelMetrics(prometheus::Registry& registry, const std::string& id);

  void observe_first_token(double seconds) { first_token_.Observe(seconds); }
  void observe_between_tokens(double seconds) { between_tokens_.Observe(seconds); }
  /// Counts a choice that has ended.
  void observe_finished(FinishReason reason, const RequestStats& stats);
  /// Counts the steps since the last call. Only the last step's time is known; the others count with their mean. An
  /// engine with fewer steps than the last one had is a new one.
  void observe_steps(const EngineStats& stats);
  /// Measures how fast answers grow.
  void observe_rate(const EngineStats& stats, TokenRate::Clock::time_point now) {
    rate_.observe(stats.generated_tokens, now);
  }
  double tokens_per_s() const { return rate_.tokens_per_s(); }
  /// Sets how often the model was loaded.
  void set_loads(std::uint64_t count) { loads_.Increment(static_cast<double>(count) - loads_.Value()); }

 private:
  const std::string id_;
  prometheus::Histogram &first_token_, &between_tokens_, &end_to_end_, &queue_, &prefill_, &decode_, &step_,
      &predicted_step_, &prompt_tokens_, &generated_tokens_;
  prometheus::Family<prometheus::Counter>& finished_;
  prometheus::Counter& loads_;
  // The state after the last observe_steps().
  std::uint64_t num_steps_ = 0;
  double step_s_ = 0, predicted_step_s_ = 0;
  TokenRate rate_;
};

}  // namespace octavo::server

#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace octavo::server {
namespace {

using prometheus::ClientMetric;
using prometheus::Histogram;
using prometheus::MetricFamily;
using prometheus::MetricType;

Histogram::BucketBoundaries second_buckets() {  // of whole requests
  return {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500};
}
Histogram::BucketBoundaries step_buckets() {  // of a step, or of a token
  return {0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5};
}
Histogram::BucketBoundaries token_buckets() {
  return {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
}

struct Figure {
  const char* name;
  const char* help;
  MetricType type;
  double value;
};

std::vector<Figure> figures(const EngineStats& stats) {
  const KvStats& kv = stats.kv;
  const double used =
      kv.blocks_total == 0 ? 0 : static_cast<double>(kv.blocks_referenced) / static_cast<double>(kv.blocks_total);
  const auto count = [](auto value) { return static_cast<double>(value); };
  const MetricType gauge = MetricType::Gauge;
  const MetricType counter = MetricType::Counter;
  return {
      {"octavo:num_requests_running", "Sequences that advance", gauge, count(stats.running)},
      {"octavo:num_requests_waiting", "Sequences that wait for memory or a seat", gauge, count(stats.waiting)},
      {"octavo:kv_cache_usage_perc", "Share of the KV blocks that sequences hold; 1 is all", gauge, used},
      {"octavo:kv_blocks_total", "KV blocks that there are", gauge, count(kv.blocks_total)},
      {"octavo:kv_blocks_referenced", "KV blocks that sequences hold", gauge, count(kv.blocks_referenced)},
      {"octavo:kv_blocks_cached", "KV blocks that only the prefix cache holds", gauge, count(kv.blocks_cached)},
      {"octavo:kv_checkpoints", "Recurrent states that the prefix cache keeps", gauge, count(kv.checkpoints)},
      {"octavo:kv_resident_bytes", "Memory that KV blocks have taken and not given back to the system", gauge,
       count(kv.resident_bytes)},
      {"octavo:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache", counter,
       count(kv.hits + kv.misses)},
      {"octavo:prefix_cache_hits_total", "Prompt tokens found in the prefix cache", counter, count(kv.hits)},
      {"octavo:prefix_cache_evictions_total", "Cached blocks whose contents were given up", counter,
       count(kv.evictions)},
      {"octavo:num_preemptions_total", "Times a sequence stopped to make room for others, to go on later", counter,
       count(stats.preemptions)},
      {"octavo:preempted_blocks_total", "KV blocks that others took from such sequences", counter,
       count(stats.preempted_blocks)},
      {"octavo:prompt_tokens_total", "Prompt tokens of admitted requests", counter, count(stats.prompt_tokens)},
      {"octavo:generation_tokens_total", "Tokens given to clients", counter, count(stats.generated_tokens)},
      {"octavo:computed_tokens_total", "Tokens that went through the model", counter, count(stats.computed_tokens)},
      {"octavo:shared_tokens_total", "Prompt tokens that another request's work was used for", counter,
       count(stats.cached_tokens)},
      {"octavo:diverged_prompts_total",
       "Prompts that part from what earlier requests of the same client have computed, where those go on", counter,
       count(stats.diverged_prompts)},
      {"octavo:engine_steps_total", "Steps of the engine", counter, count(stats.steps)},
      {"octavo:step_prediction_error_seconds_total", "Sum of |real - predicted| of the steps' times", counter,
       stats.step_error_s},
  };
}

}  // namespace

struct Metrics::State {
  Histogram& histogram(const std::string& name, const std::string& help, const Histogram::BucketBoundaries& buckets) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({{"model_name", model}}, buckets);
  }
  prometheus::Gauge& gauge(const std::string& name, const std::string& help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }
  prometheus::Counter& counter(const std::string& name, const std::string& help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
  }

  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>* http_requests = nullptr;
  prometheus::Gauge* connections = nullptr;
  prometheus::Gauge* held_bytes = nullptr;
  prometheus::Counter* failures = nullptr;
  prometheus::Counter* dropped_log_lines = nullptr;
  prometheus::Gauge* received = nullptr;
  std::string model;
  // From set_model() on
  Histogram *first_token = nullptr, *between_tokens = nullptr, *end_to_end = nullptr, *queue = nullptr,
            *prefill = nullptr, *decode = nullptr, *step = nullptr, *predicted_step = nullptr, *prompt_tokens = nullptr,
            *generated_tokens = nullptr;
  prometheus::Family<prometheus::Counter>* finished = nullptr;
  // As of the last observe_steps()
  std::uint64_t steps = 0;
  double step_s = 0, predicted_step_s = 0;
};

Metrics::Metrics() : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.http_requests = &prometheus::BuildCounter()
                         .Name("octavo:http_requests_total")
                         .Help("HTTP requests that were answered, by route and status")
                         .Register(s.registry);
  s.connections = &s.gauge("octavo:http_connections", "Open connections");
  s.received = &s.gauge("octavo:http_received_bytes", "Bytes of requests that were received and are not yet parsed");
  s.held_bytes = &s.gauge("octavo:held_answer_bytes", "Bytes of answers that are made whole, until they are written");
  s.failures = &s.counter("octavo:server_failures_total",
                          "Times the server had no memory to accept or to watch connections, and went on");
  s.dropped_log_lines =
      &s.counter("octavo:access_log_dropped_lines_total", "Lines of the access log that nobody took in time");
}

Metrics::~Metrics() = default;

void Metrics::set_model(const std::string& id) {
  State& s = *state_;
  s.model = id;
  s.first_token =
      &s.histogram("octavo:time_to_first_token_seconds", "From a request to its first token", second_buckets());
  s.between_tokens =
      &s.histogram("octavo:inter_token_latency_seconds", "From one token of a choice to the next", step_buckets());
  s.end_to_end = &s.histogram("octavo:e2e_request_latency_seconds", "From a request to its end", second_buckets());
  s.queue = &s.histogram("octavo:request_queue_time_seconds", "Before the first step", second_buckets());
  s.prefill = &s.histogram("octavo:request_prefill_time_seconds", "Steps that computed the prompt", second_buckets());
  s.decode = &s.histogram("octavo:request_decode_time_seconds", "Steps that computed the answer", second_buckets());
  s.step = &s.histogram("octavo:step_time_seconds", "Real time of a step of the engine", step_buckets());
  s.predicted_step =
      &s.histogram("octavo:predicted_step_time_seconds", "Time that a step was predicted to take", step_buckets());
  s.prompt_tokens = &s.histogram("octavo:request_prompt_tokens", "Tokens of the prompt", token_buckets());
  s.generated_tokens = &s.histogram("octavo:request_generation_tokens", "Tokens of the answer", token_buckets());
  s.finished = &prometheus::BuildCounter()
                    .Name("octavo:request_success_total")
                    .Help("Choices that have ended, by the reason")
                    .Register(s.registry);
}

void Metrics::count_http(std::string_view route, int status) {
  state_->http_requests->Add({{"route", std::string(route)}, {"status", std::to_string(status)}}).Increment();
}

void Metrics::set_connections(std::size_t count) { state_->connections->Set(static_cast<double>(count)); }
void Metrics::set_received(std::uint64_t num_bytes) { state_->received->Set(static_cast<double>(num_bytes)); }

void Metrics::set_held_bytes(std::uint64_t bytes) { state_->held_bytes->Set(static_cast<double>(bytes)); }
void Metrics::count_failure() noexcept { state_->failures->Increment(); }

void Metrics::set_dropped_log_lines(std::uint64_t count) {
  prometheus::Counter& counter = *state_->dropped_log_lines;
  counter.Increment(static_cast<double>(count) - counter.Value());
}

void Metrics::observe_first_token(double seconds) { state_->first_token->Observe(seconds); }
void Metrics::observe_between_tokens(double seconds) { state_->between_tokens->Observe(seconds); }

void Metrics::observe_finished(FinishReason reason, const RequestStats& stats) {
  State& s = *state_;
  s.finished->Add({{"model_name", s.model}, {"finished_reason", std::string(finish_reason_name(reason))}}).Increment();
  s.end_to_end->Observe(stats.total_s);
  s.queue->Observe(stats.queued_s);
  s.prefill->Observe(stats.prefill_s);
  s.decode->Observe(stats.decode_s);
  s.prompt_tokens->Observe(stats.prompt_tokens);
  s.generated_tokens->Observe(stats.generated_tokens);
}

void Metrics::observe_steps(const EngineStats& stats) {
  State& s = *state_;
  if (stats.steps > s.steps && stats.step_s > s.step_s) {
    const std::uint64_t others = stats.steps - s.steps - 1;
    if (others > 0) {
      const double n = static_cast<double>(others);
      const double step = std::max(0.0, stats.step_s - s.step_s - stats.last_step_s) / n;
      const double predicted =
          std::max(0.0, stats.predicted_step_s - s.predicted_step_s - stats.last_predicted_step_s) / n;
      for (std::uint64_t i = 0; i < others; ++i) {
        s.step->Observe(step);
        s.predicted_step->Observe(predicted);
      }
    }
    s.step->Observe(stats.last_step_s);
    s.predicted_step->Observe(stats.last_predicted_step_s);
  }
  s.steps = stats.steps;
  s.step_s = stats.step_s;
  s.predicted_step_s = stats.predicted_step_s;
}

std::string Metrics::text(const EngineStats* stats) const {
  std::vector<MetricFamily> families = state_->registry.Collect();
  if (stats != nullptr) {
    for (const Figure& figure : figures(*stats)) {
      ClientMetric metric;
      metric.label = {{"model_name", state_->model}};
      (figure.type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) = figure.value;
      families.push_back({.name = figure.name, .help = figure.help, .type = figure.type, .metric = {metric}});
    }
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

}  // namespace octavo::server

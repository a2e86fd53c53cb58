#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "server/model_metrics.h"

namespace octavo::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct Figure {
  const char* name;
  const char* help;
  MetricType type;
  double value;
};

double count(auto value) { return static_cast<double>(value); }

constexpr MetricType kGauge = MetricType::Gauge, kCounter = MetricType::Counter;

std::vector<Figure> kv_figures(const KvStats& kv, const KvStoreCounts& store) {
  const double used =
      kv.blocks_total == 0 ? 0 : static_cast<double>(kv.blocks_referenced) / static_cast<double>(kv.blocks_total);
  return {
      {"octavo:kv_cache_usage_perc", "Share of the KV blocks that sequences hold; 1 is all", kGauge, used},
      {"octavo:kv_blocks_total", "KV blocks that there are", kGauge, count(kv.blocks_total)},
      {"octavo:kv_blocks_referenced", "KV blocks that sequences hold", kGauge, count(kv.blocks_referenced)},
      {"octavo:kv_blocks_cached", "KV blocks that only the prefix cache holds", kGauge, count(kv.blocks_cached)},
      {"octavo:kv_checkpoints", "Recurrent states that the prefix cache keeps", kGauge, count(kv.checkpoints)},
      {"octavo:kv_resident_bytes", "Memory that KV blocks have taken and not given back to the system", kGauge,
       count(kv.resident_bytes)},
      {"octavo:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache", kCounter,
       count(kv.hits + kv.misses)},
      {"octavo:prefix_cache_hits_total", "Prompt tokens found in the prefix cache", kCounter, count(kv.hits)},
      {"octavo:prefix_cache_evictions_total", "Cached blocks whose contents were given up", kCounter,
       count(kv.evictions)},
      {"octavo:kv_store_hits_total", "Reads of prefixes from disk that brought their blocks", kCounter,
       count(store.hits)},
      {"octavo:kv_store_misses_total", "Reads of prefixes from disk that did not", kCounter, count(store.misses)},
      {"octavo:kv_store_corrupt_total", "Damaged files of prefixes that were found", kCounter, count(store.corrupt)},
      {"octavo:kv_store_writes_total", "Files of prefixes that were written", kCounter, count(store.writes)},
      {"octavo:kv_store_evictions_total", "Files of prefixes that made room for others", kCounter,
       count(store.evictions)},
      {"octavo:kv_store_bytes", "Bytes of all files of prefixes in the directory", kGauge, count(store.bytes)},
      {"octavo:kv_store_read_seconds_total", "Time of reads of prefixes", kCounter, store.read_s},
      {"octavo:kv_store_predicted_read_seconds_total", "Time that those reads were expected to take", kCounter,
       store.predicted_read_s},
      {"octavo:kv_store_write_seconds_total", "Time of writes of prefixes", kCounter, store.write_s},
      {"octavo:kv_store_write_cpu_seconds_total", "Processor time of writes of prefixes", kCounter, store.write_cpu_s},
      {"octavo:kv_store_refused_total", "Writes of prefixes that had no time, no room or no disk", kCounter,
       count(store.refused)},
  };
}

std::vector<Figure> picture_figures(const PictureCounts& pictures) {
  return {
      {"octavo:pictures_encoded_total", "Pictures whose vectors were computed", kCounter, count(pictures.encoded)},
      {"octavo:pictures_found_total", "Pictures of requests that were known already, from others", kCounter,
       count(pictures.found)},
      {"octavo:picture_encode_seconds_total", "Time of computing vectors of pictures", kCounter, pictures.encode_s},
      {"octavo:picture_bytes", "Memory of vectors of pictures", kGauge, count(pictures.bytes)},
  };
}

std::vector<Figure> work_figures(const EngineStats& stats) {
  return {
      {"octavo:num_preemptions_total", "Times a sequence stopped to make room for others, to go on later", kCounter,
       count(stats.preemptions)},
      {"octavo:preempted_blocks_total", "KV blocks that others took from such sequences", kCounter,
       count(stats.preempted_blocks)},
      {"octavo:constraint_bytes", "Memory of the automata of constraints, kept or held by requests", kGauge,
       count(stats.constraint_bytes)},
      {"octavo:constraint_mask_bytes", "Memory of the masks that were found for them", kGauge, count(stats.mask_bytes)},
      {"octavo:prompt_tokens_total", "Prompt tokens of admitted requests", kCounter, count(stats.prompt_tokens)},
      {"octavo:generation_tokens_total", "Tokens given to clients", kCounter, count(stats.generated_tokens)},
      {"octavo:computed_tokens_total", "Tokens that went through the model", kCounter, count(stats.computed_tokens)},
      {"octavo:shared_tokens_total", "Prompt tokens that another request's work was used for", kCounter,
       count(stats.cached_tokens)},
      {"octavo:diverged_prompts_total",
       "Prompts that part from what earlier requests of the same client have computed, where those go on", kCounter,
       count(stats.diverged_prompts)},
      {"octavo:spec_decode_num_drafts_total", "Times that drafted tokens of an answer had rows in a step", kCounter,
       count(stats.drafts)},
      {"octavo:spec_decode_num_draft_tokens_total", "These tokens", kCounter, count(stats.drafted_tokens)},
      {"octavo:spec_decode_num_accepted_tokens_total", "Of these, tokens that were drawn then", kCounter,
       count(stats.accepted_draft_tokens)},
      {"octavo:engine_steps_total", "Steps of the engine", kCounter, count(stats.steps)},
      {"octavo:step_prediction_error_seconds_total", "Sum of |real - predicted| of the steps' times", kCounter,
       stats.step_error_s},
  };
}

std::vector<Figure> figures(const EngineStats& stats) {
  std::vector<Figure> all = {
      {"octavo:num_requests_running", "Sequences that advance", kGauge, count(stats.running)},
      {"octavo:num_requests_waiting", "Sequences that wait for memory or for others to end", kGauge,
       count(stats.waiting)},
      {"octavo:threads", "Threads that compute", kGauge, count(stats.threads)},
  };
  for (const std::vector<Figure>& more :
       {kv_figures(stats.kv, stats.kv_store), picture_figures(stats.pictures), work_figures(stats)})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

MetricFamily accepted_drafts(std::span<const ModelStats> models) {
  MetricFamily family{.name = "octavo:spec_decode_num_accepted_tokens_per_pos_total",
                      .help = "Drafted tokens that were drawn, by their place in the draft",
                      .type = MetricType::Counter,
                      .metric = {}};
  for (const ModelStats& model : models) {
    for (std::size_t i = 0; i < model.stats.accepted_drafts_at.size(); ++i) {
      ClientMetric metric;
      metric.label = {{"model_name", model.id}, {"position", std::to_string(i)}};
      metric.counter.value = static_cast<double>(model.stats.accepted_drafts_at[i]);
      family.metric.push_back(std::move(metric));
    }
  }
  return family;
}

/// The size of the KV memory, as labels: vLLM has it in this form.
MetricFamily caches(std::span<const ModelStats> models) {
  MetricFamily family{.name = "octavo:cache_config_info",
                      .help = "The KV memory: tokens in a block, and blocks; 1",
                      .type = MetricType::Gauge,
                      .metric = {}};
  for (const ModelStats& model : models) {
    ClientMetric metric;
    metric.label = {{"model_name", model.id},
                    {"block_size", std::to_string(model.block_size)},
                    {"num_gpu_blocks", std::to_string(model.stats.kv.blocks_total)},
                    {"enable_prefix_caching", "True"}};
    metric.gauge.value = 1;
    family.metric.push_back(std::move(metric));
  }
  return family;
}

MetricFamily devices(std::span<const ModelStats> models) {
  MetricFamily family{.name = "octavo:device_up",
                      .help = "Whether the device that computes a model's layers has not failed; 1 is yes",
                      .type = MetricType::Gauge,
                      .metric = {}};
  for (const ModelStats& model : models) {
    ClientMetric metric;
    metric.label = {{"model_name", model.id}, {"device", model.device}};
    metric.gauge.value = model.stats.fault.empty() ? 1 : 0;
    family.metric.push_back(std::move(metric));
  }
  return family;
}

}  // namespace

struct Metrics::State {
  prometheus::Gauge& gauge(const std::string& name, const std::string& help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }
  prometheus::Counter& counter(const std::string& name, const std::string& help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
  }

  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>*http_requests = nullptr, *pulls = nullptr;
  prometheus::Gauge *connections = nullptr, *held_bytes = nullptr, *stored_bytes = nullptr, *received = nullptr,
                    *waiting_to_compile = nullptr, *model_memory = nullptr;
  prometheus::Counter *failures = nullptr, *dropped_log_lines = nullptr, *pulled_bytes = nullptr;
  std::map<std::string, ModelMetrics> models;  // by their ids
};

Metrics::Metrics() : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.http_requests = &prometheus::BuildCounter()
                         .Name("octavo:http_requests_total")
                         .Help("HTTP requests that were answered, by route and status")
                         .Register(s.registry);
  s.pulls =
      &prometheus::BuildCounter()
           .Name("octavo:model_pulls_total")
           .Help("Models that clients wanted fetched, by what came of it: done, failed, or stopped as all had left")
           .Register(s.registry);
  for (const char* outcome : {"done", "failed", "stopped"}) s.pulls->Add({{"outcome", outcome}});
  s.pulled_bytes = &s.counter("octavo:model_pulled_bytes_total", "Bytes that were written of these models");
  s.connections = &s.gauge("octavo:http_connections", "Open connections");
  s.received = &s.gauge("octavo:http_received_bytes", "Bytes of requests that were received and are not yet parsed");
  s.waiting_to_compile = &s.gauge("octavo:compiling_waiting", "Requests whose constraints wait to be compiled");
  s.held_bytes = &s.gauge("octavo:held_answer_bytes", "Bytes of answers that are made whole, until they are written");
  s.stored_bytes = &s.gauge("octavo:stored_response_bytes", "Bytes of responses that later ones may go on with");
  s.model_memory = &s.gauge("octavo:model_memory_bytes", "Weights and KV memory of the models in memory, at most");
  s.failures = &s.counter("octavo:server_failures_total",
                          "Times the server had no memory to accept or to watch connections, and went on");
  s.dropped_log_lines = &s.counter("octavo:access_log_dropped_lines_total", "Lines of the access log that were lost");
}

Metrics::~Metrics() = default;

ModelMetrics& Metrics::of_model(const std::string& id) {
  return state_->models.try_emplace(id, state_->registry, id).first->second;
}

void Metrics::count_http(std::string_view route, int status) {
  state_->http_requests->Add({{"route", std::string(route)}, {"status", std::to_string(status)}}).Increment();
}

void Metrics::set_connections(std::size_t count) { state_->connections->Set(static_cast<double>(count)); }
void Metrics::set_received(std::uint64_t num_bytes) { state_->received->Set(static_cast<double>(num_bytes)); }
void Metrics::set_waiting_to_compile(std::size_t count) { state_->waiting_to_compile->Set(static_cast<double>(count)); }
void Metrics::set_held_bytes(std::uint64_t bytes) { state_->held_bytes->Set(static_cast<double>(bytes)); }
void Metrics::set_stored_bytes(std::uint64_t bytes) { state_->stored_bytes->Set(static_cast<double>(bytes)); }
void Metrics::set_model_memory(std::uint64_t bytes) { state_->model_memory->Set(static_cast<double>(bytes)); }
void Metrics::count_failure() noexcept { state_->failures->Increment(); }

void Metrics::count_pull(const std::string& outcome) { state_->pulls->Add({{"outcome", outcome}}).Increment(); }

void Metrics::set_pulled_bytes(std::uint64_t bytes) {
  state_->pulled_bytes->Increment(static_cast<double>(bytes) - state_->pulled_bytes->Value());
}

void Metrics::set_dropped_log_lines(std::uint64_t count) {
  prometheus::Counter& counter = *state_->dropped_log_lines;
  counter.Increment(static_cast<double>(count) - counter.Value());
}

std::string Metrics::text(std::span<const ModelStats> models, MetricsNames names) const {
  std::vector<MetricFamily> families = state_->registry.Collect();
  const std::size_t begin = families.size();
  for (const ModelStats& model : models) {
    const std::vector<Figure> list = figures(model.stats);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Figure& figure = list[i];
      if (families.size() <= begin + i)
        families.push_back({.name = figure.name, .help = figure.help, .type = figure.type, .metric = {}});
      ClientMetric metric;
      metric.label = {{"model_name", model.id}};
      (figure.type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) = figure.value;
      families[begin + i].metric.push_back(std::move(metric));
    }
  }
  if (!models.empty()) families.push_back(accepted_drafts(models));
  if (!models.empty()) families.push_back(devices(models));
  if (!models.empty()) families.push_back(caches(models));
  name_metrics(families, names);
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

}  // namespace octavo::server

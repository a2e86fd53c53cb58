#include "server/metrics_names.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace octavo::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

constexpr std::string_view kOwnPrefix = "octavo:", kVllmPrefix = "vllm:";
constexpr std::string_view kEndedFamily = "request_success_total", kReasonLabel = "finished_reason";

/// The families that vLLM has too, without their prefix.
constexpr std::string_view kShared[] = {
    "num_requests_running",
    "num_requests_waiting",
    "kv_cache_usage_perc",
    "prefix_cache_queries_total",
    "prefix_cache_hits_total",
    "num_preemptions_total",
    "prompt_tokens_total",
    "generation_tokens_total",
    "time_to_first_token_seconds",
    "inter_token_latency_seconds",
    "e2e_request_latency_seconds",
    "request_queue_time_seconds",
    "request_prefill_time_seconds",
    "request_decode_time_seconds",
    "request_prompt_tokens",
    "request_generation_tokens",
    kEndedFamily,
    "spec_decode_num_drafts_total",
    "spec_decode_num_draft_tokens_total",
    "spec_decode_num_accepted_tokens_total",
    "spec_decode_num_accepted_tokens_per_pos_total",
    "cache_config_info",
};

/// vLLM's names of reasons; any other one is an error.
constexpr std::pair<std::string_view, std::string_view> kReasons[] = {
    {"stop", "stop"},      {"constraint", "stop"}, {"length", "length"},
    {"context", "length"}, {"cancelled", "abort"}, {"deadline", "abort"},
};

bool is_shared(std::string_view name) {
  return name.starts_with(kOwnPrefix) &&
         std::ranges::find(kShared, name.substr(kOwnPrefix.size())) != std::end(kShared);
}

std::string vllm_reason(std::string_view own) {
  const auto* const row = std::ranges::find(kReasons, own, &std::pair<std::string_view, std::string_view>::first);
  return std::string(row == std::end(kReasons) ? "error" : row->second);
}

/// Gives the reasons vLLM's names, and adds up those that become one.
void rename_reasons(std::vector<ClientMetric>& metrics) {
  std::vector<ClientMetric> renamed;
  for (ClientMetric& metric : metrics) {
    for (auto& label : metric.label)
      if (label.name == kReasonLabel) label.value = vllm_reason(label.value);
    const auto same = std::ranges::find(renamed, metric.label, &ClientMetric::label);
    if (same == renamed.end()) {
      renamed.push_back(std::move(metric));
    } else {
      same->counter.value += metric.counter.value;
    }
  }
  metrics = std::move(renamed);
}

MetricFamily as_vllm_has_it(MetricFamily family) {
  const std::string name = family.name.substr(kOwnPrefix.size());
  family.name = std::string(kVllmPrefix) + name;
  if (name == kEndedFamily) rename_reasons(family.metric);
  for (ClientMetric& metric : family.metric) metric.label.push_back({"engine", "0"});
  return family;
}

}  // namespace

void name_metrics(std::vector<MetricFamily>& families, MetricsNames names) {
  if (names == MetricsNames::kOctavo) return;
  const std::size_t count = families.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_shared(families[i].name)) continue;
    MetricFamily other = as_vllm_has_it(families[i]);
    if (names == MetricsNames::kVllm) {
      families[i] = std::move(other);
    } else {
      families.push_back(std::move(other));
    }
  }
}

}  // namespace octavo::server

// The names of metrics that vLLM has too: routers and autoscalers look for them under its prefix.
//
// Free functions without state; any thread.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <vector>

namespace octavo::server {

enum class MetricsNames : std::uint8_t {
  kOctavo,  // all are octavo:
  kVllm,    // metrics that vLLM has are named vllm:, the others octavo:
  kBoth,    // metrics that vLLM has are there under both names
};

/// Renames families, or adds those with vLLM's names. Labels and values are vLLM's: each has the label `engine`, and
/// reasons why answers ended are its own.
void name_metrics(std::vector<prometheus::MetricFamily>& families, MetricsNames names);

}  // namespace octavo::server

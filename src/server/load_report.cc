#include "server/load_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>

#include "json/json_writer.h"
#include "octavo/version.h"

namespace octavo::server {
namespace {

constexpr std::chrono::seconds kMeasured{1};

double kv_usage_of(const KvStats& kv) {
  return kv.blocks_total == 0 ? 0 : static_cast<double>(kv.blocks_referenced) / static_cast<double>(kv.blocks_total);
}

double hit_rate(const KvStats& kv) {
  const std::uint64_t looked_up = kv.hits + kv.misses;
  return looked_up == 0 ? 0 : static_cast<double>(kv.hits) / static_cast<double>(looked_up);
}

void write_waits(JsonWriter& json, const PromptQueue& prompts, std::span<const std::uint64_t> lengths) {
  json.key("predicted_wait").begin_array();
  for (const std::uint64_t length : lengths) {
    json.begin_object().fields("prompt_tokens", length, "tokens_before", prompts.num_before(length));
    if (prompts.token_s > 0) {
      json.fields("seconds", prompts.seconds_before(length));
    } else {
      json.fields("seconds", nullptr);
    }
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void TokenRate::observe(std::uint64_t num_tokens, Clock::time_point now) {
  if (!begin_ || num_tokens < tokens_at_begin_) {
    tokens_per_s_ = 0;
  } else if (now - *begin_ < kMeasured) {
    return;
  } else {
    const double seconds = std::chrono::duration<double>(now - *begin_).count();
    tokens_per_s_ = static_cast<double>(num_tokens - tokens_at_begin_) / seconds;
  }
  begin_ = now;
  tokens_at_begin_ = num_tokens;
}

double LoadReport::kv_usage() const { return kv_usage_of(stats.kv); }

std::uint64_t LoadReport::max_tokens() const {
  if (info.kv_bytes_per_token > 0) return info.kv_arena_bytes / info.kv_bytes_per_token;
  return static_cast<std::uint64_t>(stats.kv.blocks_total) * static_cast<std::uint64_t>(info.block_size);
}

std::string loads_json(const LoadReport& load, std::span<const std::uint64_t> lengths, std::string_view timestamp) {
  const EngineStats& stats = load.stats;
  const double usage = load.kv_usage();
  const double max_tokens = static_cast<double>(load.max_tokens());
  const double running = load.max_running == 0 ? 0 : static_cast<double>(stats.running) / load.max_running;
  std::string out;
  JsonWriter json(out);
  json.begin_object().fields("timestamp", timestamp, "version", OCTAVO_VERSION_STRING, "dp_rank_count", 1);
  json.key("loads").begin_array().begin_object();
  json.fields("dp_rank", 0, "num_running_reqs", stats.running, "num_waiting_reqs", stats.waiting, "num_total_reqs",
              stats.running + stats.waiting, "num_waiting_uncached_tokens", stats.prompts.num_tokens(),
              "num_used_tokens", static_cast<std::uint64_t>(usage * max_tokens), "max_total_num_tokens",
              load.max_tokens(), "token_usage", usage, "gen_throughput", load.tokens_per_s, "cache_hit_rate",
              hit_rate(stats.kv), "utilization", std::min(1.0, std::max(usage, running)), "max_running_requests",
              load.max_running);
  write_waits(json, stats.prompts, lengths);
  json.end_object().end_array().end_object();
  return out;
}

std::string orca_load(std::string_view format, const EngineStats& stats) {
  const double usage = kv_usage_of(stats.kv);
  if (boost::beast::iequals(format, "TEXT"))
    return fmt::format("named_metrics.kv_cache_usage_perc={},named_metrics.num_requests_waiting={}", usage,
                       stats.waiting);
  if (!boost::beast::iequals(format, "JSON")) return {};
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("named_metrics");
  json.object("kv_cache_usage_perc", usage, "num_requests_waiting", stats.waiting).end_object();
  return out;
}

}  // namespace octavo::server

// The load of a model, in the forms in which routers ask for it: SGLang's GET /v1/loads, and the header of ORCA (Open
// Request Cost Aggregation) that vLLM answers with.
//
// Values and free functions; the I/O thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "octavo/engine.h"

namespace octavo::server {

/// Tokens a second, measured over at least a second.
class TokenRate {
 public:
  using Clock = std::chrono::steady_clock;

  /// Notes how many tokens there have been in all. Fewer than before: it counts a new engine.
  void observe(std::uint64_t num_tokens, Clock::time_point now);
  double tokens_per_s() const { return tokens_per_s_; }

 private:
  std::optional<Clock::time_point> begin_;
  std::uint64_t tokens_at_begin_ = 0;
  double tokens_per_s_ = 0;
};

/// The load of one model that is in memory.
struct LoadReport {
  const ModelInfo& info;
  const EngineStats& stats;
  int max_running = 0;      // the most answers that advance in one step
  double tokens_per_s = 0;  // of answers, lately

  /// The share of the KV blocks that sequences hold.
  double kv_usage() const;
  /// The tokens that the KV memory has room for.
  std::uint64_t max_tokens() const;
};

/// The lengths of new prompts for which waits are predicted, unless a query names one.
inline constexpr std::array<std::uint64_t, 4> kPredictedLengths = {128, 1024, 8192, 65536};

/// The body of GET /v1/loads: {"timestamp", "version", "dp_rank_count": 1, "loads": [{"dp_rank": 0, ...}]}, with the
/// predicted waits of prompts of these lengths.
std::string loads_json(const LoadReport& load, std::span<const std::uint64_t> lengths, std::string_view timestamp);

/// The value of the header endpoint-load-metrics in this format: TEXT or JSON, in any case. Empty: another format.
std::string orca_load(std::string_view format, const EngineStats& stats);

}  // namespace octavo::server

// Prompts, and their chunks as text, for the tests of chunked prefill.
#pragma once

#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "octavo/kv/prefill.h"

namespace octavo {

inline std::vector<TokenId> prompt_of(int num_tokens) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(num_tokens));
  std::iota(tokens.begin(), tokens.end(), 1000);
  return tokens;
}

inline PrefillScheduler make(std::span<const TokenId> tokens, const PrefillConfig& config) {
  Result<PrefillScheduler> scheduler = PrefillScheduler::create(tokens, config);
  if (!scheduler) throw std::runtime_error(scheduler.error().message);
  return *scheduler;
}

inline std::vector<PrefillChunk> plan_of(std::span<const TokenId> tokens, const PrefillConfig& config) {
  const Result<PrefillPlan> plan = PrefillPlan::create(tokens, config);
  if (!plan) throw std::runtime_error(plan.error().message);
  return {plan->chunks().begin(), plan->chunks().end()};
}

/// "0-512": positions of a chunk.
inline std::string range(const PrefillChunk& chunk) {
  return std::to_string(chunk.start) + "-" + std::to_string(chunk.end);
}

inline std::vector<std::string> ranges(std::span<const TokenId> tokens, const PrefillConfig& config) {
  std::vector<std::string> result;
  for (const PrefillChunk& chunk : plan_of(tokens, config)) result.push_back(range(chunk));
  return result;
}

}  // namespace octavo

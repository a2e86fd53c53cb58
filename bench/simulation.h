// The engine's scheduler on a virtual clock: real decisions, made-up requests, a formula instead of a model.
//
// The Scheduler and the CostModel are src/engine's, and the KV memory is a manager without bytes. So ten thousand
// requests take seconds. A step lasts as long as a formula says for its rows, give or take some noise. The cost model
// has to learn that from the times alone, as it does on a machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "octavo/engine.h"

namespace octavo::bench {

/// A request of the made-up load.
struct SimulatedRequest {
  double arrival_ms = 0;
  int shared_text = -1;  // the text that its prompt begins with; -1: all its own
  int shared_tokens = 0;
  int prompt_tokens = 0;  // those included
  int answer_tokens = 0;
  int priority = 0;
};

struct LoadShape {
  int num_requests = 10'000;
  double requests_per_s = 1;   // Poisson arrivals
  double sharing = 0.4;        // share of requests that begin with one of num_texts texts
  int num_texts = 8;           // of 256 to 1024 tokens
  double prompt_median = 300;  // log-normal, cut at longest_prompt: a few are very long
  double prompt_sigma = 1.1;   // of the logarithm
  double answer_median = 120;  // log-normal
  double answer_sigma = 0.8;
  int longest_prompt = 6000;
  int longest_answer = 1000;
  double preferred = 0;  // share of requests that have `priority`
  int priority = 4;
  std::uint64_t seed = 1;
};
std::vector<SimulatedRequest> make_load(const LoadShape& shape);

/// The time of a step, in milliseconds: the sum over its work. By default about what SmolLM2-135M takes on two threads
/// with 512-bit integer products.
struct StepFormula {
  double step = 2.2;  // one that computes next to nothing
  double row = 0.2;
  double logit_row = 0.06;
  double kv_megabyte = 0.04;  // read, at 25 GB/s
  double mega_macs = 0.006;   // of attention, at 170 G multiply-adds/s
  double noise = 0.05;        // standard deviation of the logarithm
};

struct SimulationOptions {
  PrefillPriority policy = PrefillPriority::kInterleaved;
  double itl_target_ms = 50;
  int num_blocks = 8192;  // of 16 tokens
  bool prefix_cache = true;
  StepFormula formula = {};
};

struct SimulatedOutcome {
  /// Of one request.
  struct Answer {
    double first_token_ms = 0;  // after its arrival
    double end_ms = 0;
    int priority = 0;
  };
  std::vector<Answer> answers;  // by request
  std::vector<float> gaps_ms;   // between two tokens of an answer, of all answers
  double duration_ms = 0;       // of the whole, on the virtual clock
  std::uint64_t steps = 0, computed_tokens = 0, cached_tokens = 0, preemptions = 0;
  double prediction_error = 0;  // mean of |predicted - real| / real
  double scheduler_us = 0;      // real time of schedule() and accept(), mean of all steps
};
SimulatedOutcome simulate(const std::vector<SimulatedRequest>& load, const SimulationOptions& options);

/// Sorts `values`; the smallest that a share `q` of them does not exceed. 0 if there is none.
template <class T>
T quantile(std::vector<T>& values, double q) {
  if (values.empty()) return T{};
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

}  // namespace octavo::bench

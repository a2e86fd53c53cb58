// Helpers of the scenarios of serve.cc: made-up prompts, requests whose answers and times are recorded, quantiles.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "octavo/engine.h"

namespace octavo::bench {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

[[noreturn]] inline void give_up(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(1);
}

inline std::unique_ptr<Engine> load(const EngineOptions& options) {
  auto engine = Engine::load(options);
  if (!engine) give_up(engine.error().message);
  return std::move(*engine);
}

/// Ordinary tokens, a function of the seed: the first and last ones of a vocabulary may be control tokens.
inline std::vector<TokenId> made_up_tokens(int num_tokens, std::uint64_t seed, int vocab_size) {
  std::mt19937_64 random(seed);
  std::vector<TokenId> tokens(static_cast<std::size_t>(num_tokens));
  const int margin = vocab_size / 16;
  for (TokenId& token : tokens) {
    token = margin + static_cast<TokenId>(random() % static_cast<std::uint64_t>(vocab_size - 2 * margin));
  }
  return tokens;
}

/// A request that was submitted: what it got, and when.
struct Recorded {
  RequestId id = 0;
  Clock::time_point submitted;
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  std::vector<Clock::time_point> times;  // of each token
  FinishReason finish = FinishReason::kNone;
  RequestStats stats;

  bool ended() const { return finish != FinishReason::kNone; }
  bool same_answer(const Recorded& other) const { return tokens == other.tokens && logprobs == other.logprobs; }
  /// Its answer is the beginning of the other's.
  bool begins(const Recorded& other) const {
    return tokens.size() <= other.tokens.size() && std::equal(tokens.begin(), tokens.end(), other.tokens.begin()) &&
           std::equal(logprobs.begin(), logprobs.end(), other.logprobs.begin());
  }
  double first_token_s() const {
    return times.empty() ? 0 : std::chrono::duration<double>(times.front() - submitted).count();
  }
};

/// Submits a request of one choice. `into` must stay where it is until the request has ended.
inline void submit(Engine& engine, Request request, Recorded& into) {
  into.submitted = Clock::now();
  into.tokens.reserve(static_cast<std::size_t>(std::max(0, request.max_tokens)));
  const auto id = engine.submit(std::move(request), [&into](const TokenEvent& event) {
    if (event.token >= 0) {
      into.tokens.push_back(event.token);
      into.logprobs.push_back(event.logprob);
      into.times.push_back(Clock::now());
    }
    if (event.finish == FinishReason::kNone) return;
    into.finish = event.finish;
    into.stats = event.stats;
  });
  if (!id) give_up(id.error().message);
  into.id = *id;
}

/// Its answer with nothing beside it, and the seconds that it took.
inline Recorded run_alone(Engine& engine, Request request) {
  Recorded recorded;
  submit(engine, std::move(request), recorded);
  engine.run();
  return recorded;
}

/// Milliseconds between tokens that came after `from` and until `to`.
inline std::vector<double> gaps_ms(const std::vector<Recorded>& answers, Clock::time_point from, Clock::time_point to) {
  std::vector<double> gaps;
  for (const Recorded& answer : answers) {
    for (std::size_t i = 1; i < answer.times.size(); ++i) {
      if (answer.times[i] < from || answer.times[i - 1] > to) continue;
      gaps.push_back(std::chrono::duration<double, std::milli>(answer.times[i] - answer.times[i - 1]).count());
    }
  }
  return gaps;
}

/// The smallest value that a share `q` does not exceed; 0 of none.
inline double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

}  // namespace octavo::bench

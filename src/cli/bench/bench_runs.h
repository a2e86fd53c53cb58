// The runs of `octavo bench`: what is measured, and a measurement of it, by the public interface alone. Driven by the
// command's thread.
#pragma once

#include <chrono>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/bench/bench_work.h"
#include "cli/terminal/interrupt.h"
#include "octavo/engine.h"

namespace octavo::cli {

/// A row of the table. A prefill reads `prompt` tokens of each sequence; a decode makes `gen` tokens of each.
struct BenchCase {
  bool is_prefill = true;
  int prompt = 0;
  int gen = 0;
  int batch = 1;
  int depth = 0;   // tokens of each sequence before the clock starts
  int shared = 0;  // tokens with which all sequences begin; in a prefill they come before the prompt, and are timed

  std::string_view name() const;  // prefill, decode, shared-prefill, shared-decode
};

/// One measurement.
struct BenchRun {
  double seconds = 0;
  double tokens = 0;  // tokens read or made in that time
  Work work;
  std::uint64_t steps = 0;
  int threads = 0;           // the threads that computed at the end
  StepProfile profile = {};  // the profile of these steps, where the engine keeps profiles
};

/// Random tokens that are ordinary: the tokenizer knows none of them as special.
class RandomTokens {
 public:
  static Result<RandomTokens> create(const ModelText& words);
  std::vector<TokenId> take(int count);

 private:
  std::vector<TokenId> ordinary_;  // a sample of the vocabulary
  std::mt19937 random_{1};
};

/// Measures cases on an engine that does nothing else. Every sequence of every measurement has different tokens.
class BenchRunner {
 public:
  using Clock = std::chrono::steady_clock;

  /// `max_step_tokens`: that of the engine's options. Error: the vocabulary has no ordinary tokens.
  static Result<BenchRunner> create(Engine& engine, int max_step_tokens, const InterruptGuard& guard);

  /// Measures a case. nullopt: Ctrl-C. Errors: the case does not fit into the context or the KV memory.
  Result<std::optional<BenchRun>> run(const BenchCase& c);

 private:
  struct Sequence {
    RequestId id = 0;
    int prompt = 0, made = 0;
  };

  BenchRunner(Engine& engine, int max_step_tokens, const InterruptGuard& guard, RandomTokens tokens)
      : engine_(engine), max_step_tokens_(max_step_tokens), guard_(guard), tokens_(std::move(tokens)) {}

  Result<BenchRun> prefill(const BenchCase& c);
  Result<BenchRun> decode(const BenchCase& c);
  Result<void> submit(const BenchCase& c, int own_tokens, int max_tokens);
  bool step();
  /// Ends a measurement that began when the engine's counts were `before`.
  BenchRun finish(Clock::time_point start, const EngineStats& before, double tokens, Work work) const;
  Work prefill_work(const BenchCase& c, int first) const;
  Work decode_work(const BenchCase& c) const;

  Engine& engine_;
  const int max_step_tokens_;
  const InterruptGuard& guard_;
  RandomTokens tokens_;
  std::vector<Sequence> sequences_;  // the sequences of the current measurement
  int num_begun_ = 0, num_ended_ = 0;
  FinishReason failure_ = FinishReason::kNone;  // why a sequence could not be computed
  std::int64_t num_made_ = 0;
};

/// The most tokens that a sequence of a case ends with; prompts are read in steps of `max_step_tokens`.
int longest_sequence(const BenchCase& c, int max_step_tokens);

}  // namespace octavo::cli

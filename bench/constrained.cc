// The cost of constraints beside a decode step: sequences that write JSON by a schema each, against the same sequences
// without one.
//
//     bench_constrained -m MODEL [--rows 1,32] [--steps N] [--rounds N] [--threads N]
//
// Rounds take turns. Each sequence of a round has random tokens as its prompt and a schema of its own: an endless array
// of objects, whose names, enum, bounds and pattern differ from sequence to sequence, so that no masks are shared.
// Drawing is at temperature 1; a model with random weights opens every kind of value. Schemas are compiled before the
// clock starts, and the first steps, in which masks are found that later ones use, count as `first`. A third round lets
// forced tokens follow without a draw, as a server does where nobody asks for log-probabilities: its tokens a second
// are what counts.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <random>
#include <vector>

#include "base/thread_pool.h"
#include "base/to_size.h"
#include "octavo/engine.h"

namespace octavo::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string model;
  std::vector<int> rows = {1, 32};
  int steps = 64, first = 16, rounds = 7, threads = 0;
};

std::string schema_of(int number) {
  return fmt::format(
      R"({{"type": "array", "minItems": 100000, "items": {{"type": "object", "additionalProperties": false,
      "required": ["name_{0}", "kind", "count", "tags", "when"], "properties": {{
      "name_{0}": {{"type": "string", "minLength": 1, "maxLength": {1}}}, "kind": {{"enum": ["a{0}", "b{0}", "other"]}},
      "count": {{"type": "integer", "minimum": 0, "maximum": {2}}}, "tags": {{"type": "array", "items": {{"type": "string"}}}},
      "when": {{"type": "string", "pattern": "^[0-9]{{4}}-[0-9]{{2}}-{0}$"}}, "ratio": {{"type": "number"}}}}}}}})",
      number, 20 + number, 1000 + 37 * number);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

struct Times {
  std::vector<double> first, later;  // milliseconds a step
  double seconds = 0;                // of later steps
  std::uint64_t tokens = 0;          // in these

  double tokens_per_s() const { return static_cast<double>(tokens) / seconds; }
};

enum class Answers : std::uint8_t { kFree, kConstrained, kForcedUndrawn };

/// A round: all sequences begin, then so many steps are timed; then they are cancelled.
void run_round(Engine& engine, const Options& options, int rows, int round, Answers kind, Times& times) {
  std::mt19937 random(static_cast<unsigned>(round));
  int num_begun = 0;
  std::vector<RequestId> ids;
  for (int i = 0; i < rows; ++i) {
    Request request{.max_tokens = 900, .ignore_eos = true};
    request.sampling.seed = static_cast<std::uint64_t>(round * 1000 + i);
    for (int t = 0; t < 64; ++t)
      request.tokens.push_back(static_cast<TokenId>(random() % static_cast<unsigned>(engine.info().num_tokens)));
    request.logprobs = kind != Answers::kForcedUndrawn;
    if (kind != Answers::kFree)
      request.constraint = value_or_throw(engine.text()->compile_constraint(
          {.kind = ConstraintKind::kJsonSchema, .text = schema_of(round * rows + i + 10), .is_strict = true}));
    ids.push_back(value_or_throw(engine.submit(std::move(request), [&num_begun, is_first = true](const auto&) mutable {
      if (std::exchange(is_first, false)) ++num_begun;
    })));
  }
  while (num_begun < rows) engine.step();
  for (int i = 0; i < options.first + options.steps; ++i) {
    const std::uint64_t tokens = engine.stats().generated_tokens;
    const auto begin = Clock::now();
    engine.step();
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    (i < options.first ? times.first : times.later).push_back(ms);
    if (i < options.first) continue;
    times.seconds += ms / 1000;
    times.tokens += engine.stats().generated_tokens - tokens;
  }
  for (const RequestId id : ids) engine.cancel(id);
  while (engine.step()) {
  }
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Times constraints beside a decode step");
  app.add_option("-m,--model", options.model)->required();
  app.add_option("--rows", options.rows)->delimiter(',')->check(CLI::Range(1, 1024));
  app.add_option("--steps", options.steps)->check(CLI::Range(1, 10000));
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 10000));
  app.add_option("--threads", options.threads)->check(CLI::Range(1, kMaxThreads));
  CLI11_PARSE(app, argc, argv);
  auto engine = value_or_throw(Engine::load({.model_path = options.model,
                                             .num_threads = options.threads,
                                             .max_context = 1024,
                                             .max_sequences = std::ranges::max(options.rows),
                                             .itl_target_ms = 0}));
  fmt::print("| sequences | steps | free, ms | constrained, ms | speed |\n|--:|---|--:|--:|--:|\n");
  for (const int rows : options.rows) {
    Times free, constrained, undrawn;
    for (int round = 0; round < options.rounds; ++round) {
      run_round(*engine, options, rows, round, Answers::kFree, free);
      run_round(*engine, options, rows, round, Answers::kConstrained, constrained);
      run_round(*engine, options, rows, round, Answers::kForcedUndrawn, undrawn);
    }
    const auto print = [rows](std::string_view which, const std::vector<double>& a, const std::vector<double>& b) {
      fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.1f} % |\n", rows, which, median(a), median(b),
                 100 * median(a) / median(b));
    };
    print("the first 16", free.first, constrained.first);
    print("later", free.later, constrained.later);
    fmt::print(
        "tokens/s of {} sequences: free {:.0f}, constrained {:.0f}, forced ones undrawn {:.0f}: {:.1f} % of free\n",
        rows, free.tokens_per_s(), constrained.tokens_per_s(), undrawn.tokens_per_s(),
        100 * undrawn.tokens_per_s() / free.tokens_per_s());
  }
  return 0;
}

}  // namespace
}  // namespace octavo::bench

int main(int argc, char** argv) {
  try {
    return octavo::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "bench_constrained: " << error.what() << '\n';
    return 1;
  }
}

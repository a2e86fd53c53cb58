// The cost of samplers beside a decode step: rows of logits as long as a model's vocabulary, drawn from by all threads,
// against the time of a step of as many sequences.
//
//     bench_sampler [-m MODEL] [--rows 32] [--context N] [--steps N] [--rounds N] [--threads N] [--vocabulary N]
//                   [--filter NAME]
//
// Without a model there is no step to compare with. The rows are normal with a deviation of 2, as those of random
// weights are (tools/synth_model.py); a model's own are less even, and leave the cuts less to do.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <optional>
#include <random>

#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "base/to_size.h"
#include "octavo/engine.h"
#include "sampler/sampler.h"

namespace octavo::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string model, filter;
  int rows = 32, context = 1024, steps = 40, rounds = 15, threads = 0, vocabulary = 151936;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double milliseconds(const auto& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// The median step in which each of the sequences decodes one token, in milliseconds.
double step_ms(Engine& engine, const Options& options) {
  std::mt19937 random(1);
  int num_begun = 0;
  for (int i = 0; i < options.rows; ++i) {
    Request request{.max_tokens = options.steps + options.rows, .ignore_eos = true};
    request.sampling.temperature = 0;
    for (int t = 0; t < 64; ++t)
      request.tokens.push_back(static_cast<TokenId>(random() % static_cast<unsigned>(engine.info().num_tokens)));
    const auto id = engine.submit(std::move(request), [&num_begun, is_first = true](const TokenEvent&) mutable {
      if (std::exchange(is_first, false)) ++num_begun;
    });
    if (!id) throw std::runtime_error(id.error().message);
  }
  while (num_begun < options.rows) engine.step();
  std::vector<double> times;
  for (int i = 0; i < options.steps; ++i) times.push_back(milliseconds([&engine] { engine.step(); }));
  return median(times);
}

struct Case {
  std::string name;
  SamplingParams params;
  bool suppresses = false;
};

std::vector<Case> cases() {
  const auto with = [](const auto& change) {
    SamplingParams params;
    change(params);
    return params;
  };
  std::vector<Case> all = {
      {"greedy", with([](auto& p) { p.temperature = 0; })},
      {"temperature", with([](auto& p) { p.temperature = 0.7F; })},
      {"dynamic temperature", with([](auto& p) { p.dynamic_temperature.range = 0.5F; })},
      {"top-k 40", with([](auto& p) { p.top_k = 40; })},
      {"top-p 0.95", with([](auto& p) { p.top_p = 0.95F; })},
      {"min-p 0.05", with([](auto& p) { p.min_p = 0.05F; })},
      {"typical 0.9", with([](auto& p) { p.typical_p = 0.9F; })},
      {"top-n-sigma 1.5", with([](auto& p) { p.top_n_sigma = 1.5F; })},
      {"XTC", with([](auto& p) { p.xtc = {.probability = 1, .threshold = 0.001F}; })},
      {"DRY", with([](auto& p) { p.dry.multiplier = 0.8F; })},
      {"penalties", with([](auto& p) {
         p.repetition_penalty = 1.1F;
         p.frequency_penalty = p.presence_penalty = 0.5F;
         p.penalty_window = 256;
       })},
      {"banned tokens", with([](auto& p) {
         for (TokenId i = 0; i < 300; ++i) p.logit_bias.emplace_back(i * 97, -100.0F);
         for (TokenId i = 0; i < 100; ++i) p.bad_words.push_back({i, i + 1});
       }),
       true},
      {"Mirostat 2", with([](auto& p) { p.mirostat.version = 2; })},
  };
  Case together{.name = "all together", .params = {}, .suppresses = true};
  SamplingParams& p = together.params;
  p = all[11].params;
  p.temperature = 0.8F;
  p.dynamic_temperature.range = 0.5F;
  p.top_n_sigma = 1.5F;
  p.top_k = 400;
  p.typical_p = 0.95F;
  p.top_p = 0.95F;
  p.min_p = 0.02F;
  p.xtc = {.probability = 0.5F, .threshold = 0.05F};
  p.dry.multiplier = 0.8F;
  p.repetition_penalty = 1.1F;
  p.frequency_penalty = p.presence_penalty = 0.5F;
  p.penalty_window = 256;
  all.push_back(together);
  together.name = "all together, cutting late";  // the first cut keeps some ten thousand tokens
  together.params.top_n_sigma = 3;
  together.params.top_k = 0;
  all.push_back(together);
  return all;
}

class Rows {
 public:
  Rows(const Options& options, int vocab_size, ThreadPool& pool) : vocab_size_(to_size(vocab_size)), pool_(pool) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal(0, 2);
    logits_.resize(to_size(options.rows) * vocab_size_);
    for (float& logit : logits_) logit = normal(random);
    for (int row = 0; row < options.rows; ++row) {
      std::vector<TokenId>& tokens = tokens_.emplace_back();
      for (int i = 0; i < options.context; ++i) tokens.push_back(static_cast<TokenId>(random() % 500));
      // A repetition of a few tokens, as DRY leaves them. One of twenty would cost its token so much that the deviation
      // which top-n-sigma counts in would be that of this token alone, and it would cut nothing.
      std::copy_n(tokens.begin(), 5, tokens.end() - 5);
    }
    for (TokenId i = 500; i < vocab_size; i += 50) breakers_.push_back(i);
    for (TokenId i = 3; i < vocab_size; i += 1000) suppressed_.push_back(i);
    for (int i = 0; i < pool.num_threads(); ++i) scratches_.emplace_back(vocab_size);
  }

  /// One draw from each row, as the engine does it.
  double draw_ms(const Case& which) {
    return milliseconds([&] {
      pool_.for_ranges(tokens_.size(), 1, [&](std::size_t begin, std::size_t end, int worker) {
        for (std::size_t row = begin; row < end; ++row) {
          const DrawContext context{
              .tokens = tokens_[row],
              .prompt_tokens = static_cast<int>(tokens_[row].size() / 2),
              .suppressed = which.suppresses ? std::span<const TokenId>(suppressed_) : std::span<const TokenId>(),
              .dry_breakers = breakers_,
              .surprise_bound = first_surprise_bound(which.params.mirostat)};
          const DrawKey key{.seed = 1, .position = static_cast<std::uint32_t>(row)};
          sum_ += sample(std::span<const float>(logits_).subspan(row * vocab_size_, vocab_size_),
                         static_cast<int>(vocab_size_), which.params, key, scratches_[to_size(worker)], context)
                      .logprob;
        }
      });
    });
  }

 private:
  const std::size_t vocab_size_;
  ThreadPool& pool_;
  std::vector<float> logits_;
  std::vector<std::vector<TokenId>> tokens_;
  std::vector<TokenId> breakers_, suppressed_;
  std::vector<SamplerScratch> scratches_;
  std::atomic<double> sum_ = 0;  // keeps the work
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Times samplers beside a decode step");
  app.add_option("-m,--model", options.model);
  app.add_option("--filter", options.filter, "Only cases with this in their name");
  app.add_option("--rows", options.rows)->check(CLI::Range(1, 1024));
  app.add_option("--context", options.context)->check(CLI::Range(40, 1 << 20));
  app.add_option("--steps", options.steps)->check(CLI::Range(1, 10000));
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 10000));
  app.add_option("--threads", options.threads)->check(CLI::Range(1, kMaxThreads));
  app.add_option("--vocabulary", options.vocabulary)->check(CLI::Range(500, 1 << 22));
  CLI11_PARSE(app, argc, argv);

  std::unique_ptr<Engine> engine;
  std::optional<double> step;
  if (!options.model.empty()) {
    auto loaded = Engine::load({.model_path = options.model,
                                .num_threads = options.threads,
                                .max_context = 1024,
                                .max_sequences = options.rows,
                                .itl_target_ms = 0});
    if (!loaded) throw std::runtime_error(loaded.error().message);
    engine = std::move(*loaded);
    options.vocabulary = engine->info().vocab_size;
    options.threads = engine->info().num_threads;
    step = step_ms(*engine, options);
    engine.reset();  // its threads must not wait beside those below
    std::cout << fmt::format("a decode step of {} sequences: {:.2f} ms\n\n", options.rows, *step);
  }
  if (options.threads == 0) options.threads = default_threads();
  ThreadPool pool(options.threads);
  const ThreadPool::Step in_step(pool);
  Rows rows(options, options.vocabulary, pool);
  std::cout << fmt::format("{} rows of {} logits, {} threads\n\n| sampler | ms | of a step |\n|---|---:|---:|\n",
                           options.rows, options.vocabulary, options.threads);
  for (const Case& which : cases()) {
    if (which.name.find(options.filter) == std::string::npos) continue;
    std::vector<double> times;
    rows.draw_ms(which);
    for (int i = 0; i < options.rounds; ++i) times.push_back(rows.draw_ms(which));
    const double ms = median(times);
    const std::string share = step ? fmt::format("{:.1f} %", 100 * ms / *step) : "";
    std::cout << fmt::format("| {} | {:.2f} | {} |\n", which.name, ms, share) << std::flush;
  }
  return 0;
}

}  // namespace
}  // namespace octavo::bench

int main(int argc, char** argv) {
  try {
    return octavo::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "bench_sampler: " << error.what() << '\n';
    return 1;
  }
}

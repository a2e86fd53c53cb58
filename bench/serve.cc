// Drives an engine in this process through what a server meets, and says how it did.
//
//     bench_serve -m MODEL.gguf [SCENARIO...]
//
//   shared     32 requests at once: one text of 1000 tokens, then 60 of their own, 64 tokens out
//   intruder   8 requests decode, then a prompt of 6000 tokens comes
//   memory     200 requests of 500 tokens in 64 KV blocks
//   storm      requests of 1 to 4000 tokens that come in bursts, share beginnings and are cancelled, in little memory
//   scheduler  what a step's decisions cost with 64 sequences running and 1000 waiting; needs no model's time
//
// Each prints a line of figures. The exit code says whether everything holds that must hold on any machine: answers,
// counts, memory. With --strict it covers the goals in time too. Times count only where nothing else runs.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <functional>
#include <map>

#include "base/error.h"
#include "engine/engine_impl.h"
#include "engine/schedule/scheduler.h"
#include "serve_load.h"

namespace octavo::bench {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> scenarios;
  int threads = 0;
  double itl_target_ms = 50;
  int storm_requests = 2000;
  int storm_tokens = 4000;
  int memory_requests = 200;
  int intruder_tokens = 6000;
  bool strict = false;
};

/// Says what went wrong; the exit code remembers it.
class Verdict {
 public:
  explicit Verdict(bool strict) : strict_(strict) {}
  void must(bool holds, const std::string& what) {
    if (holds) return;
    failed_ = true;
    fmt::print("  FAILED: {}\n", what);
  }
  void goal(bool holds, const std::string& what) {
    if (!holds) fmt::print("  over the goal: {}\n", what);
    if (!holds && strict_) failed_ = true;
  }
  bool failed() const { return failed_; }

 private:
  bool strict_;
  bool failed_ = false;
};

EngineOptions engine_options(const Options& options) {
  return {.model_path = options.model,
          .num_threads = options.threads,
          .itl_target_ms = options.itl_target_ms,
          .draft = DraftMode::kOff};  // rows are counted
}

Request make_request(std::vector<TokenId> tokens, int max_tokens, std::uint64_t seed) {
  Request request;
  request.tokens = std::move(tokens);
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  request.sampling.seed = seed;
  return request;
}

void append(std::vector<TokenId>& tokens, const std::vector<TokenId>& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
}

// --- shared ---

constexpr int kClients = 32, kShared = 1000, kOwn = 60, kOut = 64;

/// Seconds that the scenario's prompts and decode steps take when nothing has to be decided. They are the shared text
/// alone, own tokens at the rate of 512 behind it, and decode steps of 32 forks behind a prompt of the same length.
double predict_shared(const Options& options) {
  EngineOptions throughput = engine_options(options);
  throughput.itl_target_ms = 0;
  const auto engine = load(throughput);
  const int vocab = engine->info().vocab_size;
  std::vector<TokenId> text = made_up_tokens(kShared, 501, vocab);
  run_alone(*engine, make_request(made_up_tokens(300, 502, vocab), 2, 1));  // touches memory for the first time
  const double text_s = run_alone(*engine, make_request(text, 1, 1)).first_token_s();
  constexpr int kMore = 512;
  append(text, made_up_tokens(kMore, 503, vocab));
  const Recorded more = run_alone(*engine, make_request(text, 1, 1));
  const double row_s = more.first_token_s() / (more.stats.prompt_tokens - more.stats.cached_tokens);

  Request forks = make_request(made_up_tokens(kShared + kOwn, 504, vocab), kOut, 1);
  forks.num_choices = kClients;
  if (!engine->submit(forks, {})) give_up("32 choices are refused");
  while (engine->stats().generated_tokens < 2 + static_cast<unsigned>(kClients)) engine->step();
  const Clock::time_point begin = Clock::now();
  engine->run();
  const double step_s = seconds_since(begin) / (kOut - 2);
  return text_s + row_s * kClients * kOwn + step_s * (kOut - 1);
}

void shared(const Options& options, Verdict& verdict) {
  const double predicted_s = predict_shared(options);
  const auto engine = load(engine_options(options));
  const int vocab = engine->info().vocab_size;
  run_alone(*engine, make_request(made_up_tokens(300, 500, vocab), 2, 1));
  const std::uint64_t computed_before = engine->stats().computed_tokens;
  const std::vector<TokenId> text = made_up_tokens(kShared, 1, vocab);
  std::vector<Recorded> answers(kClients);
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < kClients; ++i) {
    std::vector<TokenId> tokens = text;
    append(tokens, made_up_tokens(kOwn, 100 + static_cast<std::uint64_t>(i), vocab));
    submit(*engine, make_request(std::move(tokens), kOut, static_cast<std::uint64_t>(i)),
           answers[static_cast<std::size_t>(i)]);
  }
  engine->run();
  const double wall_s = seconds_since(begin);
  const auto prompt_rows = static_cast<int>(engine->stats().computed_tokens - computed_before) - kClients * (kOut - 1);
  constexpr int kMost = kShared + kClients * kOwn + kClients * 16;
  std::vector<double> first_ms;
  for (const Recorded& answer : answers) first_ms.push_back(1000 * answer.first_token_s());
  const std::vector<double> gaps = gaps_ms(answers, begin, Clock::now());
  fmt::print(
      "shared: {} prompt rows computed of {} (at most {}), {:.2f} s, {:.2f} x predicted, {:.0f} tokens/s, first token "
      "p50 {:.0f} ms, between tokens p50 {:.0f} p99 {:.0f} max {:.0f} ms\n",
      prompt_rows, kClients * (kShared + kOwn), kMost, wall_s, wall_s / predicted_s, kClients * kOut / wall_s,
      quantile(first_ms, 0.5), quantile(gaps, 0.5), quantile(gaps, 0.99), quantile(gaps, 1));
  verdict.must(prompt_rows <= kMost, "prompt rows");
  verdict.goal(wall_s <= 1.3 * predicted_s, "wall time, 1.3 x predicted");
}

// --- intruder ---

void intruder(const Options& options, Verdict& verdict) {
  constexpr int kDecoders = 8, kIntruderOut = 16;
  const auto engine = load(engine_options(options));
  const int vocab = engine->info().vocab_size;
  const auto newcomer = [&](const char* domain) {
    Request request = make_request(made_up_tokens(options.intruder_tokens, 7, vocab), kIntruderOut, 1);
    request.cache_domain = domain;  // nothing of it is cached
    return request;
  };
  run_alone(*engine, make_request(made_up_tokens(300, 500, vocab), 2, 1));
  const double idle_s = run_alone(*engine, newcomer("idle")).stats.total_s;

  std::vector<Recorded> decoders(kDecoders);
  for (std::size_t i = 0; i < kDecoders; ++i) {
    submit(*engine, make_request(made_up_tokens(64, 200 + i, vocab), 4000, i), decoders[i]);
  }
  while (decoders.back().tokens.size() < 20) engine->step();
  const Clock::time_point alone = Clock::now();
  constexpr int kAloneSteps = 50;
  for (int i = 0; i < kAloneSteps; ++i) engine->step();
  const double decode_step_s = seconds_since(alone) / kAloneSteps;

  Recorded late;
  const std::uint64_t steps_before = engine->stats().steps;
  const Clock::time_point begin = Clock::now();
  submit(*engine, newcomer("late"), late);
  while (!late.ended()) engine->step();
  const Clock::time_point end = Clock::now();
  const auto steps = static_cast<double>(engine->stats().steps - steps_before);
  for (const Recorded& decoder : decoders) engine->cancel(decoder.id);
  engine->run();

  const std::vector<double> gaps = gaps_ms(decoders, begin, end);
  const double target = options.itl_target_ms;
  const double allowed_s = 1.5 * idle_s + steps * decode_step_s;
  fmt::print(
      "intruder: {} tokens in {:.2f} s, idle {:.2f} s, allowed {:.2f} s ({:.0f} steps of decodes at {:.1f} ms); "
      "between "
      "the others' tokens p50 {:.1f} p99 {:.1f} max {:.1f} ms, target {:.0f}\n",
      options.intruder_tokens, late.stats.total_s, idle_s, allowed_s, steps, 1000 * decode_step_s, quantile(gaps, 0.5),
      quantile(gaps, 0.99), quantile(gaps, 1), target);
  verdict.must(late.tokens.size() == kIntruderOut, "the newcomer's answer");
  verdict.goal(quantile(gaps, 0.99) <= 2 * target, "p99 between tokens, 2 x target");
  verdict.goal(quantile(gaps, 1) <= 4 * target, "longest silence, 4 x target");
  verdict.goal(late.stats.total_s <= allowed_s, "the newcomer's time");
}

// --- memory and storm: every answer is the one given alone ---

/// Without a prefix cache, a time to keep or anything beside it.
std::vector<Recorded> answers_alone(const Options& options, const std::vector<Request>& requests) {
  EngineOptions plain = engine_options(options);
  plain.prefix_cache = false;
  plain.itl_target_ms = 0;
  const auto engine = load(plain);
  std::vector<Recorded> answers;
  for (const Request& request : requests) answers.push_back(run_alone(*engine, request));
  return answers;
}

std::uint64_t kv_bytes(const Options& options, int num_blocks) {
  EngineOptions probe = engine_options(options);
  probe.itl_target_ms = 0;
  probe.repack = false;
  probe.kv_memory_bytes = 64 << 20;
  const auto engine = load(probe);
  return engine->info().kv_bytes_per_token * static_cast<std::uint64_t>(probe.block_size * num_blocks);
}

int differences(const std::vector<Recorded>& answers, const std::vector<Recorded>& alone) {
  int count = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool cancelled = answers[i].finish == FinishReason::kCancelled;
    count += !(cancelled ? answers[i].begins(alone[i]) : answers[i].same_answer(alone[i]));
  }
  return count;
}

void memory(const Options& options, Verdict& verdict) {
  constexpr int kBlocks = 64, kPrompt = 300, kAnswer = 200;
  EngineOptions small = engine_options(options);
  small.kv_memory_bytes = kv_bytes(options, kBlocks);
  const auto engine = load(small);
  std::vector<Request> requests;
  for (int i = 0; i < options.memory_requests; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    requests.push_back(make_request(made_up_tokens(kPrompt, 3000 + seed, engine->info().vocab_size), kAnswer, seed));
  }
  std::vector<Recorded> answers(requests.size());
  const Clock::time_point begin = Clock::now();
  for (std::size_t i = 0; i < requests.size(); ++i) submit(*engine, requests[i], answers[i]);
  engine->run();
  const double wall_s = seconds_since(begin);
  const EngineStats stats = engine->stats();
  const int different = differences(answers, answers_alone(options, requests));
  const auto done = std::ranges::count(answers, FinishReason::kLength, &Recorded::finish);
  fmt::print(
      "memory: {} blocks, {} of {} requests of {} tokens done in {:.1f} s, {} preemptions, {} differ from alone\n",
      stats.kv.blocks_total, done, requests.size(), kPrompt + kAnswer, wall_s, stats.preemptions, different);
  verdict.must(done == std::ssize(requests), "every request ends at its length");
  verdict.must(different == 0, "answers differ");
  verdict.must(stats.kv.blocks_referenced == 0, "blocks are free at the end");
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

/// Prompts of 1 to `most_tokens` tokens, as many short as long; half of them begin with one of four texts.
std::vector<Request> make_storm(int num_requests, int most_tokens, int vocab) {
  std::mt19937_64 random(11);
  const auto uniform = [&random] { return static_cast<double>(random() >> 11) / static_cast<double>(1ULL << 53); };
  std::vector<Request> requests;
  for (int i = 0; i < num_requests; ++i) {
    const int length = static_cast<int>(std::pow(most_tokens, uniform()));
    const auto seed = static_cast<std::uint64_t>(i);
    std::vector<TokenId> tokens;
    if (uniform() < 0.5)
      tokens = made_up_tokens(static_cast<int>(1 + most_tokens / 4 * uniform()), random() % 4, vocab);
    append(tokens, made_up_tokens(length, 9000 + seed, vocab));
    tokens.resize(static_cast<std::size_t>(std::min(std::ssize(tokens), std::ptrdiff_t{most_tokens})));
    Request request = make_request(std::move(tokens), 1 + static_cast<int>(24 * uniform()), seed);
    request.sampling.temperature = i % 3 == 0 ? 0.0F : 1.0F;
    if (i % 4 == 0) request.sampling.top_p = 0.9F;
    if (i % 5 == 0) request.sampling.repetition_penalty = 1.2F;
    request.priority = static_cast<int>(random() % 3);
    requests.push_back(std::move(request));
  }
  return requests;
}

void storm(const Options& options, Verdict& verdict) {
  constexpr int kBlocks = 320;
  EngineOptions small = engine_options(options);
  small.kv_memory_bytes = kv_bytes(options, kBlocks);
  small.max_queued = 0;  // they come faster than they are served
  small.max_queued_tokens = 0;
  const auto engine = load(small);
  const int vocab = engine->info().vocab_size;
  const std::vector<Request> requests = make_storm(options.storm_requests, options.storm_tokens, vocab);
  // Scratch memory is touched as far as the largest step so far: a first quarter of few requests says nothing.
  constexpr std::size_t kMany = 400;
  const bool resident_counts = requests.size() >= kMany;
  // All of the arena and of the scratch memory is touched before resident memory is looked at.
  if (resident_counts) run_alone(*engine, make_request(made_up_tokens(kBlocks * 16 - 100, 77, vocab), 2, 1));
  std::vector<Recorded> answers(requests.size());
  std::mt19937_64 random(12);
  const auto& manager = dynamic_cast<const EngineImpl&>(*engine);
  std::int64_t resident_early = 0;
  int cancelled = 0;
  std::size_t next = 0;
  for (std::uint64_t step = 0; next < requests.size() || engine->stats().running + engine->stats().waiting > 0;
       ++step) {
    for (auto burst = random() % 100 < 10 ? random() % 24 : 0; burst > 0 && next < requests.size(); --burst, ++next) {
      submit(*engine, requests[next], answers[next]);
    }
    if (next > 0 && random() % 100 < 3) {
      const std::size_t victim = next - 1 - random() % std::min<std::size_t>(next, 40);
      cancelled += !answers[victim].ended();
      engine->cancel(answers[victim].id);
    }
    engine->step();
    if (step % 16 == 0) {
      const Result<void> intact = manager.check_integrity();
      verdict.must(intact.has_value(), intact ? "" : intact.error().message);
    }
    if (resident_early == 0 && next >= requests.size() / 4) resident_early = resident_bytes();
  }
  const auto grown_mib = static_cast<double>(resident_bytes() - resident_early) / (1 << 20);
  const EngineStats stats = engine->stats();
  const int different = differences(answers, answers_alone(options, requests));
  fmt::print(
      "storm: {} requests, {} cancelled, {} preemptions, {} of {} prompt tokens found cached, {} blocks in use at the "
      "end, resident memory {:+.1f} MiB after the first quarter, {} differ from alone\n",
      requests.size(), cancelled, stats.preemptions, stats.cached_tokens, stats.prompt_tokens,
      stats.kv.blocks_referenced, grown_mib, different);
  verdict.must(different == 0, "answers differ");
  verdict.must(std::ranges::all_of(answers, &Recorded::ended), "a request never ended");
  verdict.must(stats.kv.blocks_referenced == 0, "blocks are free at the end");
  constexpr double kFlatMib = 16;  // allocators keep pages of requests that were large
  verdict.must(!resident_counts || grown_mib <= kFlatMib, "resident memory is flat");
}

// --- scheduler ---

void scheduler(const Options&, Verdict& verdict) {
  constexpr int kRunning = 64, kWaiting = 1000, kSteps = 400, kPrompt = 64;
  const std::optional<KvLayerShape> layer = KvLayerShape{.num_kv_heads = 1, .k_dim = 1, .v_dim = 1};
  StateRoom room{.layout = *StateLayout::create(KvType::kF16, KvLayout::kPaged, kDefaultBlockSize, {&layer, 1}),
                 .num_blocks = {kRunning * (kPrompt + kSteps + 96) / kDefaultBlockSize}};
  auto manager = KvCacheManager::create(std::move(room), true);
  if (!manager) give_up(manager.error().message);
  KvCacheManager& kv = **manager;
  const CostModel cost({{.num_layers = 30, .window = 0, .kv_bytes = 23040, .float_multiply_adds = 34560}});
  Scheduler scheduler({.max_sequences = kRunning, .step_ms = 1e9}, kv, &cost);
  StepPlan plan = scheduler.make_plan();
  std::vector<std::unique_ptr<Sequence>> sequences;
  for (int i = 0; i < kRunning + kWaiting; ++i) {
    Sequence& sequence = *sequences.emplace_back(std::make_unique<Sequence>());
    sequence.params.id = static_cast<RequestId>(i);
    sequence.params.prompt_tokens = sequence.pending.prompt_logits_from = kPrompt;
    sequence.params.max_cached = kPrompt + kSteps + 64;
    sequence.tokens.reserve(static_cast<std::size_t>(sequence.params.max_cached) + 1);
    sequence.tokens = made_up_tokens(kPrompt, sequence.params.id, 40'000);
    sequence.kv = kv.create_sequence(sequence.params.max_cached);
    sequence.hash_blocks(kv.hashing());
    scheduler.add(sequence);
  }
  std::vector<double> us;
  while (std::ssize(us) < kSteps) {
    const Clock::time_point begin = Clock::now();
    scheduler.schedule(plan);
    for (ScheduledSequence& planned : plan.sequences) scheduler.accept(planned, planned.num_tokens);
    const double step_us = 1e6 * seconds_since(begin);
    if (scheduler.num_running() == kRunning &&
        std::ranges::all_of(plan.sequences, [](const ScheduledSequence& planned) { return planned.num_tokens == 1; })) {
      us.push_back(step_us);
    }
    for (const ScheduledSequence& planned : plan.sequences) {
      if (planned.sequence->num_uncomputed() == 0) planned.sequence->tokens.push_back(1);
    }
  }
  fmt::print("scheduler: {} running, {} waiting: p50 {:.1f} us, p99 {:.1f} us a step\n", scheduler.num_running(),
             scheduler.num_waiting(), quantile(us, 0.5), quantile(us, 0.99));
  verdict.must(scheduler.num_running() == kRunning && scheduler.num_waiting() == kWaiting, "64 run and 1000 wait");
  verdict.goal(quantile(us, 0.5) <= 50, "a step's decisions, 50 us");
}

const std::map<std::string, std::function<void(const Options&, Verdict&)>> kScenarios = {
    {"shared", shared}, {"intruder", intruder}, {"memory", memory}, {"storm", storm}, {"scheduler", scheduler}};

}  // namespace
}  // namespace octavo::bench

int main(int argc, char** argv) {
  octavo::bench::Options options;
  CLI::App app("Drives an engine through what a server meets");
  app.add_option("-m,--model", options.model, "GGUF file")->required();
  app.add_option("scenarios", options.scenarios, "shared, intruder, memory, storm, scheduler; all if none is named")
      ->check(CLI::IsMember({"shared", "intruder", "memory", "storm", "scheduler"}));
  app.add_option("--threads", options.threads, "Threads that compute; default: physical cores")
      ->check(CLI::Range(1, 1024));
  app.add_option("--itl-target-ms", options.itl_target_ms, "Time of a step")->check(CLI::Range(1.0, 1e4));
  app.add_option("--storm-requests", options.storm_requests, "default 2000")->check(CLI::Range(1, 1'000'000));
  app.add_option("--storm-tokens", options.storm_tokens, "The longest prompt; default 4000")
      ->check(CLI::Range(4, 4000));
  app.add_option("--memory-requests", options.memory_requests, "default 200")->check(CLI::Range(1, 1000));
  app.add_option("--intruder-tokens", options.intruder_tokens, "default 6000")->check(CLI::Range(1, 1'000'000));
  app.add_flag("--strict", options.strict, "Goals in time decide the exit code as well");
  CLI11_PARSE(app, argc, argv);
  if (options.scenarios.empty()) options.scenarios = {"scheduler", "shared", "intruder", "memory", "storm"};
  octavo::bench::Verdict verdict(options.strict);
  for (const std::string& name : options.scenarios) {
    octavo::bench::kScenarios.at(name)(options, verdict);
    std::fflush(stdout);
  }
  return verdict.failed() ? 1 : 0;
}

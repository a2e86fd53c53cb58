#include "simulation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "base/error.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/scheduler.h"
#include "kv/kv_cache_manager.h"

namespace octavo::bench {
namespace {

// Layers of SmolLM2-135M: what the formula's megabytes and multiply-adds are counted from.
const std::vector<AttentionWork> kAttention = {
    {.num_layers = 30, .window = 0, .kv_bytes = 30 * 2 * 3 * 64 * 2, .float_multiply_adds = 30 * 2 * 9 * 64}};

// A token id that is the same wherever the same text is: a mixing function, SplitMix64's, of text and place.
TokenId token_at(std::uint64_t text, int position) {
  std::uint64_t x = text * 0x9E3779B97F4A7C15 + static_cast<std::uint64_t>(position);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return static_cast<TokenId>((x ^ (x >> 31)) & 0x7FFFFFFF);
}

// The standard library's distributions differ between libraries; these do not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  double uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) / static_cast<double>(std::uint64_t{1} << 53); }
  double exponential(double mean) { return -mean * std::log(uniform()); }
  double normal() {  // Box and Muller
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * 3.14159265358979323846 * uniform());
  }
  int log_normal(double median, double sigma, int longest) {
    return std::clamp(static_cast<int>(std::lround(median * std::exp(sigma * normal()))), 1, longest);
  }
  int between(int low, int high) { return low + static_cast<int>(uniform() * (high - low + 1)); }

 private:
  std::mt19937_64 bits_;
};

/// One run of a load.
class Simulation {
 public:
  Simulation(const std::vector<SimulatedRequest>& load, const SimulationOptions& options);
  SimulatedOutcome run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Active {
    Sequence sequence;
    double last_token_ms = -1;
  };

  void take_arrivals();
  void step();
  void append(Sequence& sequence);
  double real_ms(const StepWork& work);

  const std::vector<SimulatedRequest>& load_;
  const SimulationOptions options_;
  std::unique_ptr<KvCacheManager> kv_;
  CostModel cost_;
  Scheduler scheduler_;
  StepPlan plan_ = scheduler_.make_plan();
  std::vector<std::unique_ptr<Active>> active_;  // by request
  SimulatedOutcome outcome_;
  Random random_{99};
  std::size_t next_arrival_ = 0;
  double now_ms_ = 0, error_sum_ = 0;
  Clock::duration scheduler_time_{};
};

std::unique_ptr<KvCacheManager> make_manager(const SimulationOptions& options) {
  const std::optional<KvLayerShape> layer = KvLayerShape{.num_kv_heads = 1, .k_dim = 1, .v_dim = 1};
  Result<StateLayout> layout = StateLayout::create(KvType::kF16, KvLayout::kPaged, kDefaultBlockSize, {&layer, 1});
  OCTAVO_CHECK(layout.has_value(), "{}", layout.error().message);
  auto manager =
      KvCacheManager::create({.layout = std::move(*layout), .num_blocks = {options.num_blocks}}, options.prefix_cache);
  OCTAVO_CHECK(manager.has_value(), "{}", manager.error().message);
  return std::move(*manager);
}

Simulation::Simulation(const std::vector<SimulatedRequest>& load, const SimulationOptions& options)
    : load_(load),
      options_(options),
      kv_(make_manager(options)),
      cost_(kAttention),
      scheduler_({.step_ms = options.itl_target_ms, .policy = options.policy}, *kv_, &cost_),
      active_(load.size()) {
  outcome_.answers.resize(load.size());
  // The figures that an engine learns when it is loaded (src/engine/drive/calibrate.cc).
  for (const auto& [rows, depth] : {std::pair{1, 0}, {16, 0}, {1, 1024}, {64, 0}, {64, 1024}, {128, 0}}) {
    const StepWork work = cost_.work(depth, rows, 1);
    cost_.observe(work, real_ms(work));
  }
}

double Simulation::real_ms(const StepWork& work) {
  const StepFormula& f = options_.formula;
  const double ms = f.step + f.row * work.rows + f.logit_row * work.logit_rows + f.kv_megabyte * work.kv_bytes / 1e6 +
                    f.mega_macs * work.attention_macs / 1e6;
  return ms * std::exp(f.noise * random_.normal());
}

void Simulation::take_arrivals() {
  if (scheduler_.empty()) now_ms_ = std::max(now_ms_, load_[next_arrival_].arrival_ms);
  for (; next_arrival_ < load_.size() && load_[next_arrival_].arrival_ms <= now_ms_; ++next_arrival_) {
    const SimulatedRequest& request = load_[next_arrival_];
    auto active = std::make_unique<Active>();
    Sequence& sequence = active->sequence;
    sequence.params.id = next_arrival_;
    sequence.params.priority = request.priority;
    sequence.params.prompt_tokens = sequence.pending.prompt_logits_from = request.prompt_tokens;
    sequence.params.max_cached = request.prompt_tokens + request.answer_tokens - 1;
    sequence.tokens.reserve(static_cast<std::size_t>(request.prompt_tokens + request.answer_tokens));
    for (int i = 0; i < request.prompt_tokens; ++i) {
      const bool shared = i < request.shared_tokens;
      sequence.tokens.push_back(
          token_at(shared ? 1U + static_cast<unsigned>(request.shared_text) : 1000 + sequence.params.id, i));
    }
    sequence.kv = kv_->create_sequence(sequence.params.max_cached);
    sequence.hash_blocks(kv_->hashing());
    scheduler_.add(sequence);
    active_[next_arrival_] = std::move(active);
  }
}

void Simulation::step() {
  const Clock::time_point begin = Clock::now();
  scheduler_.schedule(plan_);
  scheduler_time_ += Clock::now() - begin;
  const double predicted = cost_.predict_ms(plan_.budget.work());
  const double real = real_ms(plan_.budget.work());
  now_ms_ += real;
  error_sum_ += std::abs(predicted - real) / real;
  const Clock::time_point computed = Clock::now();
  for (ScheduledSequence& planned : plan_.sequences) scheduler_.accept(planned, planned.num_tokens);
  scheduler_time_ += Clock::now() - computed;
  cost_.observe(plan_.budget.work(), real);
  ++outcome_.steps;
  for (const ScheduledSequence& planned : plan_.sequences) {
    if (planned.sequence->num_uncomputed() == 0) append(*planned.sequence);
  }
}

void Simulation::append(Sequence& sequence) {
  const auto index = static_cast<std::size_t>(sequence.params.id);
  Active& active = *active_[index];
  SimulatedOutcome::Answer& answer = outcome_.answers[index];
  if (active.last_token_ms < 0) {
    answer = {.first_token_ms = now_ms_ - load_[index].arrival_ms, .end_ms = 0, .priority = load_[index].priority};
  } else {
    outcome_.gaps_ms.push_back(static_cast<float>(now_ms_ - active.last_token_ms));
  }
  active.last_token_ms = now_ms_;
  sequence.tokens.push_back(token_at(1000 + sequence.params.id, sequence.num_tokens()));
  if (sequence.num_tokens() < sequence.params.prompt_tokens + load_[index].answer_tokens) return;
  answer.end_ms = now_ms_ - load_[index].arrival_ms;
  scheduler_.remove(sequence);
  const Result<void> dropped = kv_->drop_sequence(sequence.kv);
  OCTAVO_CHECK(dropped.has_value(), "{}", dropped.error().message);
  active_[index].reset();
}

SimulatedOutcome Simulation::run() {
  while (next_arrival_ < load_.size() || !scheduler_.empty()) {
    if (next_arrival_ < load_.size()) take_arrivals();
    step();
  }
  const auto intact = kv_->check_integrity();
  OCTAVO_CHECK(intact.has_value() && kv_->stats().blocks_referenced == 0, "blocks are lost at the end");
  const auto steps = static_cast<double>(outcome_.steps);
  outcome_.duration_ms = now_ms_;
  outcome_.computed_tokens = scheduler_.counts().computed_tokens;
  outcome_.cached_tokens = scheduler_.counts().cached_tokens;
  outcome_.preemptions = scheduler_.counts().preemptions;
  outcome_.prediction_error = error_sum_ / steps;
  outcome_.scheduler_us = std::chrono::duration<double, std::micro>(scheduler_time_).count() / steps;
  return std::move(outcome_);
}

}  // namespace

std::vector<SimulatedRequest> make_load(const LoadShape& shape) {
  Random random(shape.seed);
  std::vector<int> texts(static_cast<std::size_t>(shape.num_texts));
  for (int& tokens : texts) tokens = random.between(256, 1024);
  std::vector<SimulatedRequest> load(static_cast<std::size_t>(shape.num_requests));
  double now_ms = 0;
  for (SimulatedRequest& request : load) {
    now_ms += random.exponential(1000 / shape.requests_per_s);
    request.arrival_ms = now_ms;
    request.prompt_tokens = random.log_normal(shape.prompt_median, shape.prompt_sigma, shape.longest_prompt);
    request.answer_tokens = random.log_normal(shape.answer_median, shape.answer_sigma, shape.longest_answer);
    if (random.uniform() < shape.sharing && shape.num_texts > 0) {
      request.shared_text = random.between(0, shape.num_texts - 1);
      request.shared_tokens = texts[static_cast<std::size_t>(request.shared_text)];
      request.prompt_tokens = std::min(request.prompt_tokens + request.shared_tokens, shape.longest_prompt);
    }
    if (random.uniform() < shape.preferred) request.priority = shape.priority;
  }
  return load;
}

SimulatedOutcome simulate(const std::vector<SimulatedRequest>& load, const SimulationOptions& options) {
  return Simulation(load, options).run();
}

}  // namespace octavo::bench

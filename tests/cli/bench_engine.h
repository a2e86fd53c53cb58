// An engine without a model for the tests of `octavo bench`: any number of sequences, steps of a known length, and a
// record of when each step ran.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "model/model_work.h"
#include "octavo/engine.h"
#include "support/no_text.h"

namespace octavo::test {

/// The engine's records of its requests; outlives it.
struct BenchRecord {
  using Clock = std::chrono::steady_clock;
  struct Step {
    Clock::time_point begin, end;
    int prompt_rows = 0, decode_rows = 0;
  };

  Clock::duration step_time{};  // the time of a step
  EngineOptions options;        // of the last load
  int num_loads = 0;
  std::vector<Request> requests;
  std::vector<Step> steps;
  std::function<void()> before_step;
};

class BenchText final : public NoText {
 public:
  static constexpr TokenId kFirstOrdinary = 20;  // those below it are special

  explicit BenchText(int max_context) {
    model.name = "bench <&> fake";
    model.architecture = "llama";
    model.vocab_size = 100;
    model.max_context = max_context;
    model.weight_bytes = model.weight_bytes_per_token = 1'000'000;
    model.work = std::make_shared<const ModelWork>(
        ModelWork{.layers = {.int8_multiply_adds = 1000, .bytes = 900'000},
                  .output = {.int8_multiply_adds = 100, .bytes = 100'000},
                  .attention = {{.num_layers = 1, .kv_bytes = 10, .float_multiply_adds = 5}}});
  }

  /// A special token's text is one thing where special tokens are parsed, and its characters where not.
  Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const override {
    if (text.starts_with('<') && options.parse_special) return std::vector<TokenId>{1};
    return std::vector<TokenId>(text.begin(), text.end());
  }
  std::string detokenize(std::span<const TokenId> tokens) const override {
    return (tokens[0] < kFirstOrdinary ? "<" : "t") + std::to_string(tokens[0]);
  }
  Result<std::shared_ptr<const Constraint>> compile_constraint(const ConstraintSource&,
                                                               const std::stop_token&) const override {
    return std::shared_ptr<const Constraint>();
  }
};

class BenchEngine final : public Engine {
 public:
  BenchEngine(BenchRecord& record, EngineOptions options)
      : Engine(std::make_shared<const BenchText>(options.max_context)), record_(record) {
    ++record.num_loads;
    record.options = std::move(options);
  }

  EngineStats stats() const override { return stats_; }

  Result<RequestId> submit(Request request, TokenCallback on_event) override {
    record_.requests.push_back(request);
    running_.push_back({++last_id_, static_cast<int>(request.tokens.size()), request.max_tokens, std::move(on_event)});
    return last_id_;
  }
  void run_until(std::stop_token) override { run(); }
  void drain() override {}
  void cancel(RequestId id) override {
    std::erase_if(running_, [&](const Running& r) { return r.id == id; });
  }

  /// A row of each sequence that has begun, then prompts in their order, as far as the step has room.
  bool step() override {
    if (running_.empty()) return false;
    if (record_.before_step) record_.before_step();
    BenchRecord::Step step{.begin = BenchRecord::Clock::now(), .end = {}};
    int room = record_.options.max_step_tokens;
    std::vector<RequestId> draws;
    for (Running& r : running_) {
      const int rows = r.num_made > 0 ? 1 : std::min(room, r.num_prompt_left);
      (r.num_made > 0 ? step.decode_rows : step.prompt_rows) += rows;
      room -= rows;
      if (r.num_made == 0) r.num_prompt_left -= rows;
      if (r.num_prompt_left == 0) draws.push_back(r.id);
    }
    while (BenchRecord::Clock::now() - step.begin < record_.step_time) {
    }
    if (record_.options.profile) {
      add(StepPart::kAttention, {.seconds = 0.002, .working_seconds = 0.0015});
      add(StepPart::kDown, {.seconds = 0.006, .working_seconds = 0.006});
    }
    stats_.computed_tokens += static_cast<std::uint64_t>(step.prompt_rows + step.decode_rows);
    ++stats_.steps;
    stats_.threads = 2;
    for (const RequestId id : draws) emit(id);
    step.end = BenchRecord::Clock::now();
    record_.steps.push_back(step);
    return true;
  }

 private:
  void add(StepPart part, StepPartTime time) {
    StepPartTime& sum = stats_.profile.parts[static_cast<std::size_t>(part)];
    sum.seconds += time.seconds;
    sum.working_seconds += time.working_seconds;
  }

  struct Running {
    RequestId id;
    int num_prompt_left, max_tokens;
    TokenCallback on_event;
    int num_made = 0;
  };

  void emit(RequestId id) {
    const auto r = std::ranges::find(running_, id, &Running::id);
    const bool last = ++r->num_made == r->max_tokens;
    r->on_event({.request = id, .token = 0, .finish = last ? FinishReason::kLength : FinishReason::kNone});
    if (last) cancel(id);
  }

  BenchRecord& record_;
  EngineStats stats_;
  std::deque<Running> running_;
  RequestId last_id_ = 0;
};

}  // namespace octavo::test

// Compares the scheduler's policies on thousands of made-up requests, in seconds (simulation.h says how).
//
//     bench_simulate [--requests 10000] [--rates 1,1.5,2] [--format md|csv]
//
// For each rate of arrivals and policy: time to the first token and between tokens, in milliseconds on the virtual
// clock. Then the same with a tenth of the requests preferred, both kinds apart. plot_simulation.py draws the CSV.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "simulation.h"

namespace {

using octavo::bench::SimulatedOutcome;

struct Options {
  octavo::bench::LoadShape load;
  octavo::bench::SimulationOptions engine;
  std::vector<double> rates = {1, 1.5, 2, 2.2};
  std::string format = "md";
};

struct Policy {
  std::string_view name;
  octavo::PrefillPriority priority;
};
constexpr Policy kPolicies[] = {{"PrefillFirst", octavo::PrefillPriority::kPrefillFirst},
                                {"Interleaved", octavo::PrefillPriority::kInterleaved},
                                {"DecodePriority", octavo::PrefillPriority::kDecodePriority}};

/// One line of the table.
struct Row {
  double rate;
  std::string_view policy;
  std::string who;
  std::vector<double> first_ms;
  SimulatedOutcome* outcome;
};

void print_header(const Options& options) {
  if (options.format == "csv") {
    std::puts(
        "rate,policy,requests,first_p50_ms,first_p99_ms,gap_p50_ms,gap_p99_ms,gap_max_ms,tokens_per_s,cached_share,"
        "preemptions,prediction_error,scheduler_us");
    return;
  }
  std::puts(
      "| requests/s | policy | requests | first token p50 | p99 | between tokens p50 | p99 | max | tokens/s | "
      "prompt found | preemptions | error of the prediction | scheduler, us a step |");
  std::puts("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
}

void print(const Options& options, Row row) {
  SimulatedOutcome& outcome = *row.outcome;
  const double seconds = outcome.duration_ms / 1000;
  const auto all = static_cast<double>(outcome.computed_tokens + outcome.cached_tokens);
  const std::string_view line = options.format == "csv"
                                    ? "{},{},{},{:.1f},{:.1f},{:.2f},{:.2f},{:.2f},{:.1f},{:.4f},{},{:.4f},{:.2f}\n"
                                    : "| {} | {} | {} | {:.0f} | {:.0f} | {:.1f} | {:.1f} | {:.0f} | {:.0f} | {:.2f} "
                                      "| {} | {:.3f} | {:.1f} |\n";
  fmt::print(fmt::runtime(line), row.rate, row.policy, row.who, octavo::bench::quantile(row.first_ms, 0.5),
             octavo::bench::quantile(row.first_ms, 0.99), octavo::bench::quantile(outcome.gaps_ms, 0.5),
             octavo::bench::quantile(outcome.gaps_ms, 0.99), octavo::bench::quantile(outcome.gaps_ms, 1.0),
             static_cast<double>(outcome.gaps_ms.size() + outcome.answers.size()) / seconds,
             static_cast<double>(outcome.cached_tokens) / all, outcome.preemptions, outcome.prediction_error,
             outcome.scheduler_us);
  std::fflush(stdout);
}

std::vector<double> first_ms(const SimulatedOutcome& outcome, int priority) {
  std::vector<double> values;
  for (const SimulatedOutcome::Answer& answer : outcome.answers) {
    if (answer.priority == priority) values.push_back(answer.first_token_ms);
  }
  return values;
}

void run(const Options& options) {
  print_header(options);
  for (const double rate : options.rates) {
    octavo::bench::LoadShape shape = options.load;
    shape.requests_per_s = rate;
    const auto load = octavo::bench::make_load(shape);
    for (const Policy& policy : kPolicies) {
      octavo::bench::SimulationOptions engine = options.engine;
      engine.policy = policy.priority;
      SimulatedOutcome outcome = octavo::bench::simulate(load, engine);
      print(options, {rate, policy.name, "all", first_ms(outcome, 0), &outcome});
    }
    shape.preferred = 0.1;
    SimulatedOutcome outcome = octavo::bench::simulate(octavo::bench::make_load(shape), options.engine);
    print(options, {rate, "Interleaved", "priority 0", first_ms(outcome, 0), &outcome});
    print(options, {rate, "Interleaved", fmt::format("priority {}", shape.priority), first_ms(outcome, shape.priority),
                    &outcome});
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Compares the scheduler's policies on a made-up load");
  app.add_option("--requests", options.load.num_requests, "Requests a run")->check(CLI::Range(1, 1'000'000));
  app.add_option("--rates", options.rates, "Arrivals a second")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--sharing", options.load.sharing, "Share of prompts that begin alike")->check(CLI::Range(0.0, 1.0));
  app.add_option("--blocks", options.engine.num_blocks, "KV blocks of 16 tokens")->check(CLI::Range(512, 1 << 20));
  app.add_option("--itl-target-ms", options.engine.itl_target_ms, "Time of a step")->check(CLI::Range(1.0, 1e4));
  app.add_option("--seed", options.load.seed, "Another load of the same shape");
  app.add_option("--format", options.format, "md or csv")->check(CLI::IsMember({"md", "csv"}));
  CLI11_PARSE(app, argc, argv);
  run(options);
  return 0;
}

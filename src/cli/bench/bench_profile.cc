#include "cli/bench/bench_profile.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace octavo::cli {
namespace {

struct PartName {
  StepPart part;
  std::string_view name, content;
};
constexpr PartName kParts[] = {
    {StepPart::kScheduling, "scheduling", "who advances, the batch of it"},
    {StepPart::kEmbedding, "embedding", "rows of the embedding matrix"},
    {StepPart::kRows, "rows", "norms, sums, rows made int8"},
    {StepPart::kMixerInput, "mixer_input", "products for queries, keys, values"},
    {StepPart::kPositions, "positions", "heads normed and rotated, keys and values written"},
    {StepPart::kAttention, "attention", "scores, sums of values"},
    {StepPart::kRecurrence, "recurrence", "convolutions and states of recurrent layers"},
    {StepPart::kMixerOutput, "mixer_output", "the product behind attention or recurrence"},
    {StepPart::kRouting, "routing", "which experts, and their rows"},
    {StepPart::kGateUp, "gate_up", "products gate and up, activation"},
    {StepPart::kDown, "down", "the product back to the stream"},
    {StepPart::kLayerEmbedding, "layer_embedding", "a layer's own embedding of the token"},
    {StepPart::kLogits, "logits", "the output matrix"},
    {StepPart::kOtherDevice, "other_device", "layers on another device"},
    {StepPart::kSampling, "sampling", "tokens drawn and accepted"},
    {StepPart::kTokens, "tokens", "texts, stops, masks, callbacks"},
    {StepPart::kBetween, "between", "from one step to the next"},
};
static_assert(std::size(kParts) == kNumStepParts);

/// One part of the mean step.
struct Part {
  std::string_view name, content;
  double ms = 0, share = 0;
  double waiting = 0;  // a share of the threads' time in the part
};

struct MeanStep {
  std::uint64_t steps = 0;
  int threads = 0;
  double ms = 0;
  double waiting = 0;
  std::vector<Part> parts;
};

MeanStep mean_step(const BenchRow& row) {
  MeanStep mean;
  StepPartTime all;
  const auto add = [](StepPartTime& sum, const StepPartTime& time) {
    sum.seconds += time.seconds;
    sum.working_seconds += time.working_seconds;
  };
  const auto waiting = [](const StepPartTime& time) { return 1 - time.working_seconds / time.seconds; };
  for (const BenchRun& run : row.runs) {
    mean.steps += run.steps;
    mean.threads = run.threads;
    for (const StepPartTime& part : run.profile.parts) add(all, part);
  }
  if (mean.steps == 0 || all.seconds <= 0) return mean;
  const double steps = static_cast<double>(mean.steps);
  mean.ms = all.seconds / steps * 1000;
  mean.waiting = waiting(all);
  for (const PartName& name : kParts) {
    StepPartTime time;
    for (const BenchRun& run : row.runs) add(time, run.profile[name.part]);
    if (time.seconds <= 0) continue;
    mean.parts.push_back({.name = name.name,
                          .content = name.content,
                          .ms = time.seconds / steps * 1000,
                          .share = time.seconds / all.seconds,
                          .waiting = waiting(time)});
  }
  return mean;
}

}  // namespace

std::string profile_table(const BenchRow& row) {
  const MeanStep mean = mean_step(row);
  std::string out = fmt::format("the mean of {} steps on {} threads: {:.3f} ms, of which threads wait {:.0f} %\n\n",
                                mean.steps, mean.threads, mean.ms, 100 * mean.waiting);
  out += "| part | | ms | share | waiting |\n|---|---|---:|---:|---:|\n";
  for (const Part& part : mean.parts)
    out += fmt::format("| {} | {} | {:.3f} | {:.1f} % | {:.0f} % |\n", part.name, part.content, part.ms,
                       100 * part.share, 100 * part.waiting);
  return out;
}

boost::json::array profile_json(const BenchRow& row) {
  boost::json::array parts;
  for (const Part& part : mean_step(row).parts)
    parts.push_back({{"part", part.name}, {"ms", part.ms}, {"share", part.share}, {"waiting", part.waiting}});
  return parts;
}

}  // namespace octavo::cli

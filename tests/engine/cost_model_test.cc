#include "engine/schedule/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace octavo {
namespace {

const std::vector<AttentionWork> kLayers = {
    {.num_layers = 30, .window = 0, .kv_bytes = 23'040, .float_multiply_adds = 34'560}};

/// A machine whose steps cost exactly this.
struct Machine {
  double step = 3, row = 0.45, logit_row = 0.1, megabyte = 0.03, megamac = 0.02, speed = 1;

  double ms(const StepWork& work) const {
    return (step + row * work.rows + logit_row * work.logit_rows + megabyte * work.kv_bytes / 1e6 +
            megamac * work.attention_macs / 1e6) /
           speed;
  }
};

StepWork step_of(const CostModel& model, int decodes, int depth, int chunk, int chunk_begin) {
  StepWork work;
  for (int i = 0; i < decodes; ++i) work += model.work(depth, 1, 1);
  if (chunk > 0) work += model.work(chunk_begin, chunk, 0);
  return work;
}

void expect_close(const CostModel& model, const Machine& machine, const StepWork& work, double share) {
  EXPECT_NEAR(model.predict_ms(work), machine.ms(work), share * machine.ms(work))
      << work.rows << " rows, " << work.attention_macs << " multiply-adds of attention";
}

/// Steps of all kinds, in a random order.
void observe_many(CostModel& model, const Machine& machine, int count, double noise = 0) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> decodes(0, 32), depth(1, 4000), chunk(0, 300);
  std::uniform_real_distribution<double> error(-noise, noise);
  for (int i = 0; i < count; ++i) {
    const StepWork work = step_of(model, decodes(random), depth(random), chunk(random) + 1, depth(random));
    model.observe(work, machine.ms(work) * (1 + error(random)));
  }
}

TEST(CostModel, CountsWhatRowsSeeAndReadInEveryKindOfLayer) {
  const CostModel model({{.num_layers = 2, .window = 0, .kv_bytes = 100, .float_multiply_adds = 10},
                         {.num_layers = 4, .window = 8, .kv_bytes = 1, .float_multiply_adds = 1},
                         {.num_layers = 1, .window = 6, .is_chunked = true, .kv_bytes = 7, .float_multiply_adds = 3},
                         {.num_layers = 1, .only_logit_rows = true, .kv_bytes = 1000, .float_multiply_adds = 5}});
  const StepWork work = model.work(10, 3, 1);
  EXPECT_EQ(work.rows, 3);
  EXPECT_EQ(work.logit_rows, 1);
  EXPECT_EQ(work.kv_bytes, 100 * 13 + 1 * (13 - 3) + 7 * (13 - 6) + 1000 * 13);  // positions 0, 3 and 6 to 12
  EXPECT_EQ(work.attention_macs,
            10 * (11 + 12 + 13) + 1 * (8 + 8 + 8) + 3 * (5 + 6 + 1) + 5 * 13);  // tokens seen by each row
  const StepWork no_logits = model.work(5, 4, 0);
  EXPECT_EQ(no_logits.kv_bytes, 100 * 9 + 1 * 9 + 7 * 9);
  EXPECT_EQ(no_logits.attention_macs, 10 * (6 + 7 + 8 + 9) + (6 + 7 + 8 + 8) + 3 * (6 + 1 + 2 + 3));
}

TEST(CostModel, PredictsNothingBeforeItHasSeenAStep) {
  const CostModel model(kLayers);
  EXPECT_EQ(model.predict_ms(model.work(0, 100, 1)), 0);
}

TEST(CostModel, FindsTheCostsOfAMachineThatIsLinear) {
  CostModel model(kLayers);
  const Machine machine;
  observe_many(model, machine, 400);
  for (const int depth : {1, 500, 3000})
    for (const int decodes : {0, 1, 8, 32})
      for (const int chunk : {16, 64, 256})
        expect_close(model, machine, step_of(model, decodes, depth, chunk, depth), 0.05);
}

TEST(CostModel, NoiseOfATenthLeavesItWithinATenth) {
  CostModel model(kLayers);
  const Machine machine;
  observe_many(model, machine, 600, 0.1);
  for (const int chunk : {16, 64, 256}) expect_close(model, machine, step_of(model, 8, 500, chunk, 1000), 0.1);
}

TEST(CostModel, LongDecodingDoesNotWashOutWhatAChunkCosts) {
  CostModel model(kLayers);
  const Machine machine;
  observe_many(model, machine, 200);
  for (int depth = 100; depth < 3000; ++depth) {
    const StepWork work = step_of(model, 8, depth, 0, 0);
    model.observe(work, machine.ms(work));
  }
  expect_close(model, machine, step_of(model, 8, 3000, 128, 0), 0.15);
}

TEST(CostModel, FollowsAMachineThatBecomesSlowerWithinAFewSteps) {
  CostModel model(kLayers);
  Machine machine;
  observe_many(model, machine, 200);
  machine.speed = 0.5;
  for (int i = 0; i < 15; ++i) {
    const StepWork work = step_of(model, 8, 500 + i, 0, 0);
    model.observe(work, machine.ms(work));
  }
  expect_close(model, machine, step_of(model, 8, 515, 0, 0), 0.15);
  EXPECT_GT(model.predict_ms(step_of(model, 8, 515, 128, 0)), 0.5 * machine.ms(step_of(model, 8, 515, 128, 0)))
      << "chunks, too, are taken to be slower, though none was seen since";
}

const std::vector<ExpertsWork> kExperts = {
    {.num_experts = 128, .num_chosen = 8, .bytes = 1'000'000},
    {.num_experts = 128, .num_chosen = 8, .only_logit_rows = true, .bytes = 10'000}};

TEST(CostModel, OtherThreadsAreKnownWithinSomeStepsThoughOnlyChunksBecomeSlower) {
  CostModel model(kLayers);
  observe_many(model, Machine{}, 200);
  const Machine narrow{.row = 0.9, .megamac = 0.04};  // the rest is bound by memory
  model.change_threads();
  for (int i = 0; i < 20; ++i) {
    const StepWork work = step_of(model, 8, 1000 + i, i % 5 == 0 ? 100 : 0, 500);
    model.observe(work, narrow.ms(work));
  }
  expect_close(model, narrow, step_of(model, 8, 1000, 100, 700), 0.15);
  expect_close(model, narrow, step_of(model, 8, 1000, 0, 0), 0.15);
}

TEST(CostModel, ExpertsAreForeseenAsThoughRowsChoseByChance) {
  const CostModel model(kLayers, kExperts);
  EXPECT_DOUBLE_EQ(model.expert_bytes(model.work(0, 1, 1)), 8 * 1'010'000);
  EXPECT_DOUBLE_EQ(model.expert_bytes(model.work(0, 1, 0)), 8 * 1'000'000);
  const double of_ten = 128 * (1 - std::pow(1 - 8.0 / 128, 10));
  EXPECT_NEAR(model.expert_bytes(model.work(0, 10, 0)), of_ten * 1'000'000, 1);
  EXPECT_NEAR(model.expert_bytes(model.work(0, 4000, 0)), 128e6, 1);
}

TEST(CostModel, WhatStepsHaveReadCorrectsHowManyExpertsAreForeseen) {
  CostModel model(kLayers, kExperts);
  const auto real = [&](int rows) {  // rows that choose alike: half as many behind the first
    return static_cast<std::uint64_t>(1e6 * 128 * (1 - std::pow(1 - 8.0 / 128, 1 + 0.5 * (rows - 1))));
  };
  for (int i = 0; i < 40; ++i) {
    const int rows = 2 + i % 30;
    model.observe(model.work(0, rows, 0), 1, real(rows));
  }
  for (const int rows : {2, 8, 30, 60})
    EXPECT_NEAR(model.expert_bytes(model.work(0, rows, 0)), static_cast<double>(real(rows)), 0.01 * 128e6) << rows;
  EXPECT_DOUBLE_EQ(model.expert_bytes(model.work(0, 1, 0)), 8e6) << "one row has no company";
  for (int i = 0; i < 40; ++i) model.observe(model.work(0, 500, 0), 1, 128'000'000);
  EXPECT_NEAR(model.expert_bytes(model.work(0, 8, 0)), static_cast<double>(real(8)), 0.01 * 128e6)
      << "steps that read all experts say nothing";
}

TEST(CostModel, FindsTheCostOfReadingExperts) {
  CostModel model(kLayers, kExperts);
  const Machine machine;
  const auto expert_bytes = [&](const StepWork& work) { return static_cast<std::uint64_t>(model.expert_bytes(work)); };
  const auto ms = [&](const StepWork& work) {
    return machine.ms(work) + static_cast<double>(expert_bytes(work)) * 0.5e-6;
  };
  std::mt19937 random(7);
  for (int i = 0; i < 600; ++i) {
    const StepWork work = step_of(model, static_cast<int>(random() % 33), 500, static_cast<int>(random() % 300), 0);
    if (work.rows > 0) model.observe(work, ms(work), expert_bytes(work));
  }
  for (const int decodes : {1, 4, 16, 32}) {
    const StepWork work = step_of(model, decodes, 500, 0, 0);
    EXPECT_NEAR(model.predict_ms(work), ms(work), 0.1 * ms(work)) << decodes;
  }
}

TEST(CostModel, NeverPredictsLessForMore) {
  CostModel model(kLayers);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> ms(0.1, 100);
  for (int i = 0; i < 200; ++i) model.observe(model.work(i, 1 + i % 64, i % 2), ms(random));  // no machine is like that
  double before = 0;
  for (int rows = 1; rows <= 512; ++rows) {
    const double now = model.predict_ms(model.work(100, rows, 0));
    EXPECT_TRUE(std::isfinite(now));
    EXPECT_GE(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace octavo

// The load of a model as routers are told of it.
#include "server/load_report.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>

namespace octavo::test {
namespace {

using namespace server;
using namespace std::chrono_literals;
namespace json = boost::json;

EngineStats stats() {
  EngineStats some;
  some.kv.blocks_total = 100;
  some.kv.blocks_referenced = 25;
  some.kv.hits = 30;
  some.kv.misses = 70;
  some.running = 2;
  some.waiting = 3;
  some.prompts.add(1000);
  some.prompts.token_s = 0.25;
  return some;
}

ModelInfo info() {
  ModelInfo some;
  some.block_size = 16;
  some.kv_bytes_per_token = 10;
  some.kv_arena_bytes = 16'000;
  return some;
}

json::object load_of(const LoadReport& report, std::span<const std::uint64_t> lengths) {
  return json::parse(loads_json(report, lengths, "now")).at("loads").at(0).as_object();
}

TEST(LoadReport, HasTheMembersThatRoutersRead) {
  const EngineStats of = stats();
  const ModelInfo about = info();
  const LoadReport report{.info = about, .stats = of, .max_running = 8, .tokens_per_s = 12.5};
  const std::uint64_t length = 2000;
  const json::object load = load_of(report, std::span(&length, 1));
  EXPECT_EQ(load.at("num_running_reqs"), 2);
  EXPECT_EQ(load.at("num_waiting_reqs"), 3);
  EXPECT_EQ(load.at("num_total_reqs"), 5);
  EXPECT_EQ(load.at("num_waiting_uncached_tokens"), 1000);
  EXPECT_EQ(load.at("num_used_tokens"), 400);
  EXPECT_EQ(load.at("max_total_num_tokens"), 1600);
  EXPECT_EQ(load.at("token_usage"), 0.25);
  EXPECT_EQ(load.at("cache_hit_rate").to_number<double>(), 0.3);
  EXPECT_EQ(load.at("gen_throughput"), 12.5);
  EXPECT_EQ(load.at("max_running_requests"), 8);
  EXPECT_EQ(load.at("predicted_wait").at(0).at("tokens_before"), 1000);
  EXPECT_EQ(load.at("predicted_wait").at(0).at("seconds").to_number<double>(), 250);
}

TEST(LoadReport, PredictsNothingWithoutAPrice) {
  EngineStats of = stats();
  of.prompts.token_s = 0;
  const ModelInfo about = info();
  const json::object load = load_of({.info = about, .stats = of}, kPredictedLengths);
  EXPECT_EQ(load.at("predicted_wait").as_array().size(), kPredictedLengths.size());
  EXPECT_TRUE(load.at("predicted_wait").at(0).at("seconds").is_null());
}

TEST(LoadReport, OfAnEngineWithoutMemoryHasNoNumberThatIsNone) {
  const EngineStats none;
  const ModelInfo about;
  const json::object load = load_of({.info = about, .stats = none}, {});
  EXPECT_EQ(load.at("token_usage").to_number<double>(), 0);
  EXPECT_EQ(load.at("cache_hit_rate").to_number<double>(), 0);
  EXPECT_EQ(load.at("max_total_num_tokens"), 0);
}

TEST(OrcaLoad, HasTwoFormatsInAnyCase) {
  EXPECT_EQ(orca_load("TEXT", stats()), "named_metrics.kv_cache_usage_perc=0.25,named_metrics.num_requests_waiting=3");
  EXPECT_EQ(orca_load("json", stats()), R"({"named_metrics":{"kv_cache_usage_perc":0.25,"num_requests_waiting":3}})");
  EXPECT_EQ(orca_load("BIN", stats()), "");
}

TEST(TokenRate, IsMeasuredOverASecondAtLeast) {
  TokenRate rate;
  const TokenRate::Clock::time_point begin{};
  rate.observe(100, begin);
  EXPECT_EQ(rate.tokens_per_s(), 0);
  rate.observe(150, begin + 500ms);
  EXPECT_EQ(rate.tokens_per_s(), 0);
  rate.observe(300, begin + 2s);
  EXPECT_EQ(rate.tokens_per_s(), 100);
  rate.observe(300, begin + 4s);
  EXPECT_EQ(rate.tokens_per_s(), 0);
}

TEST(TokenRate, BeginsAgainWithAnotherEngine) {
  TokenRate rate;
  const TokenRate::Clock::time_point begin{};
  rate.observe(1000, begin);
  rate.observe(10, begin + 2s);
  EXPECT_EQ(rate.tokens_per_s(), 0);
  rate.observe(30, begin + 4s);
  EXPECT_EQ(rate.tokens_per_s(), 10);
}

}  // namespace
}  // namespace octavo::test

// Metrics under vLLM's names.
#include "server/metrics_names.h"

#include <gmock/gmock.h>

namespace octavo::test {
namespace {

using namespace server;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using ::testing::ElementsAre;

ClientMetric metric(std::vector<ClientMetric::Label> labels, double value) {
  ClientMetric made;
  made.label = std::move(labels);
  made.counter.value = value;
  return made;
}

std::vector<MetricFamily> families() {
  return {{.name = "octavo:num_requests_running", .metric = {metric({{"model_name", "a"}}, 3)}},
          {.name = "octavo:kv_blocks_total", .metric = {metric({{"model_name", "a"}}, 5)}},
          {.name = "octavo:request_success_total",
           .metric = {metric({{"model_name", "a"}, {"finished_reason", "length"}}, 1),
                      metric({{"model_name", "a"}, {"finished_reason", "context"}}, 2),
                      metric({{"model_name", "a"}, {"finished_reason", "cancelled"}}, 4),
                      metric({{"model_name", "a"}, {"finished_reason", "failed"}}, 8)}}};
}

std::vector<std::string> names_of(const std::vector<MetricFamily>& families) {
  std::vector<std::string> names;
  for (const MetricFamily& family : families) names.push_back(family.name);
  return names;
}

TEST(MetricsNames, AreOctavosUnlessAskedFor) {
  auto all = families();
  name_metrics(all, MetricsNames::kOctavo);
  EXPECT_EQ(names_of(all), names_of(families()));
}

TEST(MetricsNames, ThoseOfVllmTakeTheirPlace) {
  auto all = families();
  name_metrics(all, MetricsNames::kVllm);
  EXPECT_THAT(names_of(all),
              ElementsAre("vllm:num_requests_running", "octavo:kv_blocks_total", "vllm:request_success_total"));
  EXPECT_EQ(all.front().metric.front().label.back().name, "engine");
  EXPECT_EQ(all.front().metric.front().counter.value, 3);
}

TEST(MetricsNames, BothAreThereWhereBothAreAskedFor) {
  auto all = families();
  name_metrics(all, MetricsNames::kBoth);
  EXPECT_THAT(names_of(all),
              ElementsAre("octavo:num_requests_running", "octavo:kv_blocks_total", "octavo:request_success_total",
                          "vllm:num_requests_running", "vllm:request_success_total"));
}

TEST(MetricsNames, ReasonsAreVllmsAndThoseThatBecomeOneAreAddedUp) {
  auto all = families();
  name_metrics(all, MetricsNames::kVllm);
  std::vector<std::pair<std::string, double>> reasons;
  for (const ClientMetric& one : all.back().metric) reasons.emplace_back(one.label[1].value, one.counter.value);
  EXPECT_THAT(reasons, ElementsAre(std::pair("length", 3.0), std::pair("abort", 4.0), std::pair("error", 8.0)));
}

}  // namespace
}  // namespace octavo::test

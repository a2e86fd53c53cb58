// The fingerprint of what a server adds to a request.
#include "api/call/settings_fingerprint.h"

#include <gmock/gmock.h>

#include <functional>
#include <set>

namespace octavo {
namespace {

using ::testing::MatchesRegex;

ServedModel model() {
  ServedModel some;
  some.policy.template_names = {{"enable_thinking", true}};
  return some;
}

ModelInfo info() {
  ModelInfo some;
  some.chat_template = "{{ messages }}";
  some.max_context = 100;
  some.end_tokens = {{.id = 2}};
  return some;
}

TEST(SettingsFingerprint, IsTheSameForTheSameSettings) {
  EXPECT_THAT(settings_fingerprint(model(), info()), MatchesRegex("set_[0-9a-f]{16}"));
  EXPECT_EQ(settings_fingerprint(model(), info()), settings_fingerprint(model(), info()));
}

TEST(SettingsFingerprint, ChangesWithEachSettingThatDecides) {
  const std::vector<std::function<void(ServedModel&, ModelInfo&)>> changes = {
      [](ServedModel&, ModelInfo&) {},
      [](ServedModel&, ModelInfo& info) { info.chat_template += ' '; },
      [](ServedModel&, ModelInfo& info) { info.max_context = 101; },
      [](ServedModel&, ModelInfo& info) { info.end_tokens.push_back({.id = 3}); },
      [](ServedModel& model, ModelInfo&) { model.sampling_defaults.temperature = 0.5F; },
      [](ServedModel& model, ModelInfo&) { model.sampling_defaults.order = {SamplerStep::kTopK}; },
      [](ServedModel& model, ModelInfo&) { model.sampling_defaults.dry.breakers = {"x"}; },
      [](ServedModel& model, ModelInfo&) { model.policy.max_tokens = 7; },
      [](ServedModel& model, ModelInfo&) { model.policy.reasoning_budget = 7; },
      [](ServedModel& model, ModelInfo&) { model.policy.reasoning_mode = ReasoningMode::kPlain; },
      [](ServedModel& model, ModelInfo&) { model.policy.closes_objects = false; },
      [](ServedModel& model, ModelInfo&) { model.policy.image_placeholder = "[image]"; },
      [](ServedModel& model, ModelInfo&) { model.policy.template_names = {{"enable_thinking", false}}; },
      [](ServedModel& model, ModelInfo&) { model.policy.template_names = {{"enable_thinking", std::string("true")}}; },
      [](ServedModel& model, ModelInfo&) { model.policy.template_names.emplace_back("a", std::int64_t{1}); },
  };
  std::set<std::string> seen;
  for (const auto& change : changes) {
    ServedModel served = model();
    ModelInfo about = info();
    change(served, about);
    seen.insert(settings_fingerprint(served, about));
  }
  EXPECT_EQ(seen.size(), changes.size());
}

TEST(SettingsFingerprint, IsNotOfWhatDecidesNothing) {
  ServedModel other = model();
  other.id = "other";
  other.policy.max_answer_bytes = 1;
  other.policy.max_client_priority = 5;
  EXPECT_EQ(settings_fingerprint(other, info()), settings_fingerprint(model(), info()));
}

}  // namespace
}  // namespace octavo

// Ways to say whether an answer thinks, which hold in each API, and what is said where one has no effect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/api_named.h"
#include "api/openai_bodies.h"
#include "api/responses/response_store.h"
#include "api/shown_request.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct ApiBody {
  std::string_view api;
  std::string needed;
};
const ApiBody kChats[] = {{"openai_chat", kUser},
                          {"messages", R"("max_tokens": 5, )" + kUser},
                          {"responses", R"("input": "a")"},
                          {"ollama_chat", kUser},
                          {"ollama_generate", R"("prompt": "a")"}};

class Thinking : public ::testing::Test {
 protected:
  Thinking() { words_.set_thinking({.name = "enable_thinking", .efforts = {"low", "high"}}); }

  ApiResult<CompletionCall> read(const ApiBody& body, const std::string& fields) {
    ResponseStore store({});
    return parse_call(api_named(body.api), boost::json::parse("{" + body.needed + ", " + fields + "}").as_object(),
                      words_, model_, {.store = &store});
  }
  /// What the template finds.
  boost::json::object names(const ApiBody& body, const std::string& fields) {
    const auto call = read(body, fields);
    EXPECT_TRUE(call.has_value()) << body.api << " " << fields << ": " << call.error().message;
    EXPECT_THAT(call->warnings, IsEmpty()) << body.api << " " << fields;
    return json_of(TemplateValue(words_.last_options.names)).as_object();
  }
  Warnings warnings(const ApiBody& body, const std::string& fields) {
    const auto call = read(body, fields);
    EXPECT_TRUE(call.has_value()) << body.api << " " << fields << ": " << call.error().message;
    return call ? call->warnings : Warnings();
  }

  FakeText words_;
  ServedModel model_ = kAskedModel;
};

TEST_F(Thinking, IsTurnedOffInEveryApiByEachOfItsNames) {
  for (const ApiBody& body : kChats)
    for (const char* off :
         {R"("reasoning_effort": "none")", R"("enable_thinking": false)", R"("think": false)", R"("think": "none")",
          R"("thinking": {"type": "disabled"})", R"("thinking": false)", R"("thinking": "disabled")",
          R"("reasoning": {"enabled": false})", R"("reasoning": {"effort": "none"})", R"("reasoning": false)",
          R"("chat_template_kwargs": {"enable_thinking": false})", R"("chat_template_kwargs": {"thinking": false})",
          R"("chat_template_kwargs": {"reasoning_effort": "none"})",
          R"("chat_template_kwargs": {"thinking_mode": "disabled"})",
          R"("chat_template_kwargs": {"thinking_budget": 0})"})
      EXPECT_EQ(names(body, off)["enable_thinking"], false) << body.api << " " << off;
}

TEST_F(Thinking, IsTurnedOnByEachOfItsNamesAndByALevel) {
  model_.policy.template_names = {{"enable_thinking", false}};
  for (const ApiBody& body : kChats)
    for (const char* on :
         {R"("enable_thinking": true)", R"("think": true)", R"("thinking": {"type": "enabled"})",
          R"("thinking": {"type": "adaptive"})", R"("reasoning": {"enabled": true})", R"("reasoning_effort": "high")",
          R"("reasoning": {"effort": "low"})", R"("think": "high")", R"("chat_template_kwargs": {"thinking": true})"})
      EXPECT_EQ(names(body, on)["enable_thinking"], true) << body.api << " " << on;
}

TEST_F(Thinking, IsLeftToTheTemplateWhereNothingIsSaid) {
  for (const ApiBody& body : kChats)
    for (const char* none : {R"("reasoning_effort": null)", R"("thinking": null)", R"("reasoning": {})",
                             R"("reasoning": {"exclude": true})", R"("chat_template_kwargs": {"depth": 1})"})
      EXPECT_FALSE(names(body, none).contains("enable_thinking")) << body.api << " " << none;
}

TEST_F(Thinking, ALevelYieldsToASwitch) {
  for (const char* fields : {R"("reasoning_effort": "high", "enable_thinking": false)",
                             R"("enable_thinking": false, "chat_template_kwargs": {"reasoning_effort": "high"})"}) {
    const auto shown = names(kChats[0], fields);
    EXPECT_EQ(shown.at("enable_thinking"), false);
    EXPECT_EQ(shown.at("reasoning_effort"), "high");
  }
}

TEST_F(Thinking, TwoSwitchesThatSayTheOppositeAreRefusedByTheSecond) {
  for (const auto& [fields, param] :
       {std::pair{R"("enable_thinking": true, "think": false)", "think"},
        std::pair{R"("thinking": {"type": "enabled"}, "chat_template_kwargs": {"enable_thinking": false})",
                  "chat_template_kwargs.enable_thinking"},
        std::pair{R"("reasoning_effort": "none", "enable_thinking": true)", "reasoning_effort"}}) {
    const auto call = read(kChats[0], fields);
    ASSERT_FALSE(call.has_value()) << fields;
    EXPECT_EQ(call.error().param, param) << fields;
    EXPECT_THAT(call.error().message, HasSubstr("the opposite")) << fields;
  }
  EXPECT_TRUE(read(kChats[0], R"("enable_thinking": false, "think": false)"));
}

TEST_F(Thinking, ThatATemplateHasNoSwitchForIsAWarning) {
  words_.set_thinking({});
  for (const ApiBody& body : kChats) {
    EXPECT_THAT(warnings(body, R"("enable_thinking": false)"),
                ElementsAre("enable_thinking: the model's chat template has no switch for thinking: it has no effect"));
    EXPECT_THAT(warnings(body, R"("thinking": {"type": "enabled"})"), ElementsAre(HasSubstr("no effect")));
    EXPECT_THAT(warnings(body, R"("reasoning_effort": "high")"),
                ElementsAre(HasSubstr("tells no levels of thinking apart")));
    EXPECT_THAT(warnings(body, R"("stream": false)"), IsEmpty());
  }
}

TEST_F(Thinking, ALevelThatTheTemplateDoesNotTakeIsAWarning) {
  EXPECT_THAT(warnings(kChats[0], R"("reasoning_effort": "medium")"), ElementsAre(HasSubstr("which takes low, high")));
  EXPECT_THAT(warnings(kChats[0], R"("reasoning_effort": "low")"), IsEmpty());
}

TEST_F(Thinking, WithoutASwitchIsClosedWhereItBegins) {
  words_.set_thinking({});
  words_.set_reasoning("think");
  for (const ApiBody& body : kChats) {
    const auto call = read(body, R"("enable_thinking": false)");
    ASSERT_TRUE(call.has_value()) << call.error().message;
    EXPECT_EQ(call->requests.at(0).reasoning.budget, 0) << body.api;
    EXPECT_THAT(call->warnings, ElementsAre(HasSubstr("closed where it begins"))) << body.api;
    EXPECT_NE(read(body, R"("enable_thinking": true)")->requests.at(0).reasoning.budget, 0) << body.api;
  }
}

TEST_F(Thinking, OfAModelWhoseTemplateHasASwitchHasTheBudgetThatItHad) {
  words_.set_reasoning("think");
  EXPECT_EQ(read(kChats[0], R"("enable_thinking": false)")->requests.at(0).reasoning.budget, 100);
}

TEST_F(Thinking, IsNotShownWhereItIsExcluded) {
  words_.set_reasoning("think");
  EXPECT_FALSE(read(kChats[0], R"("reasoning": {"exclude": true})")->reasoning.is_shown);
  EXPECT_TRUE(read(kChats[0], R"("reasoning": {"exclude": false})")->reasoning.is_shown);
}

TEST_F(Thinking, OfACompletionIsAWarning) {
  const ApiBody completions[] = {{"openai_completion", R"("prompt": "a")"}, {"llama_completion", R"("prompt": "a")"}};
  for (const ApiBody& body : completions)
    EXPECT_THAT(
        warnings(body, R"("reasoning_effort": "none", "enable_thinking": true)"),
        UnorderedElementsAre(HasSubstr("reasoning_effort: it is ignored"), HasSubstr("enable_thinking: it is ignored")))
        << body.api;
  EXPECT_THAT(warnings(kChats[4], R"("raw": true, "think": false)"), ElementsAre(HasSubstr("think: it is ignored")));
}

TEST_F(Thinking, SaidByAWrongValueIsRefused) {
  for (const ApiBody& body : kChats)
    for (const auto& [fields, param] :
         {std::pair{R"("enable_thinking": "no")", "enable_thinking"},
          std::pair{R"("thinking": {"type": "maybe"})", "thinking.type"},
          std::pair{R"("thinking": {"budget_tokens": 5})", "thinking.type"},
          std::pair{R"("reasoning": 5)", "reasoning"}, std::pair{R"("reasoning": {"enabled": 1})", "reasoning.enabled"},
          std::pair{R"("think": 3)", "think"}}) {
      const auto call = read(body, fields);
      ASSERT_FALSE(call.has_value()) << body.api << " " << fields;
      EXPECT_EQ(call.error().param, param) << body.api << " " << fields;
    }
}

}  // namespace
}  // namespace octavo

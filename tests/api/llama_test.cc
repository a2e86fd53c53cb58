// llama.cpp's routes, and gaps in texts by whichever API: what their bodies ask for, and how answers are written.
#include <gmock/gmock.h>

#include <map>
#include <utility>

#include "api/api_named.h"
#include "api/buffered_answer.h"
#include "api/llama/llama_props.h"
#include "api/llama/llama_request.h"
#include "api/openai_response.h"
#include "api/tokenize_handler.h"
#include "octavo/version.h"

namespace octavo {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

json::object parsed(const std::string& text) { return json::parse(text).as_object(); }

class LlamaRequest : public ::testing::Test {
 protected:
  LlamaRequest() { words_.set_fills_gaps(); }
  ApiResult<CompletionCall> call(const Api& api, const std::string& fields) {
    return parse_call(api, parsed("{" + fields + "}"), words_, kAnsweringModel, {});
  }
  std::string prompt(const Api& api, const std::string& fields) {
    const auto made = call(api, fields);
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return made ? words_.detokenize(made->requests.front().tokens) : std::string();
  }

  FakeText words_;
};

TEST_F(LlamaRequest, ACompletionGoesOnUntilTheContextEndsIfNothingElseIsAsked) {
  EXPECT_EQ(call(api_named("llama_completion"), R"("prompt": "ab")")->requests[0].max_tokens, 0);
  EXPECT_EQ(call(api_named("llama_completion"), R"("prompt": "ab", "n_predict": -1)")->requests[0].max_tokens, 0);
  EXPECT_EQ(call(api_named("llama_completion"), R"("prompt": "ab", "n_predict": 5)")->requests[0].max_tokens, 5);
  EXPECT_EQ(call(api_named("llama_completion"), R"("prompt": [1, 2], "n_predict": 5)")->requests[0].tokens,
            (std::vector<TokenId>{1, 2}));
  const auto sampled = call(api_named("llama_completion"), R"("prompt": "ab", "temperature": 0.5, "repeat_penalty": 1.5,
      "stop": ["x"], "cache_prompt": true, "id_slot": -1)");
  EXPECT_EQ(sampled->requests[0].sampling.temperature, 0.5F);
  EXPECT_EQ(sampled->requests[0].sampling.repetition_penalty, 1.5F);
  EXPECT_THAT(sampled->stop, ElementsAre("x"));
}

TEST_F(LlamaRequest, TheServersLimitCountsWhereARequestNamesNone) {
  ServedModel model = kAnsweringModel;
  model.policy.max_tokens = 7;
  const auto limit = [&](const Api& api, const std::string& fields) {
    const auto made = parse_call(api, parsed("{" + fields + "}"), words_, model, {});
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return made ? made->requests.front().max_tokens : -2;
  };
  const std::string messages = R"("messages": [{"role": "user", "content": "a"}])";
  EXPECT_EQ(limit(api_named("llama_completion"), R"("prompt": "a")"), 7);
  EXPECT_EQ(limit(api_named("openai_completion"), R"("prompt": "a")"), 7);
  EXPECT_EQ(limit(api_named("openai_chat"), messages), 7);
  EXPECT_EQ(limit(api_named("openai_chat"), messages + R"(, "max_tokens": 9)"), 9);
  EXPECT_EQ(limit(api_named("openai_chat"), messages + R"(, "max_tokens": -1)"), 0);
  EXPECT_EQ(limit(api_named("llama_completion"), R"("prompt": "a", "n_predict": -1)"), 0);
}

TEST_F(LlamaRequest, ContentIsTokenizedAsThereWithoutABeginningUnlessItIsAskedFor) {
  words_.adds_bos = true;
  BufferBudget budget({.answer_bytes = 1000, .all_bytes = 1000});
  const auto tokens = [&](const std::string& fields) {
    BufferedAnswer held(budget);
    const auto text =
        answer_by({.answer = answer_tokenize, .body = parsed("{" + fields + "}")}, words_, kAnsweringModel, held);
    EXPECT_TRUE(text.has_value()) << text.error().message;
    return text ? parsed(*text).at("count").as_int64() : -1;
  };
  EXPECT_EQ(tokens(R"("prompt": "ab")"), 3);
  EXPECT_EQ(tokens(R"("content": "ab", "add_special": true)"), 3);
  EXPECT_EQ(tokens(R"("content": "<bos>")"), 1);
  EXPECT_EQ(tokens(R"("content": "<bos>", "parse_special": false)"), 5);
  EXPECT_EQ(tokens(R"("content": "ab")"), 2);
  EXPECT_EQ(tokens(R"("prompt": "ab", "add_special_tokens": false)"), 2);
}

TEST_F(LlamaRequest, PiecesOfTokensAreTextsOrTheirBytes) {
  BufferBudget budget({.answer_bytes = 1000, .all_bytes = 1000});
  BufferedAnswer held(budget);
  const auto text =
      answer_by({.answer = answer_tokenize, .body = parsed(R"({"content": "<bos>aä", "with_pieces": true})")}, words_,
                kAnsweringModel, held);
  ASSERT_TRUE(text.has_value()) << text.error().message;
  EXPECT_EQ(*text, R"({"tokens":[{"id":256,"piece":"<bos>"},{"id":97,"piece":"a"},{"id":195,"piece":[195]},)"
                   R"({"id":164,"piece":[164]}]})");
}

TEST_F(LlamaRequest, TokensHaveTheTextsOfTheVocabularyWhereVllmsFieldAsksForThem) {
  BufferBudget budget({.answer_bytes = 1000, .all_bytes = 1000});
  BufferedAnswer held(budget);
  const auto text =
      answer_by({.answer = answer_tokenize, .body = parsed(R"({"prompt": "<bos>b", "return_token_strs": true})")},
                words_, kAnsweringModel, held);
  ASSERT_TRUE(text.has_value()) << text.error().message;
  EXPECT_EQ(*text, R"JSON({"count":2,"max_model_len":100,"tokens":[256,98],"token_strs":["(bos)","b"]})JSON");
}

TEST_F(LlamaRequest, AGapIsBetweenPrefixAndPromptAndSuffix) {
  EXPECT_EQ(prompt(api_named("llama_infill"), R"("input_prefix": "a", "prompt": "b", "input_suffix": "c")"), "(ab)c_");
  EXPECT_EQ(prompt(api_named("llama_infill"), R"("input_prefix": "a", "input_suffix": "c", "input_extra": [
                {"filename": "x", "text": "y"}, {"text": "z"}])"),
            "{x:y}{tmp:z}(a)c_");
  EXPECT_EQ(prompt(api_named("openai_completion"), R"("prompt": "a", "suffix": "c")"), "(a)c_");
  EXPECT_EQ(prompt(api_named("ollama_generate"), R"("prompt": "a", "suffix": "c")"), "(a)c_");
  EXPECT_EQ(call(api_named("llama_infill"), R"("input_prefix": "a", "input_suffix": "c")")->requests[0].max_tokens, 0);
  EXPECT_EQ(call(api_named("openai_completion"), R"("prompt": "a", "suffix": "c")")->requests[0].max_tokens, 16);
}

TEST_F(LlamaRequest, FilesThatDoNotFitBesideTheAnswerAreLeftOutFromTheFirstOn) {
  const std::string files = R"("input_extra": [{"text": "012345678901234567890123456789"}, {"text": "near"}])";
  const auto made =
      call(api_named("llama_infill"), R"("input_prefix": "a", "input_suffix": "c", "n_predict": 70, )" + files);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(words_.detokenize(made->requests[0].tokens), "{tmp:near}(a)c_");
  EXPECT_THAT(made->warnings, ElementsAre(HasSubstr("the first 1 of 2 files are left out")));
  EXPECT_THAT(call(api_named("llama_infill"), R"("input_prefix": "a", "input_suffix": "c", )" + files)->warnings,
              IsEmpty());
}

TEST_F(LlamaRequest, ALimitBeyondTheContextIsCutAndLeavesTheGapItsRoom) {
  for (const std::string_view name : {"llama_completion", "llama_infill", "openai_completion"}) {
    const Api& api = api_named(name);
    const auto cut = call(api, R"("prompt": "ab", "input_prefix": "a", "input_suffix": "c",
        "input_extra": [{"text": "x"}], "n_predict": 100000)");
    ASSERT_TRUE(cut.has_value()) << cut.error().message;
    EXPECT_EQ(static_cast<std::size_t>(cut->requests[0].max_tokens) + cut->prompts[0].num_tokens, 100U);
    EXPECT_THAT(cut->warnings, Contains(StartsWith("n_predict: found 100000, cut to ")));
  }
  EXPECT_EQ(prompt(api_named("openai_completion"), R"("prompt": "a", "suffix": "c", "max_tokens": 100000)"), "(a)c_");
  EXPECT_EQ(prompt(api_named("llama_infill"), R"("input_prefix": "a", "input_suffix": "c",
                "input_extra": [{"text": "x"}], "n_predict": 100000)"),
            "(a)c_");
}

TEST_F(LlamaRequest, NoTokensAreThePromptAlone) {
  for (const char* fields : {R"("prompt": "ab", "n_predict": 0)", R"("prompt": "ab", "max_tokens": 0)"}) {
    const auto made = call(api_named("llama_completion"), fields);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    EXPECT_EQ(made->requests[0].max_tokens, -1);
    EXPECT_TRUE(made->requests[0].on_prompt_logits);
  }
}

TEST_F(LlamaRequest, TheSamplerOfGapsIsLeftOutWithAWarning) {
  const auto made = call(api_named("llama_infill"),
                         R"("input_prefix": "a", "input_suffix": "c", "samplers": ["top_k", "top_p", "infill"])");
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_THAT(made->requests[0].sampling.order, SizeIs(2));
  EXPECT_THAT(made->warnings, ElementsAre(HasSubstr("infill is left out")));
}

TEST_F(LlamaRequest, WhatIsWrongIsRefusedWithItsField) {
  const std::string gap = R"("input_prefix": "a", "input_suffix": "c")";
  const std::map<std::string, std::string> infill = {
      {R"("input_suffix": "c")", "input_prefix"},
      {R"("input_prefix": "a")", "input_suffix"},
      {R"("input_prefix": 5, "input_suffix": "c")", "input_prefix"},
      {gap + R"(, "input_extra": {})", "input_extra"},
      {gap + R"(, "input_extra": [5])", "input_extra[0]"},
      {gap + R"(, "input_extra": [{"filename": "x"}])", "input_extra[0].text"},
      {gap + R"(, "n_predict": -3)", "n_predict"},
      {gap + R"(, "n_predict": 98, "min_tokens": 98)", "min_tokens"},
      {gap + R"(, "n_probs": -1)", "n_probs"},
      {gap + R"(, "n_probs": 1, "post_sampling_probs": true)", "post_sampling_probs"},
      {gap + R"(, "n": 2)", "n"}};
  for (const auto& [fields, param] : infill) {
    const auto made = call(api_named("llama_infill"), fields);
    ASSERT_FALSE(made.has_value()) << fields;
    EXPECT_EQ(made.error().param, param) << made.error().message;
    EXPECT_EQ(made.error().status, 400);
  }
  EXPECT_EQ(call(api_named("llama_completion"), R"("prompt": ["a", "b"])").error().param, "prompt[0]");
  EXPECT_EQ(call(api_named("openai_completion"), R"("prompt": ["a"], "suffix": "b")").error().param, "prompt");
  EXPECT_EQ(call(api_named("openai_completion"), R"("prompt": "a", "suffix": 5)").error().param, "suffix");
  EXPECT_EQ(call(api_named("openai_completion"), R"("prompt": "a", "suffix": "b", "echo": true)").error().param,
            "echo");
}

TEST_F(LlamaRequest, AModelThatFillsNoGapsIs501) {
  const FakeText none;
  for (const auto& [name, fields] :
       std::map<std::string_view, std::string>{{"llama_infill", R"({"input_prefix": "a", "input_suffix": "c"})"},
                                               {"openai_completion", R"({"prompt": "a", "suffix": "c"})"},
                                               {"ollama_generate", R"({"prompt": "a", "suffix": "c"})"}}) {
    const auto made = parse_call(api_named(name), parsed(fields), none, kAnsweringModel, {});
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().status, 501);
    EXPECT_EQ(made.error().code, "unsupported_model");
    EXPECT_EQ(made.error().param, name == "llama_infill" ? "input_suffix" : "suffix");
    EXPECT_THAT(made.error().message, ::testing::StartsWith(made.error().param + ": Text fills no gaps"));
  }
}

class LlamaAnswers : public ::testing::Test {
 protected:
  void open(const std::string& fields) {
    auto call =
        parse_call(api_named("llama_completion"), parsed(R"({"prompt": "ab", "stop": ["X", "Y"])" + fields + "}"),
                   words_, kAnsweringModel, {});
    ASSERT_TRUE(call.has_value()) << call.error().message;
    call_ = std::move(*call);
    writer_ = new_writer(api_named("llama_completion"), call_, words_);
  }
  std::string send(RequestEvent end) {
    std::string out = call_.stream ? writer_->begin() : std::string();
    for (const RequestEvent& event : {token(4, " Hel"), token(5, "lo\n"), std::move(end)})
      out += writer_->on_event(event);
    return out + writer_->finish();
  }

  FakeText words_;
  CompletionCall call_;
  std::unique_ptr<AnswerWriter> writer_;
};

TEST_F(LlamaAnswers, AWholeOneIsOneObject) {
  open("");
  const json::object answer = parsed(send(last(8, "", FinishReason::kStop)));
  EXPECT_EQ(answer.at("content"), " Hello\n");
  EXPECT_EQ(answer.at("stop"), true);
  EXPECT_EQ(answer.at("stop_type"), "eos");
  EXPECT_EQ(answer.at("stopping_word"), "");
  EXPECT_EQ(answer.at("tokens_predicted"), 2);
  EXPECT_EQ(answer.at("tokens_evaluated"), 10);
  EXPECT_EQ(answer.at("timings").at("cache_n"), 4);
  EXPECT_EQ(answer.at("timings").at("prompt_n"), 6);
  EXPECT_FALSE(answer.contains("warnings"));
}

TEST_F(LlamaAnswers, AStreamIsPiecesAndAnEnd) {
  open(R"(, "stream": true)");
  RequestEvent end = last(8, "", FinishReason::kStop);
  end.stats.stop_text = 1;
  const std::vector<json::object> events = events_of(send(end));
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].at("content"), " Hel");
  EXPECT_EQ(events[0].at("stop"), false);
  EXPECT_EQ(events[2].at("content"), "");
  EXPECT_EQ(events[2].at("stop"), true);
  EXPECT_EQ(events[2].at("stop_type"), "word");
  EXPECT_EQ(events[2].at("stopping_word"), "Y");
}

TEST_F(LlamaAnswers, TokensAreThoseThatWereGeneratedIfTheyAreAskedForOrStreamed) {
  const RequestEvent end = last(FakeText::kEnd, "", FinishReason::kStop);
  const auto tokens_of = [](const json::object& object) { return json::serialize(object.at("tokens")); };
  open("");
  EXPECT_EQ(tokens_of(parsed(send(end))), "[]");
  open(R"(, "return_tokens": true)");
  EXPECT_EQ(tokens_of(parsed(send(end))), "[4,5,257]");
  open(R"(, "stream": true)");
  const std::vector<json::object> events = events_of(send(end));
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(tokens_of(events[0]), "[4]");
  EXPECT_EQ(tokens_of(events[1]), "[5]");
  EXPECT_EQ(tokens_of(events[2]), "[257]");
}

std::vector<RequestEvent> events_with_logprobs() {
  RequestEvent hello = token(FakeText::kHello, "Hello");
  hello.top_logprobs = {{.token = FakeText::kHello, .logprob = -0.5F}, {.token = 'x', .logprob = -2}};
  return {hello, token(FakeText::kWorld, " world"), last(FakeText::kEnd, "", FinishReason::kStop)};
}

TEST_F(LlamaAnswers, ProbabilitiesAreThoseOfTheAnswersTokensWithTheirIds) {
  open(R"(, "n_probs": 2)");
  EXPECT_EQ(call_.requests[0].top_logprobs, 2);
  for (const RequestEvent& event : events_with_logprobs()) writer_->on_event(event);
  const json::object answer = parsed(writer_->finish());
  ASSERT_EQ(answer.at("completion_probabilities").as_array().size(), 2U);
  EXPECT_EQ(json::serialize(answer.at("completion_probabilities").at(0)),
            R"({"id":258,"token":"Hello","logprob":-5E-1,"bytes":[72,101,108,108,111],"top_logprobs":[)"
            R"({"id":258,"token":"Hello","logprob":-5E-1,"bytes":[72,101,108,108,111]},)"
            R"({"id":120,"token":"x","logprob":-2,"bytes":[120]}]})");
  open("");
  for (const RequestEvent& event : events_with_logprobs()) writer_->on_event(event);
  EXPECT_FALSE(parsed(writer_->finish()).contains("completion_probabilities"));
}

TEST_F(LlamaAnswers, AStreamsPiecesHaveTheProbabilitiesOfTheirTokens) {
  open(R"(, "n_probs": 1000, "stream": true)");
  EXPECT_EQ(call_.requests[0].top_logprobs, kMaxTopLogprobs);
  EXPECT_THAT(call_.warnings, Contains(StartsWith("n_probs: found 1000, cut to 20")));
  std::string bytes = writer_->begin();
  for (const RequestEvent& event : events_with_logprobs()) bytes += writer_->on_event(event);
  const std::vector<json::object> events = events_of(bytes + writer_->finish());
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].at("completion_probabilities").at(0).at("id"), 258);
  EXPECT_EQ(events[1].at("completion_probabilities").at(0).at("id"), 259);
  EXPECT_FALSE(events[2].contains("completion_probabilities"));
}

TEST_F(LlamaAnswers, ALimitAndAnErrorAreTold) {
  open(R"(, "stream": true)");
  EXPECT_THAT(send(last(8, "", FinishReason::kLength)), HasSubstr(R"("stop_type":"limit")"));
  open(R"(, "stream": true)");
  EXPECT_THAT(writer_->on_event(last(8, "", FinishReason::kFailed)), HasSubstr("data: {\"error\":{"));
}

TEST(LlamaProps, HaveTheModelAndTheSettingsOfAnAnswerThatNamesNone) {
  ModelInfo info;
  info.max_context = 100;
  info.chat_template = "{{ x }}";
  info.file_name = "text.gguf";
  const ServedModel model{.id = "text", .sampling_defaults = {.temperature = 0.5F}, .policy = {.max_choices = 7}};
  const json::object props = llama_props(model, info);
  const json::value& settings = props.at("default_generation_settings");
  EXPECT_EQ(settings.at("n_ctx"), 100);
  EXPECT_EQ(settings.at("params").at("temperature"), 0.5F);
  EXPECT_FALSE(settings.at("params").at("samplers").as_array().empty());
  EXPECT_EQ(props.at("total_slots"), 7);
  EXPECT_EQ(props.at("model_alias"), "text");
  EXPECT_EQ(props.at("chat_template"), "{{ x }}");
  EXPECT_EQ(props.at("modalities").at("vision"), false);
  EXPECT_EQ(props.at("build_info"), "octavo " OCTAVO_VERSION_STRING);
}

}  // namespace
}  // namespace octavo

// Fields that are wrong, and those that Octavo has nothing for, are refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "api/openai_bodies.h"

namespace octavo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

struct BadField {
  const char* fields;
  const char* param;
};

class OpenAiBadField : public OpenAiRequest, public ::testing::WithParamInterface<BadField> {};

TEST_P(OpenAiBadField, IsRefusedWithItsNameAndWhatWasFound) {
  const ApiError error = completion_error(GetParam().fields);
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.type, "invalid_request_error");
  EXPECT_EQ(error.param, GetParam().param);
  EXPECT_THAT(error.code, ::testing::AnyOf("invalid_type", "invalid_value"));
  EXPECT_THAT(error.message, AllOf(HasSubstr("found"), HasSubstr("expected")));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, OpenAiBadField,
    ::testing::Values(
        BadField{R"("temperature": 100.5)", "temperature"}, BadField{R"("temperature": -0.1)", "temperature"},
        BadField{R"("temperature": "1")", "temperature"}, BadField{R"("temperature": 1e999)", "temperature"},
        BadField{R"("top_p": 1.1)", "top_p"}, BadField{R"("top_p": [])", "top_p"}, BadField{R"("top_k": -2)", "top_k"},
        BadField{R"("top_k": 1.5)", "top_k"}, BadField{R"("top_k": 3000000000)", "top_k"},
        BadField{R"("min_p": 2)", "min_p"}, BadField{R"("presence_penalty": 2.1)", "presence_penalty"},
        BadField{R"("frequency_penalty": -3)", "frequency_penalty"},
        BadField{R"("repetition_penalty": 0)", "repetition_penalty"},
        BadField{R"("repetition_penalty": -1)", "repetition_penalty"}, BadField{R"("n": 0)", "n"},
        BadField{R"("n": 129)", "n"}, BadField{R"("n": true)", "n"}, BadField{R"("n": "2")", "n"},
        BadField{R"("max_tokens": -3)", "max_tokens"}, BadField{R"("max_tokens": "5")", "max_tokens"},
        BadField{R"("min_tokens": -1)", "min_tokens"}, BadField{R"("min_tokens": 6, "max_tokens": 5)", "min_tokens"},
        BadField{R"("min_tokens": 17)", "min_tokens"}, BadField{R"("min_tokens": 1, "max_tokens": 0)", "min_tokens"},
        BadField{R"("max_tokens": 1.5)", "max_tokens"}, BadField{R"("max_tokens": 0, "n": 2)", "n"},
        BadField{R"("ignore_eos": 1)", "ignore_eos"}, BadField{R"("stream": "yes")", "stream"},

        BadField{R"("stream": true, "stream_options": 5)", "stream_options"},
        BadField{R"("stream": true, "stream_options": {"include_usage": 1})", "stream_options.include_usage"},
        BadField{R"("stop": 5)", "stop"}, BadField{R"("stop": [5])", "stop[0]"},
        BadField{R"("stop_token_ids": 5)", "stop_token_ids"},
        BadField{R"("stop_token_ids": [264])", "stop_token_ids[0]"}, BadField{R"("logit_bias": [5])", "logit_bias[0]"},
        BadField{R"("logit_bias": {"": 1})", "logit_bias"}, BadField{R"("logit_bias": {"x": "a"})", "logit_bias.x"},
        BadField{R"("logit_bias": [["", 1]])", "logit_bias[0][0]"},
        BadField{R"("logit_bias": [["x", true]])", "logit_bias[0][1]"},
        BadField{R"("logit_bias": [[null, 1]])", "logit_bias[0][0]"},
        BadField{R"("logit_bias": {"-1": 1})", "logit_bias"}, BadField{R"("logit_bias": [[5]])", "logit_bias[0]"},
        BadField{R"("logit_bias": {"5": "a"})", "logit_bias.5"}, BadField{R"("logprobs": true)", "logprobs"},
        BadField{R"("logprobs": 21)", "logprobs"}, BadField{R"("echo": 1)", "echo"},
        BadField{R"("priority": 1001)", "priority"}, BadField{R"("deadline_s": 0)", "deadline_s"},
        BadField{R"("cache_salt": "")", "cache_salt"}, BadField{R"("cache_salt": 5)", "cache_salt"},
        BadField{R"("return_token_ids": "x")", "return_token_ids"},
        BadField{R"("return_progress": 1)", "return_progress"}, BadField{R"("model": 5)", "model"}));

class OpenAiUnsupported : public OpenAiRequest, public ::testing::WithParamInterface<BadField> {};

TEST_P(OpenAiUnsupported, IsRefusedNotIgnored) {
  const ApiError error = chat_error(kUser + ", " + GetParam().fields);
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.param, GetParam().param);
  EXPECT_EQ(error.code, "unsupported_parameter");
}

INSTANTIATE_TEST_SUITE_P(
    Features, OpenAiUnsupported,
    ::testing::Values(
        BadField{R"("tools": [{"type": "function", "function": {"name": "f"}}])", "tools"},
        BadField{R"("tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "auto")", "tools"},
        BadField{R"("functions": [{"name": "f"}])", "functions"},
        BadField{R"("chat_template": "{{ messages }}")", "chat_template"},
        BadField{R"("documents": [{"text": "x"}])", "documents"},
        BadField{R"("prompt_logprobs": 1)", "prompt_logprobs"}, BadField{R"("lora": [{"id": 0, "scale": 1}])", "lora"},
        BadField{R"("image_data": [{"data": ""}])", "image_data"},
        BadField{R"("response_format": {"type": "xml"})", "response_format.type"},
        BadField{R"("suffix": "x")", "suffix"}, BadField{R"("audio": {"voice": "x"})", "audio"},
        BadField{R"("modalities": ["text", "audio"])", "modalities"},
        BadField{R"("include_stop_str_in_output": true)", "include_stop_str_in_output"},
        BadField{R"("use_beam_search": true)", "use_beam_search"},
        BadField{R"("add_generation_prompt": false)", "add_generation_prompt"}, BadField{R"("echo": true)", "echo"}));

TEST_F(OpenAiRequest, DocumentsAreGivenToATemplateThatHasAPlaceForThem) {
  const std::string documents = R"("documents": [{"title": "a", "text": "b"}])";
  words_.set_chat_template("{% for d in documents %}{{ d.text }}{% endfor %}");
  ASSERT_TRUE(chat(kUser + ", " + documents).has_value());
  ASSERT_EQ(words_.last_options.names.size(), 1U);
  EXPECT_EQ(words_.last_options.names[0].first, "documents");
  const auto& given = std::get<TemplateList>(words_.last_options.names[0].second);
  EXPECT_EQ(std::get<TemplateDict>(given.at(0)).size(), 2U);
  EXPECT_EQ(chat_error(kUser + R"(, "documents": ["b"])").param, "documents[0]");
  EXPECT_TRUE(chat(kUser + R"(, "documents": [])").has_value());
  const ApiError error = completion_error(documents);
  EXPECT_EQ(error.param, "documents");
  EXPECT_EQ(error.code, "unsupported_parameter");
}

TEST_F(OpenAiRequest, ControlTokensAreShownIfTheyAreNotToBeSkipped) {
  EXPECT_FALSE(request("").shows_control_tokens);
  EXPECT_FALSE(request(R"("skip_special_tokens": true)").shows_control_tokens);
  EXPECT_TRUE(request(R"("skip_special_tokens": false)").shows_control_tokens);
}

TEST_F(OpenAiRequest, LogProbabilitiesOfAPromptAreNotStreamed) {
  const ApiError error = completion_error(R"("prompt_logprobs": 1, "stream": true)");
  EXPECT_EQ(error.param, "prompt_logprobs");
  EXPECT_EQ(error.code, "unsupported_parameter");
  EXPECT_EQ(completion_error(R"("prompt_logprobs": 21)").param, "prompt_logprobs");
  EXPECT_EQ(completion_error(R"("prompt_logprobs": -1)").param, "prompt_logprobs");
  EXPECT_TRUE(completion(R"("prompt": "ab", "prompt_logprobs": 0, "stream": true)").has_value()) << "as in vLLM";
  EXPECT_EQ(request("").on_prompt_logits, nullptr);
  EXPECT_NE(request(R"("prompt_logprobs": 0)").on_prompt_logits, nullptr);
}

class OpenAiIgnored : public OpenAiRequest, public ::testing::WithParamInterface<BadField> {};

TEST_P(OpenAiIgnored, IsLeftOutAndAWarningNamesIt) {
  const auto call = chat(kUser + ", " + GetParam().fields);
  ASSERT_TRUE(call.has_value()) << call.error().message;
  EXPECT_THAT(call->warnings, ElementsAre(::testing::StartsWith(std::string(GetParam().param) + ": ")));
}

INSTANTIATE_TEST_SUITE_P(Fields, OpenAiIgnored,
                         ::testing::Values(BadField{R"("best_of": 3)", "best_of"}, BadField{R"("tfs_z": 0.9)", "tfs_z"},
                                           BadField{R"("top_a": 0.2)", "top_a"},
                                           BadField{R"("epsilon_cutoff": 1)", "epsilon_cutoff"},
                                           BadField{R"("eta_cutoff": 1)", "eta_cutoff"},
                                           BadField{R"("length_penalty": 1.2)", "length_penalty"},
                                           BadField{R"("logprobs": false, "top_logprobs": 3)", "top_logprobs"}));

TEST_F(OpenAiRequest, WhatChangesNothingIsLetPassWithoutAWarning) {
  const auto call = chat(kUser + R"(, "stream_options": {"include_usage": true}, "prediction": null, "tfs_z": 1,
      "length_penalty": 1, "truncate_prompt_tokens": -1, "add_special_tokens": false, "stop": ["", "x"],
      "logit_bias": {"50256": -100}, "lora": [], "image_data": [])");
  ASSERT_TRUE(call.has_value()) << call.error().message;
  EXPECT_THAT(call->warnings, IsEmpty());
  EXPECT_THAT(call->stop, ElementsAre("x"));
  EXPECT_FALSE(call->include_usage) << "of a stream alone";
  EXPECT_THAT(call->requests[0].sampling.logit_bias, IsEmpty()) << "no such token";
  EXPECT_TRUE(request(R"("stop": "")").stop.empty());
}

TEST_F(OpenAiRequest, ATemperatureMayBeAsHighAsAHundred) {
  EXPECT_EQ(request(R"("temperature": 100)").sampling.temperature, 100);
  EXPECT_EQ(request(R"("dynatemp_range": 100)").sampling.dynamic_temperature.range, 100);
}

TEST_F(OpenAiRequest, BiasesMayBeLlamaCppsPairs) {
  EXPECT_THAT(request(R"("logit_bias": [[5, 1.5], [6, false], [7, -200]])").sampling.logit_bias,
              ElementsAre(Pair(5, 1.5F), Pair(6, -100), Pair(7, -100)));
  EXPECT_THAT(request(R"("logit_bias": {"5": 1000})").sampling.logit_bias, ElementsAre(Pair(5, 100)));
}

TEST_F(OpenAiRequest, ABiasOfATextIsThatOfEachOfItsTokens) {
  EXPECT_THAT(request(R"("logit_bias": [["ab", -1.5], ["5", false], [5, 2]])").sampling.logit_bias,
              ElementsAre(Pair('a', -1.5F), Pair('b', -1.5F), Pair('5', -100), Pair(5, 2)));
  EXPECT_THAT(request(R"("logit_bias": {"ab": 3, "7": 1, " 7": false})").sampling.logit_bias,
              ElementsAre(Pair('a', 3), Pair('b', 3), Pair(7, 1), Pair(' ', -100), Pair('7', -100)));
  EXPECT_THAT(request(R"("logit_bias": {"<bos>": 1})").sampling.logit_bias, SizeIs(5)) << "no control token is meant";
}

TEST_F(OpenAiRequest, TextsWithABiasHaveAsManyTokensAsThereMayBeBiases) {
  const auto biases = [](std::size_t num_bytes) {
    return R"("logit_bias": [["x", 1], [")" + std::string(num_bytes, 'a') + R"(", 1]])";
  };
  EXPECT_THAT(request(biases(1023)).sampling.logit_bias, SizeIs(1024));
  const ApiError error = completion_error(biases(1024));
  EXPECT_EQ(error.param, "logit_bias[1][0]");
  EXPECT_THAT(error.message, HasSubstr("found texts of more than 1024 tokens, expected at most as many"));
}

TEST_F(OpenAiRequest, StopTextsAreAtMostSixtyFour) {
  const auto stops = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) list += fmt::format("{}\"Name {}:\"", i > 0 ? "," : "", i);
    return "\"stop\": [" + list + "]";
  };
  EXPECT_THAT(request(stops(64)).stop, SizeIs(64));
  const ApiError error = completion_error(stops(65));
  EXPECT_EQ(error.param, "stop");
  EXPECT_THAT(error.message, HasSubstr("found 65 texts, expected at most 64"));
}

TEST_F(OpenAiRequest, APromptWithoutSpecialTokensHasNoBos) {
  words_.adds_bos = true;
  EXPECT_EQ(request("").tokens.size(), 3U);
  EXPECT_EQ(request(R"("add_special_tokens": false)").tokens.size(), 2U);
}

TEST_F(OpenAiRequest, FieldsThatAskForNothingAndUnknownOnesAreLetPass) {
  const auto call = chat(kUser + R"(, "tools": [], "tool_choice": "none", "functions": null, "best_of": 1, "suffix": "",
      "response_format": {"type": "text"}, "modalities": ["text"], "mirostat": 0, "typical_p": 1.0, "audio": null,
      "user": "me", "metadata": {"a": "b"}, "store": true, "service_tier": "auto", "parallel_tool_calls": false,
      "chat_template_kwargs": {"enable_thinking": false}, "what_is_this": [1, {"two": 3}])");
  EXPECT_TRUE(call.has_value()) << call.error().message;
  EXPECT_TRUE(chat(kUser + R"(, "tools": [{"type": "function"}], "tool_choice": "none")").has_value());
  EXPECT_TRUE(chat(kUser + R"(, "functions": [{"name": "f"}], "function_call": "none")").has_value());
  EXPECT_TRUE(chat(kUser + R"(, "n": 2, "best_of": 2)").has_value());
}

TEST_F(OpenAiRequest, AMessageShowsAPartsLongTypeShortened) {
  const ApiError error =
      chat_error(R"("messages": [{"role": "user", "content": [{"type": ")" + std::string(9000, 'x') + R"("}]}])");
  EXPECT_EQ(error.code, "unsupported_parameter");
  EXPECT_LT(error.message.size(), 200U);
}

TEST_F(OpenAiRequest, AMessageShowsLongValuesShortenedBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "\xC3\xA4";
  const ApiError error = completion_error(R"("temperature": "x)" + text + R"(")");
  EXPECT_THAT(error.message, HasSubstr("\xC3\xA4...\""));
  EXPECT_LT(error.message.size(), 150);
}

}  // namespace
}  // namespace octavo

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <boost/json/parse.hpp>

#include "server/completion.h"
#include "server/text_engine.h"

namespace octavo::server {
namespace {

using test::TextEngine;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const ServedModel kModel{.id = "text",
                         .aliases = {"Text.gguf"},
                         .created = 1,
                         .sampling_defaults = {.temperature = 0.5F, .top_k = 7},
                         .reasoning_budget = 100,
                         .max_client_priority = 5};

class OpenAiRequest : public ::testing::Test {
 protected:
  ApiResult<CompletionCall> completion(const std::string& fields) {
    return parse_completion(boost::json::parse("{" + fields + "}").as_object(), engine_, kModel);
  }
  ApiResult<CompletionCall> chat(const std::string& fields) {
    return parse_chat_completion(boost::json::parse("{" + fields + "}").as_object(), engine_, kModel);
  }
  /// The one request of a completion with this prompt and these fields.
  Request request(const std::string& fields) {
    auto call = completion(R"("prompt": "ab")" + (fields.empty() ? "" : ", " + fields));
    EXPECT_TRUE(call.has_value()) << fields << ": " << call.error().message;
    return call ? call->requests.at(0) : Request{};
  }
  ApiError completion_error(const std::string& fields) {
    const auto call = completion(R"("prompt": "ab", )" + fields);
    EXPECT_FALSE(call.has_value()) << fields;
    return call ? ApiError{.status = 200} : call.error();
  }
  ApiError chat_error(const std::string& fields) {
    const auto call = chat(fields);
    EXPECT_FALSE(call.has_value()) << fields;
    return call ? ApiError{.status = 200} : call.error();
  }
  std::string chat_prompt(const std::string& messages) {
    const auto call = chat(R"("messages": )" + messages);
    EXPECT_TRUE(call.has_value()) << messages << ": " << call.error().message;
    return call ? engine_.detokenize(call->requests.at(0).tokens) : "";
  }

  TextEngine engine_;
};

const std::string kUser = R"("messages": [{"role": "user", "content": "hi"}])";

TEST_F(OpenAiRequest, TakesAPromptInEachOfItsForms) {
  const auto tokens = [&](const std::string& prompt) {
    std::vector<std::vector<TokenId>> all;
    const auto call = completion(R"("prompt": )" + prompt);
    EXPECT_TRUE(call.has_value()) << prompt;
    if (call) {
      for (const Request& request : call->requests) all.push_back(request.tokens);
    }
    return all;
  };
  EXPECT_THAT(tokens(R"("ab")"), ElementsAre(ElementsAre('a', 'b')));
  EXPECT_THAT(tokens(R"(["ab", "c"])"), ElementsAre(ElementsAre('a', 'b'), ElementsAre('c')));
  EXPECT_THAT(tokens("[5, 6]"), ElementsAre(ElementsAre(5, 6)));
  EXPECT_THAT(tokens("[[5, 6], [7]]"), ElementsAre(ElementsAre(5, 6), ElementsAre(7)));
  EXPECT_THAT(tokens(R"("a<end>")"), ElementsAre(ElementsAre('a', TextEngine::kEnd)));
}

TEST_F(OpenAiRequest, AddsBosToTextButNotToIds) {
  engine_.adds_bos = true;
  EXPECT_THAT(completion(R"("prompt": "a")")->requests[0].tokens, ElementsAre(TextEngine::kBos, 'a'));
  EXPECT_THAT(completion(R"("prompt": [97])")->requests[0].tokens, ElementsAre(97));
}

TEST_F(OpenAiRequest, RefusesPromptsThatAreNone) {
  for (const std::string prompt :
       {"5", "true", "{}", "[]", R"("")", "[[]]", "[5, \"a\"]", "[\"a\", 5]", "[[5], [true]]", "[-1]", "[1.5]", "[264]",
        "[99999999999999999999]", "[null]", "[\"a\", \"\"]"}) {
    const auto call = completion(R"("prompt": )" + prompt);
    ASSERT_FALSE(call.has_value()) << prompt;
    EXPECT_EQ(call.error().status, 400) << prompt;
    EXPECT_THAT(call.error().param, HasSubstr("prompt")) << prompt;
    EXPECT_THAT(call.error().message, HasSubstr("expected")) << prompt;
  }
  const ApiError missing = completion(R"("n": 1)").error();
  EXPECT_EQ(missing.code, "missing_required_parameter");
  EXPECT_EQ(missing.param, "prompt");
}

TEST_F(OpenAiRequest, ReadsMessagesOfTextAndOfParts) {
  EXPECT_EQ(chat_prompt(R"([{"role": "user", "content": "hi"}])"), "<bos>user:hi;");
  EXPECT_EQ(chat_prompt(R"([{"role": "developer", "content": "be brief"}, {"role": "user", "content": [
                            {"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}])"),
            "<bos>system:be brief;user:one\ntwo;");
  EXPECT_EQ(chat_prompt(R"([{"role": "user", "content": "a", "name": "x"}, {"role": "assistant", "content": "b",
                            "tool_calls": []}, {"role": "user", "content": []}])"),
            "<bos>user:a;assistant:b;user:;");
}

TEST_F(OpenAiRequest, AnAssistantMayHaveSaidNothing) {
  EXPECT_EQ(chat_prompt(R"([{"role": "assistant", "content": null, "refusal": null, "tool_calls": null}])"),
            "<bos>assistant:;");
  EXPECT_EQ(chat_prompt(R"([{"role": "assistant"}, {"role": "user", "content": "", "name": "me"}])"),
            "<bos>assistant:;user:;");
}

TEST_F(OpenAiRequest, ReadsCallsOfToolsAndTheirResults) {
  const auto call = chat(R"("messages": [{"role": "user", "content": "w?"}, {"role": "assistant", "content": null,
      "reasoning_content": "hm", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}},
        {"id": "c2", "function": {"name": "g", "arguments": {"b": [true, null, 0.5]}}}, {"function": {"name": "h"}}]},
      {"role": "tool", "tool_call_id": "c1", "name": "f", "content": [{"type": "text", "text": "cold"}]},
      {"role": "function", "name": "g", "content": "x"}])");
  ASSERT_TRUE(call) << call.error().message;
  const std::vector<ChatMessage>& messages = engine_.last_messages;
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_EQ(messages[1].reasoning, "hm");
  ASSERT_EQ(messages[1].tool_calls.size(), 3U);
  EXPECT_EQ(messages[1].tool_calls[0].id, "c1");
  EXPECT_EQ(messages[1].tool_calls[0].name, "f");
  EXPECT_EQ(messages[1].tool_calls[0].arguments, TemplateValue(std::string(R"({"a": 1})")));
  const TemplateList list = {true, {}, 0.5};
  EXPECT_EQ(messages[1].tool_calls[1].arguments, TemplateValue(TemplateDict{{"b", list}}));
  EXPECT_EQ(messages[1].tool_calls[2].arguments, TemplateValue(std::string("{}")));
  EXPECT_EQ(messages[2].role, "tool");
  EXPECT_EQ(messages[2].tool_call_id, "c1");
  EXPECT_EQ(messages[2].parts, std::vector<std::string>{"cold"});
  EXPECT_EQ(messages[3].role, "tool");
  EXPECT_EQ(messages[3].name, "g");
}

TEST_F(OpenAiRequest, ReadsEarlierReasoningUnderItsTwoNames) {
  const auto reasoning = [&](const std::string& fields) {
    EXPECT_TRUE(chat(R"("messages": [{"role": "assistant", "content": "a", )" + fields + "}]")) << fields;
    return engine_.last_messages.at(0).reasoning;
  };
  EXPECT_EQ(reasoning(R"("reasoning_content": "a")"), "a");
  EXPECT_EQ(reasoning(R"("reasoning": "b")"), "b");
  EXPECT_EQ(reasoning(R"("reasoning": "b", "reasoning_content": "a")"), "a");
  EXPECT_EQ(reasoning(R"("reasoning": null)"), "");
  EXPECT_EQ(chat_error(R"("messages": [{"role": "assistant", "reasoning": 5}])").param, "messages[0].reasoning");
}

TEST_F(OpenAiRequest, CallsThatItCannotReadAreRefused) {
  const auto param = [&](const std::string& calls) {
    return chat_error(R"("messages": [{"role": "assistant", "content": null, "tool_calls": )" + calls + "}]").param;
  };
  EXPECT_EQ(param("5"), "messages[0].tool_calls");
  EXPECT_EQ(param("[5]"), "messages[0].tool_calls[0]");
  EXPECT_EQ(param(R"([{"id": "1"}])"), "messages[0].tool_calls[0].function");
  EXPECT_EQ(param(R"([{"function": {"arguments": "{}"}}])"), "messages[0].tool_calls[0].function.name");
  EXPECT_EQ(param(R"([{"function": {"name": "f", "arguments": 5}}])"), "messages[0].tool_calls[0].function.arguments");
  EXPECT_EQ(param(R"([{"type": "custom", "custom": {}}])"), "messages[0].tool_calls[0].type");
  EXPECT_EQ(
      chat_error(R"("messages": [{"role": "user", "content": "", "tool_calls": [{"function": {"name": "f"}}]}])").param,
      "messages[0].tool_calls");
  EXPECT_EQ(chat_error(R"("messages": [{"role": "assistant", "content": null, "function_call": {"name": "f"}}])").code,
            "unsupported_parameter");
}

TEST_F(OpenAiRequest, ThePromptMayEndWithTheLastMessage) {
  ASSERT_TRUE(chat(kUser));
  EXPECT_TRUE(engine_.last_options.add_generation_prompt);
  EXPECT_FALSE(engine_.last_options.continue_final_message);
  ASSERT_TRUE(chat(kUser + R"(, "add_generation_prompt": false, "continue_final_message": true)"));
  EXPECT_FALSE(engine_.last_options.add_generation_prompt);
  EXPECT_TRUE(engine_.last_options.continue_final_message);
  const ApiError both = chat_error(kUser + R"(, "continue_final_message": true)");
  EXPECT_EQ(both.param, "continue_final_message");
  EXPECT_THAT(both.message, HasSubstr("add_generation_prompt"));
  EXPECT_EQ(completion_error(R"("add_generation_prompt": false, "continue_final_message": true)").param,
            "continue_final_message");
}

TEST_F(OpenAiRequest, ToolsThatMayNotBeCalledAreShownToTheTemplate) {
  ASSERT_TRUE(chat(kUser + R"(, "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "none")"));
  const TemplateDict function = {{"name", std::string("f")}};
  EXPECT_EQ(engine_.last_options.tools,
            TemplateValue(TemplateList{TemplateDict{{"type", std::string("function")}, {"function", function}}}));
  EXPECT_FALSE(engine_.last_options.require_tools);
  EXPECT_EQ(chat_error(kUser + R"(, "tools": [5], "tool_choice": "none")").param, "tools[0]");
}

TEST_F(OpenAiRequest, RefusesMessagesThatItCannotRead) {
  const auto param = [&](const std::string& messages) { return chat_error(R"("messages": )" + messages).param; };
  EXPECT_EQ(param("null"), "messages");
  EXPECT_EQ(param("[]"), "messages");
  EXPECT_EQ(param("\"hi\""), "messages");
  EXPECT_EQ(param("[\"hi\"]"), "messages[0]");
  EXPECT_EQ(param(R"([{"content": "hi"}])"), "messages[0].role");
  EXPECT_EQ(param(R"([{"role": 5, "content": "hi"}])"), "messages[0].role");
  EXPECT_EQ(param(R"([{"role": "critic", "content": "hi"}])"), "messages[0].role");
  EXPECT_EQ(param(R"([{"role": "tool"}])"), "messages[0].content");
  EXPECT_EQ(param(R"([{"role": "user"}])"), "messages[0].content");
  EXPECT_EQ(param(R"([{"role": "system", "content": null}])"), "messages[0].content");
  EXPECT_EQ(param(R"([{"role": "user", "content": 5}])"), "messages[0].content");
  EXPECT_EQ(param(R"([{"role": "user", "content": ["hi"]}])"), "messages[0].content[0]");
  EXPECT_EQ(param(R"([{"role": "user", "content": [{"text": "hi"}]}])"), "messages[0].content[0]");
  EXPECT_EQ(param(R"([{"role": "user", "content": [{"type": "text"}]}])"), "messages[0].content[0]");
  EXPECT_EQ(param(R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}])"),
            "messages[0].content[0]");
}

TEST_F(OpenAiRequest, SamplingDefaultsAreTheModelsOwn) {
  const SamplingParams sampling = request("").sampling;
  EXPECT_EQ(sampling.temperature, 0.5F);
  EXPECT_EQ(sampling.top_k, 7);
  EXPECT_EQ(sampling.top_p, 1);
  EXPECT_EQ(request(R"("temperature": null)").sampling.temperature, 0.5F);
}

TEST_F(OpenAiRequest, ReadsEverySamplingField) {
  const Request found = request(
      R"("temperature": 0, "top_p": 0.9, "top_k": 5, "min_p": 0.1, "seed": 42, "repetition_penalty": 1.5,
         "frequency_penalty": -2, "presence_penalty": 2, "logit_bias": {"5": -100, "6": 1.5}, "n": 3, "min_tokens": 2,
         "ignore_eos": true, "stop": ["x", "yz"], "stop_token_ids": [8, 9], "deadline_s": 2.5)");
  EXPECT_EQ(found.sampling.temperature, 0);
  EXPECT_EQ(found.sampling.top_p, 0.9F);
  EXPECT_EQ(found.sampling.top_k, 5);
  EXPECT_EQ(found.sampling.min_p, 0.1F);
  EXPECT_EQ(found.sampling.seed, 42);
  EXPECT_EQ(found.sampling.repetition_penalty, 1.5F);
  EXPECT_EQ(found.sampling.frequency_penalty, -2);
  EXPECT_EQ(found.sampling.presence_penalty, 2);
  EXPECT_THAT(found.sampling.logit_bias, ElementsAre(Pair(5, -100), Pair(6, 1.5F)));
  EXPECT_EQ(found.num_choices, 3);
  EXPECT_EQ(found.min_tokens, 2);
  EXPECT_TRUE(found.ignore_eos);
  EXPECT_THAT(found.stop, ElementsAre("x", "yz"));
  EXPECT_THAT(found.stop_tokens, ElementsAre(8, 9));
  EXPECT_EQ(found.deadline_s, 2.5);
}

TEST_F(OpenAiRequest, ReadsEverySamplerByItsNameInLlamaCpp) {
  const SamplingParams found =
      request(
          R"("typical_p": 0.5, "top_n_sigma": 1.5, "xtc_probability": 0.25, "xtc_threshold": 0.125, "dynatemp_range": 0.5,
         "dynatemp_exponent": 2, "repeat_last_n": 64, "dry_multiplier": 0.75, "dry_base": 2, "dry_allowed_length": 3,
         "dry_penalty_last_n": 128, "dry_sequence_breakers": ["a", "bc"], "mirostat": 2, "mirostat_tau": 4,
         "mirostat_eta": 0.25, "samplers": ["dry", "top_k", "temperature"])")
          .sampling;
  EXPECT_EQ(found.typical_p, 0.5F);
  EXPECT_EQ(found.top_n_sigma, 1.5F);
  EXPECT_EQ(found.xtc.probability, 0.25F);
  EXPECT_EQ(found.xtc.threshold, 0.125F);
  EXPECT_EQ(found.dynamic_temperature.range, 0.5F);
  EXPECT_EQ(found.dynamic_temperature.exponent, 2);
  EXPECT_EQ(found.penalty_window, 64);
  EXPECT_EQ(found.dry.multiplier, 0.75F);
  EXPECT_EQ(found.dry.base, 2);
  EXPECT_EQ(found.dry.allowed_length, 3);
  EXPECT_EQ(found.dry.window, 128);
  EXPECT_THAT(found.dry.breakers, ElementsAre("a", "bc"));
  EXPECT_TRUE(found.mirostat.enabled);
  EXPECT_EQ(found.mirostat.tau, 4);
  EXPECT_EQ(found.mirostat.eta, 0.25F);
  EXPECT_THAT(found.order, ElementsAre(SamplerStep::kTopK, SamplerStep::kTemperature));
}

TEST_F(OpenAiRequest, LlamaCppsMinusOneIsAllTokensAndZeroNone) {
  const SamplingParams all = request(R"("repeat_penalty": 1.5, "repeat_last_n": -1, "dry_multiplier": 1,
                                        "dry_penalty_last_n": -1, "top_n_sigma": -1)")
                                 .sampling;
  EXPECT_EQ(all.repetition_penalty, 1.5F);
  EXPECT_EQ(all.penalty_window, 0);
  EXPECT_EQ(all.dry.multiplier, 1);
  EXPECT_EQ(all.dry.window, 0);
  EXPECT_EQ(all.top_n_sigma, 0);
  const SamplingParams none =
      request(R"("repeat_penalty": 1.5, "presence_penalty": 1, "repeat_last_n": 0, "dry_multiplier": 1,
                 "dry_penalty_last_n": 0)")
          .sampling;
  EXPECT_EQ(none.repetition_penalty, 1);
  EXPECT_EQ(none.presence_penalty, 0);
  EXPECT_EQ(none.dry.multiplier, 0);
}

TEST_F(OpenAiRequest, WordsAndTokensThatMayBeDrawnAreVllms) {
  const SamplingParams found = request(R"("allowed_token_ids": [1, 2], "bad_words": ["ab"])").sampling;
  EXPECT_THAT(found.allowed_tokens, ElementsAre(1, 2));
  ASSERT_EQ(found.bad_words.size(), 2) << "at the beginning, and behind a space";
  EXPECT_EQ(found.bad_words[0], *engine_.tokenize("ab", {.add_special = false, .parse_special = false}));
  EXPECT_EQ(found.bad_words[1], *engine_.tokenize(" ab", {.add_special = false, .parse_special = false}));
}

TEST_F(OpenAiRequest, SamplersOutOfRangeAreRefusedByName) {
  for (const auto& [field, param] : std::vector<std::pair<std::string, std::string>>{
           {R"("typical_p": 1.5)", "typical_p"},
           {R"("top_n_sigma": -2)", "top_n_sigma"},
           {R"("xtc_probability": 2)", "xtc_probability"},
           {R"("dynatemp_range": 3)", "dynatemp_range"},
           {R"("dry_base": 0)", "dry_base"},
           {R"("dry_sequence_breakers": ["a", ""])", "dry_sequence_breakers[1]"},
           {R"("dry_sequence_breakers": "a")", "dry_sequence_breakers"},
           {R"("mirostat": 1)", "mirostat"},
           {R"("mirostat": 3)", "mirostat"},
           {R"("samplers": ["top_q"])", "samplers"},
           {R"("samplers": "top_k;top_k")", "samplers"},
           {R"("allowed_token_ids": [])", "allowed_token_ids"},
           {R"("allowed_token_ids": [-1])", "allowed_token_ids[0]"},
           {R"("bad_words": "x")", "bad_words"},
           {R"("bad_words": [""])", "bad_words[0]"}}) {
    EXPECT_EQ(completion_error(field).param, param) << field;
  }
}

TEST_F(OpenAiRequest, AcceptsTheOtherNamesThatClientsSend) {
  EXPECT_EQ(request(R"("repeat_penalty": 1.25)").sampling.repetition_penalty, 1.25F);
  EXPECT_EQ(request(R"("repeat_penalty": 1.25, "repetition_penalty": 1.25)").sampling.repetition_penalty, 1.25F);
  EXPECT_EQ(completion_error(R"("repeat_penalty": 1.25, "repetition_penalty": 1.5)").param, "repeat_penalty");
  EXPECT_EQ(request(R"("top_k": -1)").sampling.top_k, 0);
  EXPECT_EQ(request(R"("top_k": 5.0)").sampling.top_k, 5);
  EXPECT_THAT(request(R"("stop": "x")").stop, ElementsAre("x"));
}

// vLLM's clients, who invented the field, send the lower number for what is to go earlier.
TEST_F(OpenAiRequest, TheLowerThePriorityTheEarlier) {
  EXPECT_EQ(request(R"("priority": 5)").priority, -5);
  EXPECT_EQ(request(R"("priority": -5)").priority, 5);
  EXPECT_EQ(request("").priority, 0);
}

TEST_F(OpenAiRequest, APriorityBeyondTheServersLimitIsRefusedWithTheLimit) {
  EXPECT_THAT(completion_error(R"("priority": -6)").message,
              HasSubstr("priority: found the number -6, expected an integer from -5 to 1000"));
  const auto object = boost::json::parse(R"({"prompt": "ab", "priority": -1})").as_object();
  const auto call = parse_completion(object, engine_, {.id = "text"});
  ASSERT_FALSE(call) << "by default clients can only step back";
  EXPECT_THAT(call.error().message, HasSubstr("priority: found the number -1, expected an integer from 0 to 1000"));
}

TEST_F(OpenAiRequest, AnySixtyFourBitIntegerIsASeedAndNoneIsRandom) {
  EXPECT_EQ(request(R"("seed": -1)").sampling.seed, ~std::uint64_t{0});
  EXPECT_EQ(request(R"("seed": 18446744073709551615)").sampling.seed, ~std::uint64_t{0});
  EXPECT_NE(request("").sampling.seed, request("").sampling.seed);
  EXPECT_EQ(completion_error(R"("seed": 1.5)").param, "seed");
}

TEST_F(OpenAiRequest, EqualPromptsHaveSeedsOfTheirOwnUnlessOneIsGiven) {
  const auto drawn = completion(R"("prompt": ["a", "a"])");
  EXPECT_NE(drawn->requests[0].sampling.seed, drawn->requests[1].sampling.seed);
  const auto given = completion(R"("prompt": ["a", "a"], "seed": 3)");
  EXPECT_EQ(given->requests[0].sampling.seed, 3);
  EXPECT_EQ(given->requests[1].sampling.seed, 3);
}

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
        BadField{R"("temperature": 2.5)", "temperature"}, BadField{R"("temperature": -0.1)", "temperature"},
        BadField{R"("temperature": "1")", "temperature"}, BadField{R"("temperature": 1e999)", "temperature"},
        BadField{R"("top_p": 1.1)", "top_p"}, BadField{R"("top_p": [])", "top_p"}, BadField{R"("top_k": -2)", "top_k"},
        BadField{R"("top_k": 1.5)", "top_k"}, BadField{R"("top_k": 3000000000)", "top_k"},
        BadField{R"("min_p": 2)", "min_p"}, BadField{R"("presence_penalty": 2.1)", "presence_penalty"},
        BadField{R"("frequency_penalty": -3)", "frequency_penalty"},
        BadField{R"("repetition_penalty": 0)", "repetition_penalty"},
        BadField{R"("repetition_penalty": -1)", "repetition_penalty"}, BadField{R"("n": 0)", "n"},
        BadField{R"("n": 129)", "n"}, BadField{R"("n": true)", "n"}, BadField{R"("n": "2")", "n"},
        BadField{R"("max_tokens": -1)", "max_tokens"}, BadField{R"("max_tokens": "5")", "max_tokens"},
        BadField{R"("min_tokens": -1)", "min_tokens"}, BadField{R"("min_tokens": 6, "max_tokens": 5)", "min_tokens"},
        BadField{R"("min_tokens": 17)", "min_tokens"}, BadField{R"("min_tokens": 1, "max_tokens": 0)", "min_tokens"},
        BadField{R"("max_tokens": 0, "n": 2)", "n"}, BadField{R"("ignore_eos": 1)", "ignore_eos"},
        BadField{R"("stream": "yes")", "stream"}, BadField{R"("stream_options": {})", "stream_options"},
        BadField{R"("stream": true, "stream_options": 5)", "stream_options"},
        BadField{R"("stream": true, "stream_options": {"include_usage": 1})", "stream_options.include_usage"},
        BadField{R"("stop": 5)", "stop"}, BadField{R"("stop": "")", "stop"}, BadField{R"("stop": [5])", "stop[0]"},
        BadField{R"("stop": ["a", ""])", "stop"},
        BadField{R"("stop": ["a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a"])", "stop"},
        BadField{R"("stop_token_ids": 5)", "stop_token_ids"},
        BadField{R"("stop_token_ids": [264])", "stop_token_ids[0]"}, BadField{R"("logit_bias": [])", "logit_bias"},
        BadField{R"("logit_bias": {"x": 1})", "logit_bias"}, BadField{R"("logit_bias": {"264": 1})", "logit_bias"},
        BadField{R"("logit_bias": {"-1": 1})", "logit_bias"}, BadField{R"("logit_bias": {"5": 101})", "logit_bias.5"},
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
        BadField{R"("tools": [{"type": "function"}])", "tools"},
        BadField{R"("tools": [{"type": "function"}], "tool_choice": "auto")", "tools"},
        BadField{R"("tool_choice": "required")", "tool_choice"},
        BadField{R"("tool_choice": {"type": "function"})", "tool_choice"},
        BadField{R"("functions": [{"name": "f"}])", "functions"},
        BadField{R"("function_call": {"name": "f"})", "function_call"}, BadField{R"("regex": "a+")", "regex"},
        BadField{R"("ebnf": "root ::= x")", "ebnf"}, BadField{R"("mirostat_mode": 2)", "mirostat_mode"},
        BadField{R"("tfs_z": 0.9)", "tfs_z"}, BadField{R"("skip_special_tokens": false)", "skip_special_tokens"},
        BadField{R"("response_format": {"type": "json_object"})", "response_format"},
        BadField{R"("response_format": {"type": "json_schema"})", "response_format"},
        BadField{R"("best_of": 3)", "best_of"}, BadField{R"("suffix": "x")", "suffix"},
        BadField{R"("audio": {"voice": "x"})", "audio"}, BadField{R"("modalities": ["text", "audio"])", "modalities"},
        BadField{R"("guided_json": {"type": "object"})", "guided_json"},
        BadField{R"("grammar": "root ::= x")", "grammar"},
        BadField{R"("include_stop_str_in_output": true)", "include_stop_str_in_output"},
        BadField{R"("use_beam_search": true)", "use_beam_search"},
        BadField{R"("add_generation_prompt": false)", "add_generation_prompt"}, BadField{R"("echo": true)", "echo"}));

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

TEST_F(OpenAiRequest, NamesForTheTemplateAreGivenToIt) {
  const auto plain = chat(kUser), named = chat(kUser + R"(, "chat_template_kwargs":
      {"enable_thinking": false, "effort": "high", "depth": 3, "share": 0.5, "none": null})");
  ASSERT_TRUE(plain && named) << named.error().message;
  const std::string_view names = "enable_thinking;effort;depth;share;none;";
  EXPECT_EQ(named->requests[0].tokens.size(), plain->requests[0].tokens.size() + names.size());
  ASSERT_TRUE(chat(kUser + R"(, "reasoning_effort": "low", "chat_template_kwargs": {"list": [1, {"a": "b"}]})"));
  const TemplateList list = {std::int64_t{1}, TemplateDict{{"a", std::string("b")}}};
  EXPECT_EQ(engine_.last_options.names, (TemplateDict{{"reasoning_effort", std::string("low")}, {"list", list}}));
  for (const std::string wrong : {R"({"documents": []})", R"({"messages": "x"})", R"({"tools": null})"}) {
    const auto refused = chat(kUser + R"(, "chat_template_kwargs": )" + wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().status, 400);
    EXPECT_THAT(refused.error().param, HasSubstr("chat_template_kwargs."));
  }
}

TEST_F(OpenAiRequest, AChatsReasoningIsSplitOffWhereTheModelHasMarks) {
  const auto plain = chat(kUser + R"(, "reasoning_budget": 5, "include_reasoning": true)");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->requests[0].reasoning.mode, ReasoningMode::kPlain);
  EXPECT_EQ(plain->requests[0].reasoning.budget, -1);
  EXPECT_FALSE(plain->reasoning.is_counted);

  engine_.set_reasoning("think");
  const auto split = chat(kUser);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->requests[0].reasoning.mode, ReasoningMode::kSplit);
  EXPECT_TRUE(split->requests[0].reasoning.begins_inside);
  EXPECT_EQ(split->requests[0].reasoning.budget, kModel.reasoning_budget);
  EXPECT_TRUE(split->reasoning.is_counted && split->reasoning.is_shown && !split->reasoning.has_both_names);
  EXPECT_EQ(chat(kUser + R"(, "reasoning_format": "none")")->requests[0].reasoning.mode, ReasoningMode::kLeftIn);
  EXPECT_EQ(chat(kUser + R"(, "reasoning_format": "deepseek")")->requests[0].reasoning.mode, ReasoningMode::kSplit);
  EXPECT_FALSE(chat(kUser + R"(, "include_reasoning": false)")->reasoning.is_shown);
  EXPECT_TRUE(chat(kUser + R"(, "include_reasoning": true)")->reasoning.has_both_names);
  const auto raw = completion(R"("prompt": "a")");
  EXPECT_EQ(raw->requests[0].reasoning.mode, ReasoningMode::kPlain);
}

TEST_F(OpenAiRequest, ReasoningsBudgetHasSeveralNamesAndMinusOneIsAny) {
  engine_.set_reasoning("think");
  for (const std::string name :
       {"reasoning_budget", "reasoning_budget_tokens", "thinking_budget_tokens", "thinking_token_budget"}) {
    EXPECT_EQ(chat(kUser + ", \"" + name + "\": 7")->requests[0].reasoning.budget, 7) << name;
    EXPECT_EQ(chat(kUser + ", \"" + name + "\": 0")->requests[0].reasoning.budget, 0) << name;
    EXPECT_EQ(chat(kUser + ", \"" + name + "\": -1")->requests[0].reasoning.budget, -1) << name;
    EXPECT_THAT(chat_error(kUser + ", \"" + name + "\": -2").param, name);
    EXPECT_THAT(completion_error("\"" + name + "\": 7").param, name);
    EXPECT_TRUE(completion(R"("prompt": "a", ")" + name + "\": null").has_value());
    EXPECT_TRUE(completion(R"("prompt": "a", ")" + name + "\": -1").has_value());
  }
  EXPECT_THAT(chat_error(kUser + R"(, "reasoning_budget": 5, "thinking_token_budget": 6)").message,
              HasSubstr("they are the same"));
  EXPECT_EQ(chat_error(kUser + R"(, "reasoning_format": "raw")").param, "reasoning_format");
}

TEST_F(OpenAiRequest, AnotherModelIsNotFound) {
  const ApiError error = completion_error(R"("model": "gpt-4")");
  EXPECT_EQ(error.status, 404);
  EXPECT_EQ(error.code, "model_not_found");
  EXPECT_THAT(error.message, AllOf(HasSubstr("gpt-4"), HasSubstr("text")));
  EXPECT_TRUE(completion(R"("prompt": "a", "model": "text")").has_value());
}

TEST_F(OpenAiRequest, TheModelAnswersToItsOtherNamesAsWell) {
  EXPECT_TRUE(completion(R"("prompt": "a", "model": "text")"));
  EXPECT_TRUE(completion(R"("prompt": "a", "model": "Text.gguf")"));
  EXPECT_TRUE(chat(kUser + R"(, "model": "Text.gguf")"));
  EXPECT_EQ(completion_error(R"("model": "Text")").code, "model_not_found");
}

TEST_F(OpenAiRequest, ACompletionHasSixteenTokensUnlessToldAndAChatTheContext) {
  EXPECT_EQ(request("").max_tokens, 16);
  EXPECT_EQ(request(R"("max_tokens": 5)").max_tokens, 5);
  EXPECT_EQ(chat(kUser)->requests[0].max_tokens, 0);
  EXPECT_EQ(chat(kUser + R"(, "max_tokens": 5)")->requests[0].max_tokens, 5);
  EXPECT_EQ(chat(kUser + R"(, "max_completion_tokens": 6)")->requests[0].max_tokens, 6);
  EXPECT_EQ(chat_error(kUser + R"(, "max_tokens": 5, "max_completion_tokens": 6)").param, "max_completion_tokens");
  EXPECT_EQ(chat_error(kUser + R"(, "max_tokens": 0)").param, "max_tokens");
}

TEST_F(OpenAiRequest, AnImplicitLimitIsClampedToTheContext) {
  const auto call = completion(R"("prompt": ")" + std::string(95, 'a') + R"(")");
  EXPECT_EQ(call->requests.at(0).max_tokens, 5);
}

TEST_F(OpenAiRequest, OverflowOfTheContextNamesBothNumbers) {
  const auto too_long = completion(R"("prompt": ")" + std::string(100, 'a') + R"(")");
  ASSERT_FALSE(too_long.has_value());
  EXPECT_EQ(too_long.error().code, "context_length_exceeded");
  EXPECT_EQ(too_long.error().param, "prompt");
  EXPECT_THAT(too_long.error().message, AllOf(HasSubstr("maximum context length is 100"), HasSubstr("100 tokens")));

  const ApiError limit = completion_error(R"("max_tokens": 99)");
  EXPECT_EQ(limit.code, "context_length_exceeded");
  EXPECT_THAT(limit.message, AllOf(HasSubstr("is 100 tokens"), HasSubstr("requested 101"), HasSubstr("2 in the prompt"),
                                   HasSubstr("99 in the completion")));
  EXPECT_EQ(request(R"("max_tokens": 98)").max_tokens, 98);
  EXPECT_EQ(completion_error(R"("max_tokens": 2147483647)").code, "context_length_exceeded");
  EXPECT_EQ(chat_error(kUser + R"(, "max_tokens": 1000)").param, "messages");
}

TEST_F(OpenAiRequest, MaxTokensZeroGeneratesNothing) {
  const Request found = request(R"("max_tokens": 0)");
  EXPECT_EQ(found.max_tokens, -1);
  EXPECT_TRUE(found.on_prompt_logits);  // without which the engine takes no such request
  EXPECT_TRUE(completion(R"("max_tokens": 0, "prompt": ")" + std::string(100, 'a') + R"(")").has_value());
}

TEST_F(OpenAiRequest, LogprobsHaveTheirShapesOwnFields) {
  EXPECT_EQ(completion(R"("prompt": "a")")->num_logprobs, -1);
  EXPECT_EQ(completion(R"("prompt": "a", "logprobs": 0)")->num_logprobs, 0);
  EXPECT_EQ(request(R"("logprobs": 5)").top_logprobs, 5);
  EXPECT_EQ(chat(kUser)->num_logprobs, -1);
  EXPECT_EQ(chat(kUser + R"(, "logprobs": false)")->num_logprobs, -1);
  EXPECT_EQ(chat(kUser + R"(, "logprobs": true)")->num_logprobs, 0);
  EXPECT_EQ(chat(kUser + R"(, "logprobs": true, "top_logprobs": 20)")->requests[0].top_logprobs, 20);
  EXPECT_EQ(chat_error(kUser + R"(, "top_logprobs": 3)").param, "top_logprobs");
  EXPECT_EQ(chat_error(kUser + R"(, "logprobs": true, "top_logprobs": 21)").param, "top_logprobs");
  EXPECT_EQ(chat_error(kUser + R"(, "logprobs": 3)").param, "logprobs");
}

TEST_F(OpenAiRequest, PromptLogitsAreWantedForEchoWithLogprobsOnly) {
  EXPECT_FALSE(request(R"("echo": true)").on_prompt_logits);
  EXPECT_FALSE(request(R"("logprobs": 1)").on_prompt_logits);
  EXPECT_TRUE(request(R"("echo": true, "logprobs": 1)").on_prompt_logits);
  EXPECT_TRUE(completion(R"("prompt": "a", "echo": true, "logprobs": 0)")->prompts[0].logprobs != nullptr);
}

TEST_F(OpenAiRequest, AnEchoedPromptIsTheTextThatWasSent) {
  engine_.adds_bos = true;
  EXPECT_EQ(completion(R"("prompt": "a<end>b", "echo": true)")->prompts[0].text, "a<end>b");
  EXPECT_EQ(completion(R"("prompt": [97, 258], "echo": true)")->prompts[0].text, "aHello");
  EXPECT_EQ(completion(R"("prompt": "a")")->prompts[0].text, "");
}

TEST_F(OpenAiRequest, TheAnswersOfOneCallAreBounded) {
  std::string many = R"("prompt": ["a")";
  for (int i = 1; i < 9; ++i) many += R"(, "a")";
  EXPECT_EQ(completion(many + R"(], "n": 128)").error().param, "prompt");
  EXPECT_TRUE(completion(R"("prompt": ["a", "a", "a", "a", "a", "a", "a", "a"], "n": 128)").has_value());
}

TEST_F(OpenAiRequest, EveryFieldMayBeNull) {
  EXPECT_TRUE(chat(kUser + R"(, "model": null, "audio": null, "frequency_penalty": null, "function_call": null,
      "functions": null, "logit_bias": null, "logprobs": null, "max_completion_tokens": null, "max_tokens": null,
      "metadata": null, "modalities": null, "n": null, "parallel_tool_calls": null, "prediction": null,
      "presence_penalty": null, "reasoning_effort": null, "response_format": null, "seed": null, "service_tier": null,
      "stop": null, "store": null, "stream": null, "stream_options": null, "temperature": null, "tool_choice": null,
      "tools": null, "top_logprobs": null, "top_p": null, "user": null, "web_search_options": null)"));
  EXPECT_TRUE(completion(R"("prompt": "a", "model": null, "best_of": null, "echo": null, "frequency_penalty": null,
      "logit_bias": null, "logprobs": null, "max_tokens": null, "n": null, "presence_penalty": null, "seed": null,
      "stop": null, "stream": null, "stream_options": null, "suffix": null, "temperature": null, "top_p": null,
      "user": null)"));
}

TEST_F(OpenAiRequest, AnAnswerTooLargeToHoldIsRefusedBeforeItIsMade) {
  ServedModel model = kModel;
  model.max_answer_bytes = 60'000;
  const auto parse = [&](const std::string& fields, bool is_chat) {
    const auto body = boost::json::parse("{" + fields + "}").as_object();
    return is_chat ? parse_chat_completion(body, engine_, model) : parse_completion(body, engine_, model);
  };
  const std::string many = R"(, "n": 128, "max_tokens": 50, "logprobs": )";
  const auto refused = parse(R"("prompt": "a")" + many + "20", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 400);
  EXPECT_EQ(refused.error().code, "answer_too_large");
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("about 2912000 bytes"), HasSubstr("at most 60000")));
  EXPECT_EQ(parse(kUser + many + R"(true, "top_logprobs": 1)", true).error().code, "answer_too_large");
  EXPECT_TRUE(parse(kUser + many + R"(true, "top_logprobs": 1, "stream": true)", true));
  EXPECT_TRUE(parse(R"("prompt": "a", "n": 128, "max_tokens": 50)", false));
  EXPECT_TRUE(parse(kUser + R"(, "n": 128, "logprobs": true)", true));  // no limit asked for: watched as it grows
}

TEST_F(OpenAiRequest, ChoicesAreAsManyAsCanAdvanceTogether) {
  ServedModel model = kModel;
  model.max_choices = 4;
  const auto parse = [&](int n) {
    return parse_completion(boost::json::parse(fmt::format(R"({{"prompt": "a", "n": {}}})", n)).as_object(), engine_,
                            model);
  };
  EXPECT_TRUE(parse(4));
  EXPECT_EQ(parse(5).error().param, "n");
  EXPECT_THAT(parse(5).error().message, HasSubstr("from 1 to 4"));
}

TEST_F(OpenAiRequest, EchoedPromptsCountAlsoInAStream) {
  ServedModel model = kModel;
  model.max_answer_bytes = 60'000;
  const std::string prompt(80, 'a');
  const auto parse = [&](int num_prompts) {
    std::string fields = R"({"echo": true, "logprobs": 20, "max_tokens": 1, "stream": true, "prompt": [")" + prompt;
    for (int i = 1; i < num_prompts; ++i) fields += R"(", ")" + prompt;
    return parse_completion(boost::json::parse(fields + "\"]}").as_object(), engine_, model);
  };
  EXPECT_TRUE(parse(1));
  EXPECT_EQ(parse(2).error().code, "answer_too_large");
}

TEST_F(OpenAiRequest, AnEchoCountsTheBytesThatItIsWrittenIn) {
  ServedModel model = kModel;
  model.max_answer_bytes = 50'000;
  const auto parse = [&](const std::string& prompt, const std::string& more) {
    return parse_completion(
        boost::json::parse(R"({"echo": true, "max_tokens": 1, "n": 100, "prompt": )" + prompt + more + "}").as_object(),
        engine_, model);
  };
  std::string escapes, ids = "[258", plain(90, 'a');
  for (int i = 0; i < 90; ++i) escapes += "\\u0001";  // one byte, which JSON writes as six
  for (int i = 1; i < 90; ++i) ids += ", 258";        // "Hello"
  EXPECT_TRUE(parse('"' + plain + '"', ""));
  EXPECT_TRUE(parse(ids + "]", R"(, "stream": true)"));
  for (const std::string stream : {"", R"(, "stream": true)"}) {
    EXPECT_EQ(parse('"' + escapes + '"', stream).error().code, "answer_too_large") << stream;
    // Each token is spelled in its list and among its alternatives as well.
    EXPECT_EQ(parse('"' + plain + '"', R"(, "logprobs": 0)" + stream).error().code, "answer_too_large") << stream;
  }
  // Ids are in the answer as often as it has choices.
  EXPECT_EQ(parse('"' + plain + '"', R"(, "return_token_ids": true)").error().code, "answer_too_large");
}

TEST_F(OpenAiRequest, StreamingAndItsOptions) {
  EXPECT_FALSE(completion(R"("prompt": "a")")->stream);
  EXPECT_TRUE(completion(R"("prompt": "a", "stream": true)")->stream);
  EXPECT_FALSE(completion(R"("prompt": "a", "stream": true)")->include_usage);
  EXPECT_TRUE(completion(R"("prompt": "a", "stream": true, "stream_options": {"include_usage": true})")->include_usage);
  const auto continuous = [&](const std::string& options) {
    return completion(R"("prompt": "a", "stream": true, "stream_options": )" + options)->continuous_usage;
  };
  EXPECT_TRUE(continuous(R"({"include_usage": true, "continuous_usage_stats": true})"));
  EXPECT_FALSE(continuous(R"({"include_usage": true})"));
  EXPECT_FALSE(continuous(R"({"continuous_usage_stats": true})"));
  EXPECT_FALSE(completion(R"("prompt": "a", "stream": true)")->return_progress);
  EXPECT_TRUE(completion(R"("prompt": "a", "stream": true, "return_progress": true)")->return_progress);
  EXPECT_FALSE(completion(R"("prompt": "a", "return_progress": true)")->return_progress);  // of streams alone
}

TEST_F(OpenAiRequest, ASaltIsHandedOn) {
  EXPECT_EQ(completion(R"("prompt": "a", "cache_salt": "s")")->user_cache_salt, "s");
  EXPECT_THAT(completion(R"("prompt": "a")")->user_cache_salt, IsEmpty());
}

TEST_F(OpenAiRequest, ASaltHasABound) {
  const auto salt = [](std::size_t size) { return R"("cache_salt": ")" + std::string(size, 's') + '"'; };
  EXPECT_TRUE(completion(R"("prompt": "a", )" + salt(1024)));
  const ApiError error = completion_error(salt(1025));
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.code, "invalid_value");
  EXPECT_EQ(error.param, "cache_salt");
  EXPECT_THAT(error.message, HasSubstr("found 1025 bytes, expected at most 1024"));
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
}  // namespace octavo::server

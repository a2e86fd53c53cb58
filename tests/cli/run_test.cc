#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <csignal>

#include "cli/fake_engine.h"
#include "cli/generate.h"
#include "support/temp_file.h"

namespace octavo {
namespace {

using test::CliRun;
using test::TempFile;
using testing::HasSubstr;

TEST(Run, StreamsTheAnswerAndEndsTheLine) {
  CliRun cli;
  std::vector<std::string> seen;
  cli.engine.on_token = [&](int) { seen.push_back(cli.out.str()); };
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "Hi"}), 0) << cli.err.str();
  EXPECT_EQ(cli.out.str(), "Hello, world\n");
  EXPECT_THAT(seen, testing::ElementsAre("", "Hello", "Hello, "));
  EXPECT_EQ(cli.err.str(), "");
}

TEST(Run, AModelThatNamesNoEndOfAnAnswerIsToldOf) {
  CliRun cli;
  cli.engine.info.end_tokens = {};
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "Hi"}), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("this model names no token that ends an answer"));
}

TEST(Run, ThePromptIsAUsersMessageOrRawText) {
  CliRun cli;
  cli.run({"run", "-m", "m.gguf", "-p", "Hi"});
  ASSERT_EQ(cli.engine.conversations.size(), 1U);
  EXPECT_EQ(cli.engine.conversations[0][0].role, "user");
  EXPECT_EQ(cli.engine.conversations[0][0].content, "Hi");
  cli.run({"run", "-m", "m.gguf", "-p", "Hi", "--raw"});
  EXPECT_EQ(cli.engine.conversations.size(), 1U);
  EXPECT_THAT(cli.engine.requests.back().tokens, testing::ElementsAre('H', 'i'));
}

TEST(Run, PicturesStandBeforeThePrompt) {
  CliRun cli;
  cli.engine.info.vision.family = "eyes";
  const TempFile one("first", ".png"), two("second", ".jpg");
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "Which?", "--image", one.string(), "--image", two.string()}), 0)
      << cli.err.str();
  const std::vector<ContentPart>& parts = cli.engine.conversations.at(0).at(0).parts;
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(*parts[0].picture.bytes, "first");
  EXPECT_EQ(parts[0].picture.place, one.string());
  EXPECT_EQ(*parts[1].picture.bytes, "second");
  EXPECT_EQ(parts[2].text, "Which?");
  EXPECT_EQ(cli.engine.requests.at(0).pictures.size(), 2U);
}

TEST(Run, APictureThatCannotBeShownIsToldOf) {
  CliRun cli;
  const TempFile picture("first", ".png");
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "Which?", "--image", picture.string()}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("--image: fake reads text only; a model that sees does so with --mmproj FILE"));
  cli.engine.info.vision.family = "eyes";
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "Which?", "--image", "/nowhere.png"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("/nowhere.png: cannot open"));
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "Which?", "--raw", "--image", picture.string()}), 2);
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "--batch", "b.jsonl", "--image", picture.string()}), 2);
}

TEST(Run, ThePromptComesFromAFileOrStandardInputWithoutItsLastNewline) {
  CliRun cli;
  const TempFile file("from a file\r\n");
  cli.run({"run", "-m", "m.gguf", "-f", file.string()});
  EXPECT_EQ(cli.engine.conversations.back()[0].content, "from a file");
  cli.run({"run", "-m", "m.gguf"}, "two\nlines\n\n");
  EXPECT_EQ(cli.engine.conversations.back()[0].content, "two\nlines\n");
}

TEST(Run, WordsAreThePrompt) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"Hello"}, "Hello"},
      {{"Why is", "the", "sky", "-n", "1", "blue?"}, "Why is the sky blue?"},
      {{"[INST] a, b [/INST]"}, "[INST] a, b [/INST]"},  // not a list
      {{"[1,2]"}, "[1,2]"},
      {{"chat"}, "chat"},  // not a command
      {{"-"}, "-"},
      {{"--", "-5", "apples", "--"}, "-5 apples --"},
      {{"name.gguf is a file"}, "name.gguf is a file"},
  };
  for (const auto& [words, prompt] : cases) {
    CliRun cli;
    std::vector<std::string> args = {"run", "-m", "m.gguf"};
    args.insert(args.end(), words.begin(), words.end());
    ASSERT_EQ(cli.run(args), 0) << cli.err.str();
    EXPECT_EQ(cli.engine.conversations.back()[0].content, prompt);
  }
}

TEST(Run, TheSystemMessageComesBeforeThePrompt) {
  CliRun cli;
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "Hi", "--system", "Be brief."}), 0) << cli.err.str();
  const std::vector<ChatMessage>& messages = cli.engine.conversations.back();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].role + ": " + messages[0].content, "system: Be brief.");
  EXPECT_EQ(messages[1].content, "Hi");
}

TEST(Run, AFileThatCannotBeReadIsAnError) {
  CliRun cli;
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-f", "/no/such/prompt"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("octavo: /no/such/prompt: cannot open: No such file"));
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-f", "/tmp"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("octavo: /tmp: is a directory"));
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "--raw"}, ""), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("the prompt is empty"));
}

TEST(Run, SamplingIsTheFlagsThenTheFilesThenTemperature07) {
  CliRun cli;
  cli.run({"run", "-m", "m.gguf", "-p", "x", "--seed", "5"});
  EXPECT_EQ(cli.engine.requests.back().sampling.temperature, 0.7F);
  EXPECT_EQ(cli.engine.requests.back().sampling.seed, 5U);
  cli.engine.file_sampling = {.temperature = 0.3F, .top_k = 64, .top_p = 0.95F};
  cli.run({"run", "-m", "m.gguf", "-p", "x", "--top-k", "10", "--min-p", "0.05"});
  EXPECT_EQ(cli.engine.requests.back().sampling.temperature, 0.3F);
  EXPECT_EQ(cli.engine.requests.back().sampling.top_k, 10);
  EXPECT_EQ(cli.engine.requests.back().sampling.top_p, 0.95F);
  EXPECT_EQ(cli.engine.requests.back().sampling.min_p, 0.05F);
}

TEST(Run, PenaltiesAreTheFlags) {
  CliRun cli;
  cli.run({"run", "-m", "m.gguf", "-p", "x"});
  EXPECT_EQ(cli.engine.requests.back().sampling.repetition_penalty, 1);
  EXPECT_EQ(cli.engine.requests.back().sampling.presence_penalty, 0);
  EXPECT_EQ(cli.engine.requests.back().sampling.frequency_penalty, 0);
  cli.run({"run", "-m", "m.gguf", "-p", "x", "--repeat-penalty", "1.25", "--presence-penalty", "-0.5",
           "--frequency-penalty", "0.75"});
  EXPECT_EQ(cli.engine.requests.back().sampling.repetition_penalty, 1.25F);
  EXPECT_EQ(cli.engine.requests.back().sampling.presence_penalty, -0.5F);
  EXPECT_EQ(cli.engine.requests.back().sampling.frequency_penalty, 0.75F);
}

TEST(Run, SamplersAreTheFlags) {
  CliRun cli;
  cli.run({"run",
           "-m",
           "m.gguf",
           "-p",
           "x",
           "--typical",
           "0.5",
           "--top-n-sigma",
           "1.5",
           "--xtc-probability",
           "0.25",
           "--xtc-threshold",
           "0.125",
           "--dynatemp-range",
           "0.5",
           "--dynatemp-exp",
           "2",
           "--repeat-last-n",
           "64",
           "--dry-multiplier",
           "0.75",
           "--dry-base",
           "2",
           "--dry-allowed-length",
           "3",
           "--dry-penalty-last-n",
           "128",
           "--dry-sequence-breaker",
           "a",
           "--dry-sequence-breaker",
           "b, c",
           "--mirostat",
           "2",
           "--mirostat-ent",
           "4",
           "--mirostat-lr",
           "0.25",
           "--samplers",
           "dry;top_k;temperature"});
  ASSERT_FALSE(cli.engine.requests.empty()) << cli.err.str();
  const SamplingParams& sampling = cli.engine.requests.back().sampling;
  EXPECT_EQ(sampling.typical_p, 0.5F);
  EXPECT_EQ(sampling.top_n_sigma, 1.5F);
  EXPECT_EQ(sampling.xtc.probability, 0.25F);
  EXPECT_EQ(sampling.xtc.threshold, 0.125F);
  EXPECT_EQ(sampling.dynamic_temperature.range, 0.5F);
  EXPECT_EQ(sampling.dynamic_temperature.exponent, 2);
  EXPECT_EQ(sampling.penalty_window, 64);
  EXPECT_EQ(sampling.dry.multiplier, 0.75F);
  EXPECT_EQ(sampling.dry.base, 2);
  EXPECT_EQ(sampling.dry.allowed_length, 3);
  EXPECT_EQ(sampling.dry.window, 128);
  EXPECT_EQ(sampling.dry.breakers, (std::vector<std::string>{"a", "b, c"}));
  EXPECT_EQ(sampling.mirostat.version, 2);
  EXPECT_EQ(sampling.mirostat.tau, 4);
  EXPECT_EQ(sampling.mirostat.eta, 0.25F);
  EXPECT_EQ(sampling.order, (std::vector{SamplerStep::kTopK, SamplerStep::kTemperature}));
}

TEST(Run, StopTextsAndMinTokensReachTheRequest) {
  CliRun cli;
  cli.run({"run", "-m", "m.gguf", "-p", "x"});
  EXPECT_TRUE(cli.engine.requests.back().stop.empty());
  EXPECT_EQ(cli.engine.requests.back().min_tokens, 0);
  cli.run({"run", "-m", "m.gguf", "--stop", "\n\n", "-p", "x", "--stop", "a, b", "--min-tokens", "3"});
  EXPECT_EQ(cli.engine.requests.back().stop, (std::vector<std::string>{"\n\n", "a, b"}));
  EXPECT_EQ(cli.engine.requests.back().min_tokens, 3);
}

TEST(Run, AConstraintReachesTheRequest) {
  CliRun cli;
  cli.run({"run", "-m", "m.gguf", "-p", "x"});
  EXPECT_EQ(cli.engine.requests.back().constraint, nullptr);
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x", "--regex", "a+"}), 0) << cli.err.str();
  EXPECT_NE(cli.engine.requests.back().constraint, nullptr);
  EXPECT_EQ(cli.engine.constraints.back().kind, ConstraintKind::kRegex);
  EXPECT_EQ(cli.engine.constraints.back().text, "a+");
  const TempFile file("root ::= \"a\"\n");
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x", "--raw", "--grammar", file.string()}), 0) << cli.err.str();
  EXPECT_EQ(cli.engine.constraints.back().kind, ConstraintKind::kGrammar);
  EXPECT_EQ(cli.engine.constraints.back().text, "root ::= \"a\"\n");
  EXPECT_NE(cli.engine.requests.back().constraint, nullptr);
}

TEST(Run, ASchemaReachesTheRequestAndItsWarningsAreLogged) {
  CliRun cli;
  const TempFile file(R"({"odd": 1})");
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x", "--json-schema", file.string()}), 0);
  EXPECT_EQ(cli.engine.constraints.back().kind, ConstraintKind::kJsonSchema);
  EXPECT_EQ(cli.engine.constraints.back().text, R"({"odd": 1})");
  EXPECT_FALSE(cli.engine.constraints.back().is_strict);
  EXPECT_THAT(cli.err.str(), HasSubstr("--json-schema: #/odd: it"));
}

TEST(Run, AConstraintThatCannotBeReadIsAnErrorAndTwoAreWrongUsage) {
  CliRun cli;
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x", "--regex", "("}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("not closed"));
  const TempFile file("root ::= \"a\"\n");
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x", "--regex", "a", "--grammar", file.string()}), 2);
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x", "--regex", "a", "--json-schema", file.string()}), 2);
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x", "--regex", ""}), 2);
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "--batch", file.string(), "--regex", "a"}), 2);
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x", "--grammar", "/nowhere"}), 2);
}

TEST(Run, WithoutASeedARandomOneIsDrawnAndLogged) {
  CliRun cli;
  cli.run({"run", "-m", "m.gguf", "-p", "x", "--log-level", "info"});
  const std::uint64_t first = cli.engine.requests.back().sampling.seed;
  EXPECT_THAT(cli.err.str(), HasSubstr("seed " + std::to_string(first)));
  cli.run({"run", "-m", "m.gguf", "-p", "x"});
  EXPECT_NE(cli.engine.requests.back().sampling.seed, first);
  EXPECT_EQ(cli.err.str(), "");
}

TEST(Run, ALimitBeyondTheContextIsCut) {
  CliRun cli;
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "--raw", "-p", "Hi", "-n", "100000"}), 0) << cli.err.str();
  EXPECT_EQ(cli.engine.requests.back().max_tokens, 98);
}

TEST(Run, JsonIsOneObject) {
  CliRun cli;
  cli.engine.info.weight_bytes = 11;
  cli.engine.info.mapped_weight_bytes = 10;
  cli.engine.info.kv_arena_bytes = 12;
  cli.engine.info.kv_bytes_per_token = 13;
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x", "-n", "2", "--seed", "18446744073709551615", "--json"}), 0);
  const auto json = boost::json::parse(cli.out.str()).as_object();
  EXPECT_EQ(json.at("text").as_string(), "Hello, ");
  EXPECT_EQ(json.at("tokens"), (boost::json::array{0, 1}));
  EXPECT_EQ(json.at("logprobs").as_array().size(), 2U);
  EXPECT_EQ(json.at("finish_reason").as_string(), "length");
  EXPECT_EQ(json.at("seed").as_uint64(), 18446744073709551615U);
  EXPECT_EQ(json.at("prompt_tokens").as_int64(), 1);
  EXPECT_EQ(json.at("generated_tokens").as_int64(), 2);
  const auto& timings = json.at("timings").as_object();
  EXPECT_EQ(timings.at("time_to_first_token_s").as_double(), 0.5);
  EXPECT_EQ(timings.at("tokens_per_s").as_double(), 0.5);
  EXPECT_EQ(json.at("memory"), (boost::json::object{{"weight_bytes", 11},
                                                    {"mapped_weight_bytes", 10},
                                                    {"kv_arena_bytes", 12},
                                                    {"kv_bytes_per_token", 13},
                                                    {"max_context", 100}}));
}

TEST(Run, ReasoningIsShownOnATerminalAloneAndIsAFieldOfJson) {
  CliRun cli;
  cli.engine.info.reasoning = "think";
  cli.engine.prompts_end_in_reasoning = true;
  cli.engine.reasoning = {"Hm", "."};
  cli.engine.answer = {"", "", "Hello"};
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "Hi"}), 0);
  EXPECT_EQ(cli.out.str(), "Hello\n");
  const ReasoningParams& asked = cli.engine.requests.back().reasoning;
  EXPECT_EQ(asked.mode, ReasoningMode::kSplit);
  EXPECT_TRUE(asked.begins_inside);
  EXPECT_EQ(asked.budget, -1);

  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "Hi", "--json"}), 0);
  const auto json = boost::json::parse(cli.out.str()).as_object();
  EXPECT_EQ(json.at("text").as_string(), "Hello");
  EXPECT_EQ(json.at("reasoning").as_string(), "Hm.");
  EXPECT_EQ(json.at("reasoning_tokens").as_int64(), 2);

  cli.out_is_terminal = true;
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "Hi"}), 0);
  EXPECT_EQ(cli.out.str(), "Hm.\n\nHello\n");
}

TEST(Run, AnAnswerThatIsReasoningAloneIsTold) {
  CliRun cli;
  cli.engine.info.reasoning = "think";
  cli.engine.reasoning = {"Hm", ".", "So"};
  cli.engine.answer = {"", "", ""};
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "Hi"}), 0);
  EXPECT_EQ(cli.out.str(), "");
  EXPECT_THAT(cli.err.str(), HasSubstr("the answer ended within its reasoning, after 3 tokens of it"));
}

TEST(Run, TheReasoningBudgetReachesTheRequest) {
  CliRun cli;
  cli.engine.info.reasoning = "think";
  for (const std::string command : {"run", "chat"}) {
    std::vector<std::string> args = {command, "-m", "m.gguf", "--reasoning-budget", "7"};
    if (command == "run") args.insert(args.end(), {"-p", "Hi"});
    EXPECT_EQ(cli.run(args, "Hi\n"), 0) << cli.err.str();
    EXPECT_EQ(cli.engine.requests.back().reasoning.budget, 7) << command;
    EXPECT_EQ(cli.err.str(), "");
  }
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "Hi", "--reasoning-budget", "-2"}), 2);
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "Hi", "--reasoning-budget", "7", "--raw"}), 2);
  EXPECT_THAT(cli.err.str(), HasSubstr("--reasoning-budget needs the chat template"));
}

TEST(Run, AReasoningBudgetOfAModelWithoutMarksIsToldToHaveNoEffect) {
  CliRun cli;
  for (const std::string command : {"run", "chat"}) {
    std::vector<std::string> args = {command, "-m", "m.gguf", "--reasoning-budget", "7"};
    if (command == "run") args.insert(args.end(), {"-p", "Hi"});
    EXPECT_EQ(cli.run(args, "Hi\n"), 0);
    EXPECT_THAT(cli.err.str(), HasSubstr("--reasoning-budget has no effect"));
    EXPECT_EQ(cli.engine.requests.back().reasoning.budget, -1);  // the engine refuses any other
  }
}

TEST(Run, ChoicesArePrintedOneAfterTheOtherTheFirstWhileItIsMade) {
  CliRun cli;
  std::vector<std::string> seen;
  cli.engine.on_token = [&](int) { seen.push_back(cli.out.str()); };
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "Hi", "--choices", "3"}), 0) << cli.err.str();
  EXPECT_EQ(cli.engine.requests.back().num_choices, 3);
  EXPECT_THAT(seen, testing::ElementsAre("", "Hello", "Hello, "));
  EXPECT_EQ(cli.out.str(), "Hello, world\n--- choice 2 of 3 ---\n, worldHello\n--- choice 3 of 3 ---\nworldHello, \n");
}

TEST(Run, JsonOfSeveralChoicesIsAnArray) {
  CliRun cli;
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x", "--choices", "2", "--json"}), 0) << cli.err.str();
  const auto list = boost::json::parse(cli.out.str()).as_array();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].at("choice").to_number<int>(), 0);
  EXPECT_EQ(list[1].at("choice").to_number<int>(), 1);
  EXPECT_EQ(list[1].at("text").as_string(), ", worldHello");
  EXPECT_EQ(list[1].at("finish_reason").as_string(), "stop");
  cli.run({"run", "-m", "m.gguf", "-p", "x", "--json"});
  EXPECT_FALSE(boost::json::parse(cli.out.str()).as_object().contains("choice"));
}

TEST(Run, ChoicesOutOfRangeAreWrongUsage) {
  CliRun cli;
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x", "--choices", "0"}), 2);
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x", "--choices", "129"}), 2);
  EXPECT_THAT(cli.err.str(), HasSubstr("--choices"));
}

TEST(Run, TheStateOfTheKvMemoryIsLogged) {
  CliRun cli;
  cli.engine.stats.computed_tokens = 1234;
  cli.engine.stats.kv.blocks_total = 99;
  cli.run({"run", "-m", "m.gguf", "-p", "x", "--log-level", "info"});
  EXPECT_THAT(cli.err.str(), HasSubstr("1234 tokens computed"));
  EXPECT_THAT(cli.err.str(), HasSubstr(cli.engine.stats.kv.summary()));
}

TEST(Run, ThePrefixCacheCanBeSwitchedOff) {
  CliRun cli;
  cli.run({"run", "-m", "m.gguf", "-p", "x"});
  EXPECT_TRUE(cli.engine.options.prefix_cache);
  cli.run({"run", "-m", "m.gguf", "-p", "x", "--no-prefix-cache"});
  EXPECT_FALSE(cli.engine.options.prefix_cache);
}

TEST(Run, OnATerminalItEndsWithOneLineOfFigures) {
  CliRun cli;
  cli.err_is_terminal = true;
  cli.engine.info.weight_bytes_per_token = 1'000'000'000;
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x"}), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("1 + 3 tokens, first after 0.50 s, 1.0 tokens/s, 1.0 GB/s\n"));
  EXPECT_EQ(cli.out.str(), "Hello, world\n");
}

TEST(Run, CtrlCStopsTheAnswerAndGives130) {
  CliRun cli;
  cli.engine.on_token = [](int i) {
    if (i == 1) std::raise(SIGINT);
  };
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x"}), 130);
  EXPECT_EQ(cli.out.str(), "Hello, \n");
  EXPECT_EQ(cli.engine.num_cancelled, 1);
}

TEST(Run, AClosedOutputStopsTheAnswer) {
  CliRun cli;
  cli.engine.on_token = [&](int i) {
    if (i == 1) cli.out.setstate(std::ios::badbit);
  };
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-p", "x"}), 1);
  EXPECT_EQ(cli.engine.num_cancelled, 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("cannot write to the standard output"));
}

TEST(Speed, CountsWeightsAndTheKvOfTheTokensBefore) {
  cli::Answer answer;
  answer.stats = {.prompt_tokens = 100, .generated_tokens = 11, .time_to_first_token_s = 1, .total_s = 3};
  ModelInfo info;
  info.weight_bytes_per_token = 1'000'000;
  info.kv_bytes_per_token = 1000;
  const cli::Speed speed = cli::speed_of(answer, info);
  EXPECT_DOUBLE_EQ(speed.tokens_per_s, 5);
  EXPECT_DOUBLE_EQ(speed.gb_per_s, 5 * (1'000'000 + 1000 * 105.5) / 1e9);
}

}  // namespace
}  // namespace octavo

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "cli/fake_engine.h"
#include "support/gguf_writer.h"
#include "support/temp_file.h"

namespace octavo {
namespace {

using test::CliRun;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> contents(const std::vector<ChatMessage>& messages) {
  std::vector<std::string> out;
  for (const ChatMessage& message : messages) out.push_back(message.role + ": " + message.content);
  return out;
}

TEST(Chat, TheConversationGrowsWithEachTurn) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf", "--system", "Be brief."}, "one\n\ntwo\r\n"), 0) << cli.err.str();
  EXPECT_EQ(cli.out.str(), "Hello, world\nHello, world\n");
  ASSERT_EQ(cli.engine.conversations.size(), 2U);
  EXPECT_THAT(contents(cli.engine.conversations[1]),
              testing::ElementsAre("system: Be brief.", "user: one", "assistant: Hello, world", "user: two"));
}

TEST(Chat, APictureIsShownWithTheNextMessageAndStaysInTheConversation) {
  CliRun cli;
  cli.engine.info.vision.family = "eyes";
  const test::TempFile one("first", ".png"), two("second", ".JPG");
  const std::string lines = "/image " + one.string() + "\nWhat?\n'" + two.string() + "'\nAnd this?\nWell?\n";
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, lines), 0) << cli.err.str();
  ASSERT_EQ(cli.engine.conversations.size(), 3U);
  const std::vector<ChatMessage>& last = cli.engine.conversations.back();
  ASSERT_EQ(last.size(), 5U);
  EXPECT_EQ(*last[0].parts.at(0).picture.bytes, "first");
  EXPECT_EQ(last[0].parts.at(1).text, "What?");
  EXPECT_EQ(*last[2].parts.at(0).picture.bytes, "second");
  EXPECT_EQ(last[4].content, "Well?");
  EXPECT_EQ(cli.engine.requests.at(0).pictures.size(), 1U);
  EXPECT_EQ(cli.engine.requests.at(2).pictures.size(), 2U);
}

TEST(Chat, APictureForAModelThatReadsTextIsRefusedAndTheChatGoesOn) {
  CliRun cli;
  const test::TempFile picture("first", ".png");
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "/image " + picture.string() + "\n/image\nHi\n"), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("/image: a picture: fake reads text only"));
  EXPECT_THAT(contents(cli.engine.conversations.at(0)), testing::ElementsAre("user: Hi"));
}

TEST(Chat, AModelWithoutARightTemplateIsRefusedBeforeItIsLoadedOrAskedAnything) {
  const test::TempFile none(test::GgufWriter().bytes(), ".gguf");
  const test::TempFile broken(test::GgufWriter().add("tokenizer.chat_template", std::string("{{ messages")).bytes(),
                              ".gguf");
  for (const auto& [file, message] : {std::pair(&none, "is missing"), std::pair(&broken, "is not a template")}) {
    for (const std::string command : {"chat", "run"}) {
      CliRun cli;
      int num_loads = 0;
      cli.load_engine = [&](const EngineOptions&) -> Result<std::unique_ptr<Engine>> {
        ++num_loads;
        return std::unexpected(Error{"loaded"});
      };
      EXPECT_EQ(cli.run({command, "-m", file->string()}, "hello\n"), 1);
      EXPECT_THAT(cli.err.str(), StartsWith("octavo: " + file->string() + ": tokenizer.chat_template"));
      EXPECT_THAT(cli.err.str(), HasSubstr(message));
      EXPECT_EQ(num_loads, 0);
      EXPECT_TRUE(cli.in.good());  // nothing was read
    }
    CliRun cli;
    EXPECT_EQ(cli.run({"run", "--raw", "-m", file->string()}, "hello\n"), 0) << cli.err.str();
  }
}

TEST(Chat, ATemplateIsUsedInsteadOfTheFilesOwn) {
  const test::TempFile none(test::GgufWriter().bytes(), ".gguf");
  const std::string right = "{{ messages[0].content }}";
  const test::TempFile good(right, ".jinja"), broken(std::string("a\n{{ messages"), ".jinja"),
      empty(std::string(), ".jinja");
  for (const std::string command : {"chat", "run", "serve"}) {
    CliRun cli;
    std::string given;
    cli.load_engine = [&](const EngineOptions& options) -> Result<std::unique_ptr<Engine>> {
      given = options.chat_template;
      return std::unexpected(Error{"loaded"});
    };
    std::vector<std::string> args = {command, "-m", none.string(), "--chat-template", good.string()};
    if (command == "serve") args.insert(args.end(), {"--port", "0"});
    EXPECT_EQ(cli.run(args, "hello\n"), 1);
    EXPECT_EQ(given, right) << command << cli.err.str();
    for (const test::TempFile* wrong : {&broken, &empty}) {
      CliRun refused;
      EXPECT_EQ(refused.run({command, "-m", none.string(), "--chat-template", wrong->string()}, "hello\n"), 2);
      EXPECT_THAT(refused.err.str(), HasSubstr(wrong->string()));
      EXPECT_THAT(refused.err.str(), HasSubstr(wrong == &broken ? "line 2, column 12" : "expected a chat template"));
    }
  }
}

TEST(Chat, AGenerationConfigIsGivenToTheEngineIfItIsRight) {
  const test::TempFile none(test::GgufWriter().bytes(), ".gguf");
  const std::string right = R"({"temperature": 0.5})";
  const test::TempFile good(right, ".json"), broken(R"({"top_p": 2})", ".json");
  for (const std::string command : {"chat", "run", "serve"}) {
    CliRun cli;
    std::string given;
    cli.load_engine = [&](const EngineOptions& options) -> Result<std::unique_ptr<Engine>> {
      given = options.generation_config;
      return std::unexpected(Error{"loaded"});
    };
    std::vector<std::string> args = {command, "-m", none.string(), "--generation-config", good.string()};
    if (command == "run") args.insert(args.end(), {"--raw", "-p", "x"});
    if (command == "chat") args.insert(args.end(), {"--chat-template", good.string()});
    if (command == "serve") args.insert(args.end(), {"--port", "0"});
    EXPECT_EQ(cli.run(args), 1);
    EXPECT_EQ(given, right) << command << cli.err.str();
    CliRun refused;
    EXPECT_EQ(refused.run({command, "-m", none.string(), "--generation-config", broken.string()}), 2);
    EXPECT_THAT(refused.err.str(), HasSubstr(broken.string() + ": top_p: found 2"));
  }
}

TEST(Chat, EveryAnswerHasTheStopTextsAndPenaltiesOfTheFlags) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf", "--stop", "User:", "--repeat-penalty", "1.5"}, "one\ntwo\n"), 0);
  ASSERT_EQ(cli.engine.requests.size(), 2U);
  for (const Request& request : cli.engine.requests) {
    EXPECT_EQ(request.stop, std::vector<std::string>{"User:"});
    EXPECT_EQ(request.sampling.repetition_penalty, 1.5F);
  }
}

TEST(Chat, ResetForgetsAllButTheSystemMessage) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf", "--system", "S"}, "one\n/reset\ntwo\n"), 0);
  EXPECT_THAT(contents(cli.engine.conversations.back()), testing::ElementsAre("system: S", "user: two"));
}

TEST(Chat, QuitLeavesAndHelpLists) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "/help\n/quit\nnever\n"), 0);
  EXPECT_TRUE(cli.engine.conversations.empty());
  for (const char* command : {"/reset", "/quit", "/help", "Ctrl-C"}) EXPECT_THAT(cli.out.str(), HasSubstr(command));
}

TEST(Chat, ByeAndExitLeaveAsWell) {
  for (const std::string word : {"/bye", "/exit"}) {
    CliRun cli;
    EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, word + "\nnever\n"), 0);
    EXPECT_TRUE(cli.engine.conversations.empty());
    EXPECT_EQ(cli.err.str(), "");
  }
}

TEST(Chat, UnknownCommandsAreNotSentToTheModel) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "/rest\n/etc is a folder\n"), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("unknown command /rest; did you mean /reset?; /help"));
  ASSERT_EQ(cli.engine.conversations.size(), 1U);
  EXPECT_EQ(cli.engine.conversations[0][0].content, "/etc is a folder");
}

TEST(Chat, CtrlCStopsTheAnswerAndNotTheProgram) {
  CliRun cli;
  int turn = 0;
  cli.engine.on_token = [&](int i) {
    if (i == 0) ++turn;
    if (turn == 1 && i == 1) std::raise(SIGINT);
  };
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "one\ntwo\n"), 0);
  EXPECT_EQ(cli.out.str(), "Hello, \nHello, world\n");
  EXPECT_EQ(contents(cli.engine.conversations.back())[1], "assistant: Hello, ");
}

TEST(Chat, AMessageThatDoesNotFitIsTakenBackAndResetIsOffered) {
  CliRun cli;
  const std::string long_message(100, 'x');
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "one\n" + long_message + "\ntwo\n"), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("have 115 tokens, the context holds 100; /reset begins"));
  EXPECT_THAT(contents(cli.engine.conversations.back()),
              testing::ElementsAre("user: one", "assistant: Hello, world", "user: two"));
}

TEST(Chat, AFullContextIsSaid) {
  CliRun cli;
  cli.engine.info.max_context = 6;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "one\n"), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("the context of 6 tokens is full; /reset"));
}

TEST(Chat, TheAnswersLengthIsLimitedToTheRoomThatIsLeft) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf", "-n", "2"}, "one\n"), 0);
  EXPECT_EQ(cli.engine.requests.back().max_tokens, 2);
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf", "-n", "500"}, "one\n"), 0);
  EXPECT_EQ(cli.engine.requests.back().max_tokens, 97);
}

TEST(Chat, UndoTakesTheLastTurnBack) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "/undo\none\ntwo\n/undo\nthree\n"), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("/undo: there is no message yet"));
  EXPECT_THAT(contents(cli.engine.conversations.back()),
              testing::ElementsAre("user: one", "assistant: Hello, world", "user: three"));
}

TEST(Chat, RegenAnswersTheSamePromptWithOtherDraws) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "/regen\none\n/regen\n/regen\ntwo\n"), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("/regen: there is no message yet"));
  ASSERT_EQ(cli.engine.requests.size(), 4U);
  EXPECT_EQ(cli.engine.requests[0].tokens, cli.engine.requests[1].tokens);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(cli.engine.requests[i].first_choice, i);
    EXPECT_EQ(cli.engine.requests[i].sampling.seed, cli.engine.requests[0].sampling.seed);
  }
  EXPECT_EQ(cli.engine.requests[3].first_choice, 0U);
  EXPECT_THAT(contents(cli.engine.conversations.back()),
              testing::ElementsAre("user: one", "assistant: Hello, world", "user: two"));
}

TEST(Chat, TheSystemMessageCanBeChangedShownAndRemoved) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "/system\n/system Be  brief.\n/system\none\n/system \"\"\n/reset\ntwo\n"),
            0);
  EXPECT_THAT(cli.out.str(), StartsWith("(no system message)\nBe  brief.\n"));
  EXPECT_THAT(contents(cli.engine.conversations.front()), testing::ElementsAre("system: Be  brief.", "user: one"));
  EXPECT_THAT(contents(cli.engine.conversations.back()), testing::ElementsAre("user: two"));
}

TEST(Chat, AConversationIsSavedAndLoaded) {
  const test::TempFile file("", ".json");
  std::filesystem::remove(file.string());
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf", "--system", "S"}, "one\n/save " + file.string() + "\n"), 0);
  EXPECT_EQ(cli.err.str(), "");
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "zero\n/load " + file.string() + "\ntwo\n"), 0);
  EXPECT_THAT(contents(cli.engine.conversations.back()),
              testing::ElementsAre("system: S", "user: one", "assistant: Hello, world", "user: two"));
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "/save\n/load\n/load /no such file\nx\n"), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("/save: found no name"));
  EXPECT_THAT(cli.err.str(), HasSubstr("/load: found no name"));
  EXPECT_THAT(cli.err.str(), HasSubstr("/load: /no such file: cannot open"));
}

TEST(Chat, SetChangesHowTokensAreDrawnAndShowsIt) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf", "--seed", "7"},
                    "one\n/set temperature 0.25\n/set --top_k 3\n/set dry-sequence-breaker x\ntwo\n/set\n"),
            0);
  ASSERT_EQ(cli.engine.requests.size(), 2U);
  EXPECT_EQ(cli.engine.requests[0].sampling.temperature, 0.7F);
  EXPECT_EQ(cli.engine.requests[1].sampling.temperature, 0.25F);
  EXPECT_EQ(cli.engine.requests[1].sampling.top_k, 3);
  EXPECT_EQ(cli.engine.requests[1].sampling.dry.breakers, std::vector<std::string>{"x"});
  EXPECT_EQ(cli.engine.requests[1].sampling.seed, 7U);
  EXPECT_THAT(cli.out.str(), testing::ContainsRegex("temperature +0.25\n"));
  EXPECT_THAT(cli.out.str(), testing::ContainsRegex("seed +7\n"));
  EXPECT_EQ(cli.err.str(), "");
}

TEST(Chat, AWrongValueOfSetIsSaidAndChangesNothing) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "/set temp hot\n/set tempreature 1\n/set nonsense\none\n"), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("/set: --temp: found 'hot'"));
  EXPECT_THAT(cli.err.str(), HasSubstr("found no option --tempreature; did you mean --temperature?"));
  EXPECT_THAT(cli.err.str(), HasSubstr("/set: found 'nonsense', expected the name of an option"));
  EXPECT_EQ(cli.engine.requests[0].sampling.temperature, 0.7F);
}

TEST(Chat, EverySamplingOptionOfHelpIsShownBySet) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "/set\n"), 0);
  const std::string shown = cli.out.str();
  EXPECT_EQ(cli.run({"chat", "--help"}), 0);
  const std::string help = cli.out.str();
  const std::size_t begin = help.find("Sampling:"), end = help.find("\n\n", begin);
  ASSERT_NE(begin, std::string::npos);
  int num_options = 0;
  std::istringstream lines(help.substr(begin, end - begin));
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kBegin = "      --";
    if (!line.starts_with(kBegin)) continue;
    std::string name = line.substr(kBegin.size(), line.find_first_of(" ,", kBegin.size()) - kBegin.size());
    if (name == "temp") name = "temperature";
    if (name == "stop") continue;  // no sampler
    EXPECT_THAT(shown, HasSubstr("  " + name + " "));
    ++num_options;
  }
  EXPECT_GE(num_options, 20);
}

TEST(Chat, TokensTellsHowFullTheContextIs) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "one\n/tokens\n"), 0);
  EXPECT_THAT(cli.out.str(), HasSubstr("of 100 tokens, room for "));
  EXPECT_THAT(cli.out.str(), testing::ContainsRegex("last prompt +3 tokens, 0 of them cached \\(0 %\\)"));
  EXPECT_THAT(cli.out.str(), testing::ContainsRegex("last answer +3 tokens"));
}

TEST(Chat, SeveralLinesCanBeOneMessage) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "one\\\ntwo\n\"\"\"\n/three\nfour\n\"\"\"\n"), 0);
  ASSERT_EQ(cli.engine.conversations.size(), 2U);
  EXPECT_EQ(cli.engine.conversations[0][0].content, "one\ntwo");
  EXPECT_EQ(cli.engine.conversations[1][2].content, "/three\nfour");
}

TEST(Chat, AStopTextThatWasCutOffIsNotGivenBackToTheModel) {
  CliRun cli;
  cli.engine.answer = {"Hello", "User", ":"};
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf", "--stop", "User:"}, "one\ntwo\n"), 0);
  ASSERT_EQ(cli.engine.requests.size(), 2U);
  EXPECT_EQ(cli.engine.requests[1].tokens, std::vector<TokenId>(3 + 10 + 3, 'x'));  // all of it rendered anew
}

TEST(Chat, ASlipOfACommandIsNoMessage) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m.gguf"}, "/systm Be brief.\n/undo it\n"), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("unknown command /systm; did you mean /system?"));
  EXPECT_THAT(cli.err.str(), HasSubstr("/undo: found 'it' behind it, expected nothing"));
  EXPECT_TRUE(cli.engine.conversations.empty());
}

}  // namespace
}  // namespace octavo

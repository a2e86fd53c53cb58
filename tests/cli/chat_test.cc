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
  EXPECT_EQ(cli.run({"chat", "-m", "m", "--system", "Be brief."}, "one\n\ntwo\r\n"), 0) << cli.err.str();
  EXPECT_EQ(cli.out.str(), "Hello, world\nHello, world\n");
  ASSERT_EQ(cli.engine.conversations.size(), 2U);
  EXPECT_THAT(contents(cli.engine.conversations[1]),
              testing::ElementsAre("system: Be brief.", "user: one", "assistant: Hello, world", "user: two"));
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
    EXPECT_EQ(cli.run({command, "-m", none.string(), "--chat-template", good.string()}, "hello\n"), 1);
    EXPECT_EQ(given, right) << command << cli.err.str();
    for (const test::TempFile* wrong : {&broken, &empty}) {
      CliRun refused;
      EXPECT_EQ(refused.run({command, "-m", none.string(), "--chat-template", wrong->string()}, "hello\n"), 2);
      EXPECT_THAT(refused.err.str(), HasSubstr(wrong->string()));
      EXPECT_THAT(refused.err.str(), HasSubstr(wrong == &broken ? "line 2, column 12" : "expected a chat template"));
    }
  }
}

TEST(Chat, EveryAnswerHasTheStopTextsAndPenaltiesOfTheFlags) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m", "--stop", "User:", "--repeat-penalty", "1.5"}, "one\ntwo\n"), 0);
  ASSERT_EQ(cli.engine.requests.size(), 2U);
  for (const Request& request : cli.engine.requests) {
    EXPECT_EQ(request.stop, std::vector<std::string>{"User:"});
    EXPECT_EQ(request.sampling.repetition_penalty, 1.5F);
  }
}

TEST(Chat, ResetForgetsAllButTheSystemMessage) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m", "--system", "S"}, "one\n/reset\ntwo\n"), 0);
  EXPECT_THAT(contents(cli.engine.conversations.back()), testing::ElementsAre("system: S", "user: two"));
}

TEST(Chat, QuitLeavesAndHelpLists) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m"}, "/help\n/quit\nnever\n"), 0);
  EXPECT_TRUE(cli.engine.conversations.empty());
  for (const char* command : {"/reset", "/quit", "/help", "Ctrl-C"}) EXPECT_THAT(cli.out.str(), HasSubstr(command));
}

TEST(Chat, ByeAndExitLeaveAsWell) {
  for (const std::string word : {"/bye", "/exit"}) {
    CliRun cli;
    EXPECT_EQ(cli.run({"chat", "-m", "m"}, word + "\nnever\n"), 0);
    EXPECT_TRUE(cli.engine.conversations.empty());
    EXPECT_EQ(cli.err.str(), "");
  }
}

TEST(Chat, UnknownCommandsAreNotSentToTheModel) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m"}, "/rest\n/etc is a folder\n"), 0);
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
  EXPECT_EQ(cli.run({"chat", "-m", "m"}, "one\ntwo\n"), 0);
  EXPECT_EQ(cli.out.str(), "Hello, \nHello, world\n");
  EXPECT_EQ(contents(cli.engine.conversations.back())[1], "assistant: Hello, ");
}

TEST(Chat, AMessageThatDoesNotFitIsTakenBackAndResetIsOffered) {
  CliRun cli;
  const std::string long_message(100, 'x');
  EXPECT_EQ(cli.run({"chat", "-m", "m"}, "one\n" + long_message + "\ntwo\n"), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("have 115 tokens, the context holds 100; /reset begins"));
  EXPECT_THAT(contents(cli.engine.conversations.back()),
              testing::ElementsAre("user: one", "assistant: Hello, world", "user: two"));
}

TEST(Chat, AFullContextIsSaid) {
  CliRun cli;
  cli.engine.info.max_context = 6;
  EXPECT_EQ(cli.run({"chat", "-m", "m"}, "one\n"), 0);
  EXPECT_THAT(cli.err.str(), HasSubstr("the context of 6 tokens is full; /reset"));
}

TEST(Chat, TheAnswersLengthIsLimitedToTheRoomThatIsLeft) {
  CliRun cli;
  EXPECT_EQ(cli.run({"chat", "-m", "m", "-n", "2"}, "one\n"), 0);
  EXPECT_EQ(cli.engine.requests.back().max_tokens, 2);
  EXPECT_EQ(cli.run({"chat", "-m", "m", "-n", "500"}, "one\n"), 0);
  EXPECT_EQ(cli.engine.requests.back().max_tokens, 97);
}

}  // namespace
}  // namespace octavo

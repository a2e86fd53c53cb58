// The prompt of `octavo run` out of what is piped in, a file and words.
#include "cli/prompt.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "cli/fake_engine.h"
#include "cli/terminal/standard_input.h"
#include "support/temp_file.h"

namespace octavo {
namespace {

using cli::await_piped_input;
using cli::PipedInput;
using test::CliRun;
using testing::HasSubstr;
using namespace std::chrono_literals;

std::string prompt_of(CliRun& cli, std::vector<std::string> args, const std::string& piped) {
  args.insert(args.begin(), {"run", "-m", "m.gguf"});
  EXPECT_EQ(cli.run(args, piped), 0) << cli.err.str();
  return cli.engine.conversations.empty() ? "" : cli.engine.conversations.back().back().content;
}

TEST(Prompt, WhatIsPipedInComesBeforeThePrompt) {
  CliRun cli;
  EXPECT_EQ(prompt_of(cli, {"-p", "Sum up:"}, "A document.\nOf two lines.\n"), "A document.\nOf two lines.\n\nSum up:");
  EXPECT_EQ(prompt_of(cli, {"Sum", "up:"}, "A document."), "A document.\n\nSum up:");
  EXPECT_EQ(cli.err.str(), "");
}

TEST(Prompt, AFileComesBetweenWhatIsPipedInAndThePrompt) {
  const test::TempFile file("from a file\n");
  CliRun cli;
  EXPECT_EQ(prompt_of(cli, {"-f", file.string(), "-p", "Sum up:"}, ""), "from a file\n\nSum up:");
  EXPECT_EQ(prompt_of(cli, {"-f", file.string(), "Sum up:"}, "piped\n\n\n"), "piped\n\nfrom a file\n\nSum up:");
  EXPECT_EQ(prompt_of(cli, {"-f", file.string()}, "piped\n"), "piped\n\nfrom a file");
}

TEST(Prompt, NothingPipedInChangesNothing) {
  for (const auto& [state, text] : {std::pair(PipedInput::kThere, ""), std::pair(PipedInput::kThere, " \n"),
                                    std::pair(PipedInput::kNone, "not read")}) {
    CliRun cli;
    cli.piped_input = state;
    EXPECT_EQ(prompt_of(cli, {"-p", "x\n"}, text), "x\n");
    EXPECT_EQ(cli.err.str(), "");
  }
}

TEST(Prompt, APipeThatStaysSilentIsLeftAloneAndThatIsSaid) {
  CliRun cli;
  cli.piped_input = PipedInput::kSilent;
  EXPECT_EQ(prompt_of(cli, {"x"}, "too late"), "x");
  EXPECT_THAT(cli.err.str(), HasSubstr("octavo: nothing has come from standard input, the prompt is answered alone"));
  EXPECT_EQ(prompt_of(cli, {"-f", "-", "x"}, "late"), "late\n\nx");  // asked for
  EXPECT_EQ(cli.err.str(), "");
}

TEST(Prompt, NoPromptAtAllSaysHowToGiveOne) {
  CliRun cli;
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf"}, "\n"), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("octavo: the prompt is empty; give it as words, with -p"));
  EXPECT_TRUE(cli.engine.requests.empty());
}

TEST(Prompt, ATextWithoutEndIsRefused) {
  CliRun cli;
  EXPECT_EQ(cli.run({"run", "-m", "m.gguf", "-f", "/dev/zero"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("octavo: /dev/zero: found more than 256.0 MiB of text"));
}

/// Two ends of a pipe or a socket, closed in the end.
struct Ends {
  std::array<int, 2> fd = {-1, -1};
  ~Ends() {
    close_end(0);
    close_end(1);
  }
  void close_end(std::size_t i) {
    if (fd[i] >= 0) ::close(fd[i]);
    fd[i] = -1;
  }
};

TEST(PipedText, APipeOrSocketIsThereOnceItHasTextOrHasEnded) {
  for (const bool is_socket : {false, true}) {
    Ends ends;
    ASSERT_EQ(is_socket ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.fd.data()) : ::pipe(ends.fd.data()), 0);
    EXPECT_EQ(await_piped_input(ends.fd[0], 0ms), PipedInput::kSilent);
    EXPECT_EQ(await_piped_input(ends.fd[0], 20ms), PipedInput::kSilent);
    ASSERT_EQ(::write(ends.fd[1], "x", 1), 1);
    EXPECT_EQ(await_piped_input(ends.fd[0], 0ms), PipedInput::kThere);
    char byte = 0;
    ASSERT_EQ(::read(ends.fd[0], &byte, 1), 1);
    EXPECT_EQ(await_piped_input(ends.fd[0], 0ms), PipedInput::kSilent);
    ends.close_end(1);
    EXPECT_EQ(await_piped_input(ends.fd[0], 0ms), PipedInput::kThere);
  }
}

TEST(PipedText, AFileIsThereAndADeviceOrAClosedInputIsNone) {
  const test::TempFile file("x");
  Ends ends;
  ends.fd[0] = ::open(file.string().c_str(), O_RDONLY);
  ends.fd[1] = ::open("/dev/null", O_RDONLY);
  EXPECT_EQ(await_piped_input(ends.fd[0], 0ms), PipedInput::kThere);
  EXPECT_EQ(await_piped_input(ends.fd[1], 0ms), PipedInput::kNone);
  const int closed = ends.fd[1];
  ends.close_end(1);
  EXPECT_EQ(await_piped_input(closed, 0ms), PipedInput::kNone);
}

}  // namespace
}  // namespace octavo

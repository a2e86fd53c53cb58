// The program by the name of llama.cpp's server, up to the engine that it loads.
#include <gmock/gmock.h>

#include "cli/fake_engine.h"
#include "octavo/version.h"

namespace octavo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// By that name, with engines that fail to load, so that serving ends.
test::CliRun& named(test::CliRun& cli) {
  cli.name = "/usr/bin/llama-server";
  cli.load_engine = [&cli](EngineOptions options) -> Result<std::unique_ptr<Engine>> {
    cli.engine.options = std::move(options);
    return std::unexpected(Error{"the file is broken"});
  };
  return cli;
}

TEST(LlamaServer, TellsItsVersionItsDevicesAndItsArguments) {
  test::CliRun cli;
  EXPECT_EQ(named(cli).run({"--version"}), 0);
  EXPECT_EQ(cli.out.str(), "version: " OCTAVO_VERSION_STRING " (octavo)\n");
  EXPECT_EQ(cli.run({"--list-devices", "--offline", "--verbose"}), 0);
  EXPECT_EQ(cli.out.str(), "Available devices:\n  (none)\n");
  EXPECT_EQ(cli.run({"--help"}), 0);
  EXPECT_THAT(cli.out.str(), AllOf(HasSubstr("Usage: llama-server"), HasSubstr("-c, --ctx-size N"),
                                   HasSubstr("as octavo serve --idle-unload"), HasSubstr("\nRefused:\n")));
}

TEST(LlamaServer, EveryFailureIsCodeOneAndALineThatSaysError) {
  test::CliRun cli;
  EXPECT_EQ(named(cli).run({"--no-such"}), 1);
  EXPECT_THAT(cli.err.str(), StartsWith("octavo: error: there is no argument --no-such"));
  EXPECT_EQ(cli.run({"--host", "127.0.0.1", "--port", "70000"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("octavo: error: --port: found '70000'"));
  EXPECT_EQ(cli.run({"-m", "/m", "--port", "0"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("octavo: error: the file is broken"));
}

TEST(LlamaServer, ServesTheModelThatItIsGiven) {
  test::CliRun cli;
  EXPECT_EQ(named(cli).run({"-m", "models/blob", "--port", "0", "-t", "3", "-ngl", "99", "-ub", "64"}), 1);
  EXPECT_EQ(cli.engine.options.model_path, "./models/blob");
  EXPECT_EQ(cli.engine.options.max_step_tokens, 64);
  EXPECT_EQ(cli.engine.options.device, Device::kAuto);
  EXPECT_EQ(cli.engine.options.gpu_layers, 99);
  EXPECT_THAT(cli.err.str(), AllOf(HasSubstr("system_info:"), Not(HasSubstr("server is listening on"))));
}

TEST(LlamaServer, ServeTakesItsArgumentsToo) {
  test::CliRun cli;
  named(cli).name = "octavo";
  EXPECT_EQ(cli.run({"serve", "m.gguf", "--port", "0", "--ubatch-size", "32", "--chat-template", "chatml"}), 1);
  EXPECT_EQ(cli.engine.options.max_step_tokens, 32);
  EXPECT_THAT(cli.engine.options.chat_template, HasSubstr("<|im_start|>"));
  EXPECT_EQ(cli.run({"serve", "m.gguf", "--port", "0", "--chat-template", "{{ 'x' }}"}), 1);
  EXPECT_EQ(cli.engine.options.chat_template, "{{ 'x' }}");
  EXPECT_EQ(cli.run({"serve", "m.gguf", "--lora", "x"}), 2);
  EXPECT_THAT(cli.err.str(), HasSubstr("--lora is refused"));
  EXPECT_EQ(cli.run({"serve", "m.gguf", "--chat-template", "chatml", "--chat-template-file", "x"}), 2);
}

}  // namespace
}  // namespace octavo

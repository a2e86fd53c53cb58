// What the program says to wrong arguments, and what its help promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/fake_engine.h"
#include "support/temp_file.h"

namespace octavo {
namespace {

using test::CliRun;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kCommands[] = {"run", "chat", "serve", "info", "tokenize", "logits"};

TEST(Usage, NoCommandPrintsHelpAndIsWrong) {
  CliRun cli;
  EXPECT_EQ(cli.run({}), 2);
  EXPECT_EQ(cli.out.str(), "");
  for (const char* command : kCommands) EXPECT_THAT(cli.err.str(), HasSubstr(command));
}

TEST(Usage, HelpIsDoneEverywhereAndHasExamples) {
  CliRun cli;
  EXPECT_EQ(cli.run({"--help"}), 0);
  EXPECT_THAT(cli.out.str(), AllOf(HasSubstr("Exit codes"), HasSubstr("octavo run -p")));
  for (const char* command : kCommands) {
    EXPECT_EQ(cli.run({command, "--help"}), 0) << command;
    EXPECT_THAT(cli.out.str(), AllOf(HasSubstr("Examples:"), HasSubstr(std::string("octavo ") + command))) << command;
    EXPECT_THAT(cli.out.str(), Not(HasSubstr("Excludes"))) << command;
    EXPECT_EQ(cli.err.str(), "") << command;
  }
}

TEST(Usage, VersionIsOneLine) {
  CliRun cli;
  EXPECT_EQ(cli.run({"--version"}), 0);
  EXPECT_THAT(cli.out.str(), AllOf(StartsWith("octavo "), EndsWith("\n")));
}

TEST(Usage, WrongArgumentsAreOneLineAndExitCode2) {
  const std::vector<std::vector<std::string>> wrong = {
      {"fly"},
      {"--fly"},
      {"run", "--fly"},
      {"run", "-p"},
      {"run", "-p", "x", "-f", "y"},
      {"run", "-p", "x", "-n", "0"},
      {"run", "-p", "x", "-n", "many"},
      {"run", "-p", "x", "-n", "99999999999"},
      {"run", "-p", "x", "--temp", "-1"},
      {"run", "-p", "x", "--temp", "nan"},
      {"run", "-p", "x", "--top-p", "1.5"},
      {"run", "-p", "x", "--top-k", "-1"},
      {"run", "-p", "x", "--min-p", "2"},
      {"run", "-p", "x", "--repeat-penalty", "0"},
      {"run", "-p", "x", "--presence-penalty", "2.5"},
      {"run", "-p", "x", "--frequency-penalty", "-3"},
      {"run", "-p", "x", "--stop", ""},
      {"run", "-p", "x", "--min-tokens", "-1"},
      {"run", "-p", "x", "--seed", "-1"},
      {"run", "-p", "x", "--seed", "18446744073709551616"},
      {"run", "-p", "x", "--threads", "0"},
      {"run", "-p", "x", "--isa", "sse9"},
      {"run", "-p", "x", "--kv-type", "f64"},
      {"run", "-p", "x", "--block-size", "12"},
      {"run", "-p", "x", "--block-size", "512"},
      {"run", "-p", "x", "--kv-layout", "slots"},
      {"run", "-p", "x", "--kv-layout", "contiguous", "--block-size", "16"},
      {"run", "-p", "x", "--kv-memory", "4 gigabytes"},
      {"run", "-p", "x", "--max-context", "0"},
      {"run", "-p", "x", "--chunk", "0"},
      {"run", "-p", "x", "--log-level", "loud"},
      {"chat", "words"},
      {"info", "a", "b"},
      {"info", "a", "--context", "-5"},
      {"serve", "--port", "70000"},
      {"serve", "--read-timeout", "-1"},
      {"serve", "--policy", "fair"},
      {"serve", "--max-body-size", "1TiB"},
      {"serve", "--tls-cert", "cert.pem"},
      {"serve", "--config", "/nowhere/octavo.conf"},
      {"serve", "--config", "/"},
      {"serve", "--host", ""},
      {"serve", "--api-key-file", ""},
      {"serve", "--tls-cert", "", "--tls-key", ""},
      {"serve", "--read-timeout", "0"},
      {"serve", "--access-log", ""},
      {"serve", "--config", ""},
      {"run", "-p", "x", "-m", ""},
      {"run", "-f", ""},
      {"run", "-p", "x", "--kv-memory", "0"},
      {"run", "-p", "x", "--kv-memory", "0GiB"},
      {"info", ""},
      {"bench", "--prompt", "0", "--gen", "0"},
      {"bench", "--prompt", "0,0", "--gen", "0", "--shared-prefix", "16"},
      {"bench", "--plot", ""},
      {"tokenize", "text", "--decode", "1"},
      {"tokenize", "text", "--ids", "--json"},
      {"logits"},
      {"logits", "--ids", "1,x"},
      {"logits", "--ids", ""},
      {"logits", "--ids", "1", "--out", ""},
      {"server"},
  };
  for (const auto& args : wrong) {
    CliRun cli;
    const std::string shown = testing::PrintToString(args);
    EXPECT_EQ(cli.run(args), 2) << shown;
    EXPECT_EQ(cli.out.str(), "") << shown;
    const std::string message = cli.err.str();
    EXPECT_THAT(message, StartsWith("octavo: ")) << shown;
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1) << message;
  }
}

TEST(Usage, WrongValuesNameTheOptionWhatWasFoundAndWhatIsExpected) {
  CliRun cli;
  cli.run({"run", "-p", "x", "--block-size", "12"});
  EXPECT_THAT(cli.err.str(), AllOf(HasSubstr("--block-size"), HasSubstr("'12'"), HasSubstr("power of two")));
  cli.run({"run", "-p", "x", "--isa", "sse9"});
  EXPECT_THAT(cli.err.str(), AllOf(HasSubstr("--isa"), HasSubstr("'sse9'"), HasSubstr("avx512vnni")));
  cli.run({"run", "-p", "x", "--kv-memory", "4G"});
  EXPECT_THAT(cli.err.str(), AllOf(HasSubstr("--kv-memory"), HasSubstr("'4G'"), HasSubstr("4GiB")));
  EXPECT_THAT(cli.err.str(), HasSubstr("octavo run --help"));
}

TEST(Usage, EngineOptionsReachTheEngine) {
  CliRun cli;
  ASSERT_EQ(cli.run({"run", "-p", "x", "-m", "some.gguf", "--threads", "3", "--isa", "scalar", "--kv-type", "q8_0",
                     "--block-size", "32", "--kv-memory", "1.5GiB", "--max-context", "50", "--chunk", "7"}),
            0)
      << cli.err.str();
  const EngineOptions& options = cli.engine.options;
  EXPECT_EQ(options.model_path, "some.gguf");
  EXPECT_EQ(options.num_threads, 3);
  EXPECT_EQ(options.isa, "scalar");
  EXPECT_EQ(options.kv_type, KvType::kQ8_0);
  EXPECT_EQ(options.block_size, 32);
  EXPECT_EQ(options.kv_memory_bytes, std::uint64_t{3} << 29);
  EXPECT_EQ(options.max_context, 50);
  EXPECT_EQ(options.max_step_tokens, 7);
  EXPECT_EQ(options.kv_layout, KvLayout::kPaged);
  CliRun contiguous;
  ASSERT_EQ(contiguous.run({"run", "-p", "x", "-m", "some.gguf", "--kv-layout", "contiguous"}), 0);
  EXPECT_EQ(contiguous.engine.options.kv_layout, KvLayout::kContiguous);
}

TEST(Usage, TheDefaultModelIsInTheCacheFolderOrTheErrorNamesTheSetUp) {
  CliRun cli;
  cli.cache_folder = "/no/such/cache";
  EXPECT_EQ(cli.run({"run", "-p", "x"}), 1);
  EXPECT_THAT(cli.err.str(), AllOf(HasSubstr("/no/such/cache/octavo/models/SmolLM2-135M-Instruct.Q4_1.gguf"),
                                   HasSubstr("scripts/setup")));
  cli.cache_folder.clear();
  EXPECT_EQ(cli.run({"run", "-p", "x"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("XDG_CACHE_HOME"));

  const auto folder = std::filesystem::temp_directory_path() / "octavo-default-model-test";
  std::filesystem::create_directories(folder / "octavo/models");
  const auto model = folder / "octavo/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  std::ofstream(model) << "x";
  cli.cache_folder = folder;
  EXPECT_EQ(cli.run({"run", "-p", "x"}), 0) << cli.err.str();
  EXPECT_EQ(cli.engine.options.model_path, model);
  std::filesystem::remove_all(folder);
}

TEST(Usage, ACacheFolderThatCannotBeReadIsNotAModelThatIsNotThere) {
  CliRun cli;
  cli.cache_folder = "/" + std::string(300, 'x');  // also root, who may read any folder, is refused this one
  EXPECT_EQ(cli.run({"run", "-p", "x"}), 1);
  EXPECT_THAT(cli.err.str(), AllOf(HasSubstr("File name too long"), Not(HasSubstr("is not there"))));
}

}  // namespace
}  // namespace octavo

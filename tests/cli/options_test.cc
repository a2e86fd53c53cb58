// Options that several commands share: where they may stand, what they default to, and that they reach the engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/fake_engine.h"
#include "support/temp_file.h"

namespace octavo {
namespace {

using test::CliRun;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Makes every engine fail to load, with the file that it was asked for; `serve` then ends.
void refuse_to_load(CliRun& cli) {
  cli.load_engine = [](const EngineOptions& options) -> Result<std::unique_ptr<Engine>> {
    return std::unexpected(Error{"cannot load " + options.model_path.string()});
  };
}

TEST(Usage, ValuesMayStandBehindAnEqualsSignAlsoEmptyOnes) {
  CliRun cli;
  EXPECT_EQ(cli.run({"run", "x", "--model=m.gguf", "--threads=3", "-n2", "--no-repack=false"}), 0) << cli.err.str();
  EXPECT_EQ(cli.engine.options.num_threads, 3);
  EXPECT_EQ(cli.engine.requests.back().max_tokens, 2);
  EXPECT_TRUE(cli.engine.options.repack);
  EXPECT_EQ(cli.run({"run", "--model=", "-n", "2", "x"}), 2);
  EXPECT_THAT(cli.err.str(), HasSubstr("--model: found an empty value"));
}

TEST(Usage, TheModelIsTheFirstWordIfItLooksLikeOneOrFollowsM) {
  const test::TempFile gguf("GGUF...", ".bin");
  const auto model_of = [](std::vector<std::string> args) {
    CliRun cli;
    EXPECT_EQ(cli.run(std::move(args), "hello\n"), 0) << cli.err.str();
    return cli.engine.options.model_path.string();
  };
  for (const std::string command : {"run", "chat"}) {
    EXPECT_EQ(model_of({command, "a.gguf"}), "a.gguf");
    EXPECT_EQ(model_of({command, gguf.string()}), gguf.string());
    EXPECT_EQ(model_of({command, "-n", "1", "a.gguf"}), "a.gguf");
  }
  EXPECT_EQ(model_of({"logits", "a.gguf", "--ids", "1"}), "a.gguf");
  EXPECT_EQ(model_of({"run", "a.gguf", "Hello"}), "a.gguf");
  EXPECT_EQ(model_of({"run", "-m", "b.gguf", "a.gguf"}), "b.gguf");  // a prompt
  CliRun cli;
  refuse_to_load(cli);
  EXPECT_EQ(cli.run({"serve", "/nowhere/a.gguf", "--port", "0"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("/nowhere/a.gguf"));
  EXPECT_EQ(cli.run({"bench", "/nowhere/a.gguf", "--threads", "1"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("/nowhere/a.gguf"));
  EXPECT_EQ(cli.run({"chat", "words"}), 2);
  EXPECT_THAT(cli.err.str(), HasSubstr("found the word 'words', expected at most one, the name of a GGUF file"));
}

TEST(Usage, AFileOfOptionsGoesAfterTheCommandLine) {
  const test::TempFile file("# settings\nmodel = \"/nowhere/file.gguf\"\nno-repack = true\nport = 0\n");
  CliRun cli;
  refuse_to_load(cli);
  EXPECT_EQ(cli.run({"serve", "--config", file.string()}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("/nowhere/file.gguf"));
  for (const std::vector<std::string>& named :
       {std::vector<std::string>{"/nowhere/word.gguf"}, {"-m", "/nowhere/word.gguf"}}) {
    std::vector<std::string> args = {"serve", "--config", file.string()};
    args.insert(args.end(), named.begin(), named.end());
    EXPECT_EQ(cli.run(args), 1);
    EXPECT_THAT(cli.err.str(), HasSubstr("/nowhere/word.gguf"));
  }
  for (const auto& [line, message] :
       {std::pair("prt = 1", "prt: there is no such option; did you mean port?"),
        std::pair("port = 1, 2", "port: found 2 values, expected 1"),
        std::pair("no-repack = perhaps", "--no-repack: found 'perhaps', expected true or false"),
        std::pair("[server]\nport = 1", "there is no such option")}) {
    const test::TempFile wrong(std::string(line) + "\n");
    EXPECT_EQ(cli.run({"serve", "--config", wrong.string()}), 2) << line;
    EXPECT_THAT(cli.err.str(), AllOf(HasSubstr(wrong.string()), HasSubstr(message)));
  }
}

TEST(Usage, EngineOptionsReachTheEngine) {
  CliRun cli;
  ASSERT_EQ(cli.run({"run",  "-p",           "x",      "-m",          "some.gguf", "--threads",
                     "3",    "--isa",        "scalar", "--bits",      "portable",  "--kv-type",
                     "q8_0", "--block-size", "32",     "--kv-memory", "1.5GiB",    "--max-context",
                     "50",   "--chunk",      "7"}),
            0)
      << cli.err.str();
  const EngineOptions& options = cli.engine.options;
  EXPECT_EQ(options.model_path, "some.gguf");
  EXPECT_EQ(options.num_threads, 3);
  EXPECT_EQ(options.isa, "scalar");
  EXPECT_EQ(options.bits, Bits::kPortable);
  EXPECT_EQ(options.kv_type, KvType::kQ8_0);
  EXPECT_EQ(options.block_size, 32);
  EXPECT_EQ(options.kv_memory_bytes, std::uint64_t{3} << 29);
  EXPECT_EQ(options.max_context, 50);
  EXPECT_EQ(options.max_step_tokens, 7);
  EXPECT_EQ(options.itl_target_ms, 0) << "one user wants the whole answer soon";
  EXPECT_EQ(options.kv_layout, KvLayout::kPaged);
  CliRun contiguous;
  ASSERT_EQ(contiguous.run({"run", "-p", "x", "-m", "some.gguf", "--kv-layout", "contiguous"}), 0);
  EXPECT_EQ(contiguous.engine.options.kv_layout, KvLayout::kContiguous);
}

TEST(Usage, CommandsForOneUserLeaveTheKvMemoryNoLargerThanTheyCanUse) {
  CliRun cli;
  ASSERT_EQ(cli.run({"run", "-p", "x", "-m", "some.gguf"}), 0) << cli.err.str();
  EXPECT_EQ(cli.engine.options.max_sequences, 1);
  ASSERT_EQ(cli.run({"run", "-p", "x", "-m", "some.gguf", "--choices", "5"}), 0) << cli.err.str();
  EXPECT_EQ(cli.engine.options.max_sequences, 5);
  ASSERT_EQ(cli.run({"chat", "-m", "some.gguf"}, "hello\n"), 0) << cli.err.str();
  EXPECT_EQ(cli.engine.options.max_sequences, 1);
  ASSERT_EQ(cli.run({"logits", "-m", "some.gguf", "--ids", "1,2"}), 0) << cli.err.str();
  EXPECT_EQ(cli.engine.options.max_sequences, 1);
}

TEST(Usage, AMissingDefaultModelIsAnErrorThatSaysWhatToDoWhereTheProgramIs) {
  const auto tree = std::filesystem::temp_directory_path() / "octavo-source-tree-test";
  std::filesystem::create_directories(tree / "scripts");
  std::ofstream(tree / "scripts/setup") << "x";
  CliRun cli;
  cli.cache_folder = "/no/such/cache";
  cli.program = tree / "build/release/octavo";
  EXPECT_EQ(cli.run({"run", "x"}), 1);
  EXPECT_THAT(cli.err.str(), AllOf(HasSubstr("/no/such/cache/octavo/models/SmolLM2-135M-Instruct.Q4_1.gguf"),
                                   HasSubstr("fetch it with " + (tree / "scripts/setup").string())));
  std::filesystem::remove_all(tree);
  for (const char* installed : {"", "/usr/bin/octavo", "/octavo"}) {
    cli.program = installed;
    EXPECT_EQ(cli.run({"run", "x"}), 1);
    EXPECT_THAT(cli.err.str(),
                AllOf(HasSubstr("/no/such/cache/octavo/models/SmolLM2-135M-Instruct.Q4_1.gguf"),
                      HasSubstr("octavo run model.gguf \"Hello\", or -m model.gguf"), Not(HasSubstr("scripts/setup"))));
  }
}

TEST(Usage, TheDefaultModelIsInTheCacheFolder) {
  CliRun cli;
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

// The program's words on wrong arguments, and its help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "cli/fake_engine.h"
#include "octavo/version.h"

namespace octavo {
namespace {

using test::CliRun;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* kCommands[] = {"run", "chat",    "serve",    "embed", "rerank",   "pull",   "list", "rm",
                                     "kv",  "convert", "quantize", "info",  "tokenize", "logits", "bench"};

/// The lines of a text that have more characters than a terminal has columns.
std::vector<std::string> wide_lines(const std::string& text, std::size_t columns = 80) {
  std::vector<std::string> wide;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.size() > columns) wide.push_back(line);
  return wide;
}

TEST(Usage, NoCommandPrintsHelpAndIsWrong) {
  CliRun cli;
  EXPECT_EQ(cli.run({}), 2);
  EXPECT_EQ(cli.out.str(), "");
  for (const char* command : kCommands) EXPECT_THAT(cli.err.str(), HasSubstr(command));
}

TEST(Usage, HelpIsDoneEverywhereAndHasExamples) {
  CliRun cli;
  EXPECT_EQ(cli.run({"--help"}), 0);
  EXPECT_THAT(cli.out.str(), AllOf(HasSubstr("Exit codes"), HasSubstr("octavo run \"Why")));
  EXPECT_THAT(wide_lines(cli.out.str()), IsEmpty());
  EXPECT_LE(std::ranges::count(cli.out.str(), '\n'), 24) << "more than a terminal shows";
  for (const char* command : kCommands) {
    EXPECT_EQ(cli.run({command, "--help"}), 0) << command;
    EXPECT_THAT(cli.out.str(), AllOf(HasSubstr("Examples:"), HasSubstr(std::string("octavo ") + command))) << command;
    EXPECT_THAT(cli.out.str(), HasSubstr(std::string("Usage: octavo ") + command + " [OPTIONS]"));
    EXPECT_THAT(wide_lines(cli.out.str()), IsEmpty()) << command;
    EXPECT_EQ(cli.err.str(), "") << command;
  }
}

TEST(Usage, HelpIsAWordAsWell) {
  CliRun cli;
  EXPECT_EQ(cli.run({"run", "--help"}), 0);
  const std::string help = cli.out.str();
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"help", "run"}, {"--help", "run"}, {"run", "-h"}, {"run", "Hello", "--help"}}) {
    EXPECT_EQ(cli.run(args), 0);
    EXPECT_EQ(cli.out.str(), help);
  }
  EXPECT_EQ(cli.run({"help"}), 0);
  EXPECT_THAT(cli.out.str(), HasSubstr("Commands:"));
  EXPECT_EQ(cli.run({"help", "serv"}), 2);
  EXPECT_THAT(cli.err.str(), HasSubstr("there is no command 'serv'; did you mean serve?"));
}

TEST(Usage, HelpListsOptionsInGroups) {
  CliRun cli;
  cli.run({"serve", "--help"});
  std::size_t last = 0;
  for (const char* title : {"Options:\n", "Network:\n", "Operation:\n", "Scheduling:\n", "Limits:\n", "Engine:\n",
                            "General:\n", "Examples:\n"}) {
    const std::size_t at = cli.out.str().find(std::string("\n") + title);
    ASSERT_NE(at, std::string::npos) << title;
    EXPECT_GT(at, last) << title;
    last = at;
  }
  EXPECT_THAT(cli.out.str(), HasSubstr("\n  -m, --model MODEL         GGUF file"));
  EXPECT_THAT(cli.out.str(), HasSubstr("\n      --port N              Port; default 8080"));
}

TEST(Usage, VersionIsOneLineWithThatOfTheHeader) {
  CliRun cli;
  EXPECT_EQ(cli.run({"--version"}), 0);
  EXPECT_EQ(cli.out.str(), "octavo " OCTAVO_VERSION_STRING "\n");
}

TEST(Usage, WrongArgumentsAreOneLineAndExitCode2) {
  const std::vector<std::vector<std::string>> wrong = {
      {"fly"},
      {"--fly"},
      {"run", "--fly"},
      {"run", "-p"},
      {"run", "-p", "x", "words"},
      {"run", "x", "--raw", "--system", "y"},
      {"run", "x", "--raw=perhaps"},
      {"run", "x", "--threads", "1", "--threads", "2"},
      {"run", "-p", "x", "-n", "0"},
      {"run", "-p", "x", "-n", "many"},
      {"run", "-p", "x", "-n", "99999999999"},
      {"run", "-p", "x", "--temp", "-1"},
      {"run", "-p", "x", "--temp", "nan"},
      {"run", "-p", "x", "--top-p", "1.5"},
      {"run", "-p", "x", "--top-k", "-1"},
      {"run", "-p", "x", "--min-p", "2"},
      {"run", "-p", "x", "--mirostat", "3"},
      {"run", "-p", "x", "--samplers", "top_q"},
      {"run", "-p", "x", "--dry-base", "0.5"},
      {"run", "-p", "x", "--repeat-penalty", "0"},
      {"run", "-p", "x", "--presence-penalty", "2.5"},
      {"run", "-p", "x", "--frequency-penalty", "-3"},
      {"run", "-p", "x", "--stop", ""},
      {"run", "-p", "x", "--min-tokens", "-1"},
      {"run", "-p", "x", "--seed", "-1"},
      {"run", "-p", "x", "--seed", "18446744073709551616"},
      {"run", "-p", "x", "--threads", "0"},
      {"run", "-p", "x", "--isa", "sse9"},
      {"run", "-p", "x", "--bits", "64"},
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
      {"serve", "words"},
      {"bench", "words"},
      {"logits", "words", "--ids", "1"},
      {"chat", "-m", "a.gguf", "b.gguf"},
      {"info", "-m", "a", "b"},
      {"tokenize", "two", "words"},
      {"help", "fly"},
      {"info", "a", "b"},
      {"info", "a", "--context", "-5"},
      {"serve", "--port", "70000"},
      {"serve", "--read-timeout", "-1"},
      {"serve", "--min-write-rate", "fast"},
      {"serve", "--keepalive-interval", "-1"},
      {"serve", "--idle-release", "-1"},
      {"serve", "--policy", "fair"},
      {"serve", "--max-queued-tokens", "-1"},
      {"serve", "--max-client-priority", "1001"},
      {"serve", "--max-body-size", "1TiB"},
      {"serve", "--max-received-size", "1"},
      {"serve", "--parse-threads", "0"},
      {"serve", "--tls-cert", "cert.pem"},
      {"serve", "--config", "/nowhere/octavo.conf"},
      {"serve", "--config", "/"},
      {"serve", "--host", ""},
      {"serve", "--api-key-file", ""},
      {"serve", "--allowed-host", ""},
      {"serve", "--image-placeholder", ""},
      {"serve", "--mmproj", ""},
      {"serve", "--mmproj", "a.gguf", "--no-mmproj"},
      {"serve", "--image-min-tokens", "0"},
      {"serve", "--image-min-tokens", "9", "--image-max-tokens", "8"},
      {"serve", "--picture-memory", "0"},
      {"serve", "--max-picture-size", "0"},
      {"serve", "--max-picture-pixels", "0"},
      {"serve", "--max-pictures", "-1"},
      {"serve", "--image-urls", ""},
      {"serve", "--image-urls", "public,*.example.com"},
      {"serve", "--media-path", ""},
      {"serve", "--media-path", "/nowhere/pictures"},
      {"run", "-p", "x", "--image", ""},
      {"serve", "--additional-properties", "open"},
      {"run", "--additional-properties", "false"},
      {"serve", "--allowed-host", "https://chat.example"},
      {"serve", "--allowed-host", "chat.example:8080"},
      {"serve", "--metrics-listen", "9100"},
      {"serve", "--metrics-listen", "127.0.0.1:70000"},
      {"serve", "--trusted-proxy", "lan"},
      {"serve", "--trusted-proxy", "10.1.2.3/8"},
      {"serve", "--max-connections-per-address", "-1"},
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
  cli.run({"run", "x", "-n"});
  EXPECT_THAT(cli.err.str(), StartsWith("octavo: --max-tokens: found no value, expected N; "));
  cli.run({"run", "x", "-t", "1", "--threads", "2"});
  EXPECT_THAT(cli.err.str(), StartsWith("octavo: --threads: found 2 values, expected one; "));
  cli.run({"logits"});
  EXPECT_THAT(cli.err.str(), StartsWith("octavo: --ids IDS is missing; "));
  cli.run({"serve", "--tls-cert", "x"});
  EXPECT_THAT(cli.err.str(), StartsWith("octavo: --tls-cert needs --tls-key; "));
  cli.run({"tokenize", "x", "--ids", "--json"});
  EXPECT_THAT(cli.err.str(), StartsWith("octavo: --json and --ids exclude each other; "));
}

TEST(Usage, OneRequestFitsIntoWhatAllMayTake) {
  CliRun cli;
  EXPECT_EQ(cli.run({"serve", "-m", "/nowhere/model.gguf", "--port", "0", "--max-received-size", "8MiB"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("--max-received-size: found 8.0 MiB, expected at least 8.0 MiB"));
}

TEST(Usage, AnUnknownWordOrOptionNamesTheNearestKnownOne) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"cht"}, "there is no command 'cht'; did you mean chat?"},
      {{"server"}, "there is no command 'server'; did you mean serve?"},
      {{"tok"}, "there is no command 'tok'; did you mean tokenize?"},
      {{"fly"}, "there is no command 'fly'; octavo --help"},
      {{"model.gguf"}, "did you mean octavo run \"model.gguf\"?"},
      {{"Why is it so?"}, "did you mean octavo run \"Why is it so?\"?"},
      {{"--threads", "1", "run"}, "there is no option --threads before a command"},
      {{"run", "x", "--thread", "1"}, "there is no option --thread; did you mean --threads?"},
      {{"run", "x", "--max-token=3"}, "there is no option --max-token; did you mean --max-tokens?"},
      {{"run", "x", "--sede", "1"}, "there is no option --sede; did you mean --seed?"},
      {{"run", "x", "--repeat", "1"}, "there is no option --repeat; did you mean --repeat-penalty?"},
      {{"run", "x", "--kv-type", "q8"}, "f16, bf16, q8_0, f32; did you mean q8_0?"},
      {{"run", "x", "--isa", "avx-2"}, "did you mean avx2?"},
      {{"run", "x", "--bits", "portabel"}, "did you mean portable?"},
      {{"run", "x", "--kv-layout", "page"}, "did you mean paged?"},
      {{"run", "x", "--log-level", "warn"}, "did you mean warning?"},
      {{"serve", "--policy", "prefil-first"}, "did you mean prefill-first?"},
      {{"bench", "--format", "jsn"}, "did you mean json?"},
      {{"run", "- is a dash"}, "there is no option - is a dash; words that begin with - stand after --; "},
  };
  for (const auto& [args, message] : cases) {
    CliRun cli;
    EXPECT_EQ(cli.run(args), 2);
    EXPECT_THAT(cli.err.str(), HasSubstr(message));
  }
}

TEST(Usage, TheFirstUnknownOptionIsNamedWhateverFollows) {
  CliRun cli;
  EXPECT_EQ(cli.run({"tokenize", "--threads", "1", "-m", "m.gguf", "--fly", "Hello"}), 2);
  EXPECT_THAT(cli.err.str(), StartsWith("octavo: there is no option --threads; "));
  EXPECT_EQ(cli.run({"tokenize", "one", "two", "three"}), 2);
  EXPECT_THAT(cli.err.str(), HasSubstr("found the words 'one' and 'two'"));
}

TEST(Usage, OptionsHaveTheNamesThatOtherProgramsGiveThem) {
  CliRun cli;
  ASSERT_EQ(cli.run({"run", "x", "-m", "m.gguf", "-t", "3", "-c", "50", "--temperature", "0.25"}), 0) << cli.err.str();
  EXPECT_EQ(cli.engine.options.num_threads, 3);
  EXPECT_EQ(cli.engine.options.max_context, 50);
  EXPECT_EQ(cli.engine.requests.back().sampling.temperature, 0.25F);
  ASSERT_EQ(cli.run({"chat", "-m", "m.gguf", "--ctx-size", "60", "--temp", "0.5"}, "hello\n"), 0) << cli.err.str();
  EXPECT_EQ(cli.engine.options.max_context, 60);
  EXPECT_EQ(cli.engine.requests.back().sampling.temperature, 0.5F);
}

}  // namespace
}  // namespace octavo

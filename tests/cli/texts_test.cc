// octavo embed and octavo rerank: where texts come from, and how vectors and scores are printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "cli/fake_engine.h"
#include "support/temp_file.h"

namespace octavo {
namespace {

using test::CliRun;
using test::TempFile;
using testing::HasSubstr;

class Embed : public testing::Test {
 protected:
  Embed() { cli_.engine.info.embedding = {.generates = false, .pooling = Pooling::kMean, .width = 2}; }

  int run(std::vector<std::string> args, const std::string& input = "") {
    args.insert(args.begin(), {"embed", "-m", "some.gguf"});
    return cli_.run(args, input);
  }
  static std::string bytes_of(const std::filesystem::path& path) {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  }
  CliRun cli_;
};

TEST_F(Embed, PrintsALineOfJsonForEachTextInTheirOrder) {
  EXPECT_EQ(run({"ab", "c", "--embd-normalize", "-1"}), 0) << cli_.err.str();
  EXPECT_EQ(cli_.out.str(), "{\"index\":0,\"embedding\":[2,0]}\n{\"index\":1,\"embedding\":[1,0]}\n");
  EXPECT_EQ(cli_.err.str(), "");
  EXPECT_EQ(run({"ab"}), 0);
  EXPECT_EQ(cli_.out.str(), "{\"index\":0,\"embedding\":[1,0]}\n") << "normalized";
  EXPECT_EQ(cli_.engine.requests.back().max_tokens, -1);
  EXPECT_EQ(cli_.engine.requests.back().embedding.pooling, Pooling::kMean);
}

TEST_F(Embed, TextsAreTheLinesOfAFileOrOfStandardInput) {
  const TempFile file("abc\r\nde");
  EXPECT_EQ(run({"-f", file.string(), "--embd-normalize", "-1"}), 0) << cli_.err.str();
  EXPECT_EQ(cli_.out.str(), "{\"index\":0,\"embedding\":[3,0]}\n{\"index\":1,\"embedding\":[2,0]}\n");
  EXPECT_EQ(run({"--embd-normalize", "-1"}, "abcd\n"), 0);
  EXPECT_EQ(cli_.out.str(), "{\"index\":0,\"embedding\":[4,0]}\n");
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(run({"--embd-normalize", "-1"}, mark + "ab\nabc"), 0) << cli_.err.str();
  EXPECT_EQ(cli_.out.str(), "{\"index\":0,\"embedding\":[2,0]}\n{\"index\":1,\"embedding\":[3,0]}\n");
  EXPECT_EQ(run({}, mark), 1);
  EXPECT_EQ(run({}, ""), 1);
  EXPECT_THAT(cli_.err.str(), HasSubstr("found no text, expected words, -f FILE, or lines on standard input"));
  EXPECT_EQ(run({}, "a\n\nb\n"), 1);
  EXPECT_THAT(cli_.err.str(), HasSubstr("text 2 is empty"));
  EXPECT_EQ(run({"a", "-f", "b"}), 2);
}

TEST_F(Embed, ManyTextsGoThroughTheEngineAFewAtATime) {
  std::string input;
  for (int i = 0; i < 1000; ++i) input += std::string(static_cast<std::size_t>(i % 90 + 1), 'a') + "\n";
  EXPECT_EQ(run({"--embd-normalize", "-1"}, input), 0) << cli_.err.str();
  EXPECT_EQ(cli_.engine.requests.size(), 1000);
  EXPECT_EQ(cli_.engine.most_texts, 64);
  EXPECT_THAT(cli_.out.str(), HasSubstr("{\"index\":999,\"embedding\":[10,0]}"));
  EXPECT_EQ(cli_.engine.options.max_queued, 0);
}

TEST_F(Embed, OutIsAMatrixOfAllVectors) {
  const TempFile file("");
  EXPECT_EQ(run({"ab", "c", "a", "--out", file.string(), "--embd-normalize", "-1"}), 0) << cli_.err.str();
  EXPECT_EQ(cli_.out.str(), "");
  const std::string bytes = bytes_of(file.string());
  EXPECT_THAT(bytes, HasSubstr("'shape': (3, 2)"));
  const float second[] = {1, 0};
  EXPECT_EQ(bytes.substr(bytes.size() - 16, 8), std::string(reinterpret_cast<const char*>(second), 8));
}

TEST_F(Embed, SimilaritiesAreATableWithTheTextsBehindIt) {
  cli_.engine.rows = [](const Request& request) {
    return request.tokens.size() == 1 ? std::vector<float>{2, 0} : std::vector<float>{3, 4};
  };
  EXPECT_EQ(run({"a", "b\n", "--similarities"}), 0) << cli_.err.str();
  EXPECT_EQ(cli_.out.str(), " 1.0000  0.6000  a\n 0.6000  1.0000  b\\n\n");
  EXPECT_EQ(run({"a", "--similarities", "--out", "x.npy"}), 2);
}

TEST_F(Embed, WithoutPoolingATextHasARowOfEachToken) {
  cli_.engine.rows = [](const Request&) { return std::vector<float>{1, 2, 3, 4}; };
  EXPECT_EQ(run({"ab", "--pooling", "none"}), 0) << cli_.err.str();
  EXPECT_EQ(cli_.out.str(), "{\"index\":0,\"embedding\":[[1,2],[3,4]]}\n");
  EXPECT_EQ(cli_.engine.options.pooling, Pooling::kNone);
  EXPECT_EQ(run({"ab", "--pooling", "none", "--similarities"}), 1);
  EXPECT_THAT(cli_.err.str(), HasSubstr("--pooling none: found --similarities beside it"));
}

TEST_F(Embed, ALongTextIsNamedUnlessItMayBeCut) {
  const std::string text(101, 'a');
  EXPECT_EQ(run({"b", text}), 1);
  EXPECT_THAT(cli_.err.str(), HasSubstr("text 2: found too long a text"));
  EXPECT_EQ(run({"b", text, "--truncate"}), 0);
  EXPECT_EQ(cli_.engine.requests.back().tokens.size(), 100);
}

TEST_F(Embed, NumbersThatAreNotFiniteAreAnErrorAndLeaveNothingBehind) {
  cli_.engine.rows = [](const Request&) { return std::vector<float>{1, std::numeric_limits<float>::infinity()}; };
  EXPECT_EQ(run({"a", "b"}), 1);
  EXPECT_THAT(cli_.err.str(), HasSubstr("the model's numbers for text 1 are not finite"));
  EXPECT_EQ(cli_.out.str(), "");
}

TEST_F(Embed, AModelThatRanksMakesNoVectors) {
  cli_.engine.info.embedding.pooling = Pooling::kRank;
  EXPECT_EQ(run({"a"}), 1);
  EXPECT_THAT(cli_.err.str(), HasSubstr("fake: ranks documents and makes no vectors: octavo rerank"));
}

TEST_F(Embed, ProgressIsShownOnATerminalAlone) {
  EXPECT_EQ(run({"a", "b"}), 0);
  EXPECT_EQ(cli_.err.str(), "");
  cli_.err_is_terminal = true;
  EXPECT_EQ(run({"a", "b"}), 0);
  EXPECT_THAT(cli_.err.str(), HasSubstr("texts ["));
}

class Rerank : public testing::Test {
 protected:
  Rerank() {
    cli_.engine.info.embedding = {.generates = false, .pooling = Pooling::kRank, .width = 1, .labels = {""}};
    cli_.engine.rows = [](const Request& request) {
      return std::vector<float>{static_cast<float>(request.tokens.size()) - 3};
    };
  }
  int run(std::vector<std::string> args, const std::string& input = "") {
    args.insert(args.begin(), {"rerank", "-m", "some.gguf"});
    return cli_.run(args, input);
  }
  CliRun cli_;
};

TEST_F(Rerank, TheBestDocumentComesFirst) {
  EXPECT_EQ(run({"q", "ab", "abc", "a"}), 0) << cli_.err.str();
  EXPECT_EQ(cli_.out.str(), "  0.7311     1  abc\n  0.5000     0  ab\n  0.2689     2  a\n");
  EXPECT_EQ(cli_.engine.requests.front().embedding.pooling, Pooling::kRank);
  EXPECT_EQ(run({"q", "--raw", "--top", "1", "--json"}, "ab\nabcd\n"), 0);
  EXPECT_EQ(cli_.out.str(), "{\"index\":1,\"score\":2,\"text\":\"abcd\"}\n");
}

TEST_F(Rerank, OfTwoLabelsTheFirstSaysYes) {
  cli_.engine.info.embedding.labels = {"yes", "no"};
  cli_.engine.rows = [](const Request&) { return std::vector<float>{2, 1}; };
  EXPECT_EQ(run({"q", "a"}), 0);
  EXPECT_EQ(cli_.out.str(), "  0.7311     0  a\n");
}

TEST_F(Rerank, AQueryDocumentsAndARankingHeadAreNeeded) {
  EXPECT_EQ(run({}), 2);
  EXPECT_THAT(cli_.err.str(), HasSubstr("found no query"));
  EXPECT_EQ(run({"q"}, ""), 1);
  EXPECT_THAT(cli_.err.str(), HasSubstr("found no document"));
  EXPECT_EQ(run({"q", "a", ""}), 1);
  EXPECT_THAT(cli_.err.str(), HasSubstr("document 2 is empty"));
  cli_.engine.info.embedding.labels = {};
  EXPECT_EQ(run({"q", "a"}), 1);
  EXPECT_THAT(cli_.err.str(), HasSubstr("fake: found a model whose ranking head has 0 labels"));
}

TEST(ServeVectors, RerankingIsThePoolingRankAndNoOther) {
  CliRun cli;
  EXPECT_EQ(cli.run({"serve", "--reranking", "--pooling", "mean"}), 2);
  EXPECT_THAT(cli.err.str(), HasSubstr("--reranking: found --pooling mean beside it, expected rank or none"));
  for (const std::vector<std::string>& same : {std::vector<std::string>{"--reranking"},
                                               {"--rerank", "--pooling", "rank"},
                                               {"--embedding", "--pooling", "rank"}}) {
    std::optional<Pooling> loaded;
    cli.load_engine = [&](EngineOptions options) -> Result<std::unique_ptr<Engine>> {
      loaded = options.pooling;
      return std::unexpected(Error{"enough"});
    };
    std::vector<std::string> args = {"serve", "-m", "some.gguf", "--port", "0"};
    args.insert(args.end(), same.begin(), same.end());
    EXPECT_EQ(cli.run(args), 1);
    EXPECT_EQ(loaded, Pooling::kRank) << same.front();
  }
}

}  // namespace
}  // namespace octavo

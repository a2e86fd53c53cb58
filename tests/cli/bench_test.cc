// octavo bench around an engine whose steps are known: what is measured, and how it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <csignal>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/bench/bench_report.h"
#include "cli/bench_engine.h"
#include "cli/fake_engine.h"
#include "kv/kv_budget.h"
#include "model/model_state.h"
#include "source/open_model.h"
#include "support/temp_file.h"
#include "support/tiny_model.h"

namespace octavo {
namespace {

using namespace std::chrono_literals;
using test::BenchEngine;
using test::BenchRecord;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Runs `octavo bench` on a BenchEngine. The model's file is real, because the memory is planned by it.
class Bench : public ::testing::Test {
 protected:
  int run(std::vector<std::string> args) {
    cli.load_engine = [this](EngineOptions options) -> Result<std::unique_ptr<Engine>> {
      return std::make_unique<BenchEngine>(record, std::move(options));
    };
    args.insert(args.begin(), {"bench", "-m", model.string()});
    return cli.run(args);
  }
  boost::json::object json() { return boost::json::parse(cli.out.str()).as_object(); }
  boost::json::object result(std::size_t i) { return json().at("results").as_array().at(i).as_object(); }
  static double number(const boost::json::object& object, std::string_view key) {
    return object.at(key).to_number<double>();
  }

  test::TempFile model{test::TinyModel{.context = 8192}.bytes()};
  BenchRecord record;
  test::CliRun cli;
};

/// The distance of two rates, as a share of the second.
double apart(double a, double b) { return std::abs(a - b) / b; }

// Between the clock of the steps and that of the program lie microseconds; only where the system takes the processor
// away just there they differ, so one of three attempts must agree.
TEST_F(Bench, ReportedTimesAreThoseOfTheStepsWithin5Percent) {
  record.step_time = 3ms;
  double prefill_error = 1, decode_error = 1;
  for (int attempt = 0; attempt < 3 && (prefill_error > 0.05 || decode_error > 0.05); ++attempt) {
    record.steps.clear();
    ASSERT_EQ(
        run({"--prompt", "96", "--gen", "12", "--batch", "3", "--repeat", "1", "--chunk", "32", "--format", "json"}), 0)
        << cli.err.str();
    const auto seconds = [&](std::size_t skip, std::size_t count) {
      const std::size_t end = record.steps.size() - skip;
      return std::chrono::duration<double>(record.steps[end - 1].end - record.steps[end - count].begin).count();
    };
    // The last steps are those of the decode: one that reads the prompts, then 12. Before them, the prefill: 96 tokens
    // in steps of 32.
    EXPECT_EQ(record.steps[record.steps.size() - 14].prompt_rows, 32);
    EXPECT_EQ(record.steps.back().decode_rows, 3);
    prefill_error = apart(number(result(0), "tokens_per_s"), 96 / seconds(13, 3));
    decode_error = apart(number(result(1), "tokens_per_s"), 36 / seconds(0, 12));
    const double reported_s = result(1).at("seconds").as_array().at(0).to_number<double>();
    EXPECT_NEAR(number(result(1), "tokens_per_s") * reported_s, 36, 1e-6);
  }
  EXPECT_LE(prefill_error, 0.05);
  EXPECT_LE(decode_error, 0.05);
}

TEST_F(Bench, EveryCombinationIsARow) {
  ASSERT_EQ(
      run({"--prompt", "8,16", "--gen", "4", "--batch", "1,2", "--depth", "0,64", "--repeat", "1", "--format", "json"}),
      0)
      << cli.err.str();
  std::vector<std::string> rows;
  const boost::json::object report = json();
  for (const auto& value : report.at("results").as_array()) {
    const auto& r = value.as_object();
    rows.push_back(fmt::format("{} {} {} {} {}", r.at("test").as_string().c_str(), number(r, "prompt"),
                               number(r, "gen"), number(r, "batch"), number(r, "depth")));
  }
  EXPECT_THAT(rows, ElementsAre("prefill 8 0 1 0", "prefill 16 0 1 0", "prefill 8 0 1 64", "prefill 16 0 1 64",
                                "decode 0 4 1 0", "decode 0 4 2 0", "decode 0 4 1 64", "decode 0 4 2 64"));
}

TEST_F(Bench, AProfileShowsThePartsOfTheMeanStep) {
  const std::vector<std::string> args = {"--prompt", "0", "--gen", "4", "--batch", "2", "--repeat", "3", "--profile"};
  ASSERT_EQ(run(args), 0) << cli.err.str();
  EXPECT_THAT(cli.out.str(),
              HasSubstr("decode of 4 tokens, 2 sequences, the mean of 12 steps on 2 threads: 8.000 ms, of which "
                        "threads wait 6 %"));
  EXPECT_THAT(cli.out.str(), HasSubstr("| attention | scores, sums of values | 2.000 | 25.0 % | 25 % |\n"
                                       "| down | the product back to the stream | 6.000 | 75.0 % | 0 % |"));
  std::vector<std::string> as_json = args;
  as_json.insert(as_json.end(), {"--format", "json"});
  cli.out.str({});
  ASSERT_EQ(run(as_json), 0);
  EXPECT_EQ(number(result(0), "profile_threads"), 2);
  const boost::json::array parts = result(0).at("profile").as_array();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].at("part").as_string(), "attention");
  EXPECT_NEAR(number(parts[0].as_object(), "ms"), 2, 1e-9);
  EXPECT_NEAR(number(parts[0].as_object(), "share"), 0.25, 1e-9);
  EXPECT_NEAR(number(parts[0].as_object(), "waiting"), 0.25, 1e-9);
}

TEST_F(Bench, WithoutAProfileStepsAreNotTimedByPart) {
  ASSERT_EQ(run({"--prompt", "0", "--gen", "4", "--batch", "1", "--repeat", "1", "--format", "json"}), 0);
  EXPECT_FALSE(record.options.profile);
  EXPECT_FALSE(result(0).contains("profile"));
}

TEST_F(Bench, AProfileHasNoPlaceInCsv) {
  EXPECT_EQ(run({"--profile", "--format", "csv"}), 2);
  EXPECT_THAT(cli.err.str(), HasSubstr("--profile: CSV has a line for each test"));
}

TEST_F(Bench, ZeroLeavesAHalfOut) {
  ASSERT_EQ(run({"--prompt", "0", "--gen", "4", "--batch", "1", "--repeat", "1", "--format", "json"}), 0);
  EXPECT_EQ(json().at("results").as_array().size(), 1U);
  EXPECT_EQ(result(0).at("test").as_string(), "decode");
  ASSERT_EQ(run({"--prompt", "8", "--gen", "0", "--repeat", "1", "--format", "json"}), 0);
  EXPECT_EQ(json().at("results").as_array().size(), 1U);
  EXPECT_EQ(result(0).at("test").as_string(), "prefill");
}

TEST_F(Bench, SequencesHaveTheirOwnOrdinaryTokensAndNoPrefixCache) {
  ASSERT_EQ(run({"--prompt", "32", "--gen", "4", "--batch", "4", "--depth", "32", "--repeat", "3"}), 0);
  EXPECT_FALSE(record.options.prefix_cache);
  std::set<std::vector<TokenId>> prompts;
  for (const Request& request : record.requests) {
    EXPECT_THAT(request.tokens, Each(AllOf(testing::Ge(test::BenchText::kFirstOrdinary), testing::Lt(100))));
    EXPECT_TRUE(request.ignore_eos);
    EXPECT_EQ(request.sampling.temperature, 0);
    if (request.tokens.size() > 1) prompts.insert(request.tokens);
  }
  // A warm-up and 3 measurements of a prefill, and of a decode of 4 sequences.
  EXPECT_EQ(prompts.size(), 4U + 4U * 4U);
}

TEST_F(Bench, ADecodesWarmUpFillsTheMemoryOfItsRunsAndNoMore) {
  ASSERT_EQ(run({"--prompt", "0", "--gen", "100", "--batch", "4", "--repeat", "1"}), 0) << cli.err.str();
  ASSERT_EQ(record.requests.size(), 4U + 4U);
  const auto tokens = [](const Request& request) {
    return static_cast<int>(request.tokens.size()) + request.max_tokens;
  };
  const Request &warm_up = record.requests.front(), &measured = record.requests.back();
  EXPECT_GT(warm_up.tokens.size(), 80U);
  EXPECT_LE(tokens(warm_up), tokens(measured));
}

TEST_F(Bench, ADepthIsReadBeforeTheClockStarts) {
  ASSERT_EQ(run({"--prompt", "64", "--gen", "5", "--batch", "2", "--depth", "100", "--repeat", "1", "--chunk", "64",
                 "--format", "json"}),
            0)
      << cli.err.str();
  // A prefill: 100 tokens are two steps of 64, then 64 more in one step. A decode: prompts of 100.
  EXPECT_EQ(record.requests[record.requests.size() - 3].tokens.size(), 2U * 64 + 64);
  EXPECT_EQ(record.requests.back().tokens.size(), 100U);
  const double seconds = result(0).at("seconds").as_array().at(0).to_number<double>();
  EXPECT_NEAR(number(result(0), "tokens_per_s") * seconds, 64, 1e-6);
  const double bytes_a_token = number(result(1), "gb_per_s") / number(result(1), "tokens_per_s") * 1e9;
  // Weights are read once for both sequences; keys and values of 100 tokens and those that came since, for each.
  EXPECT_GT(bytes_a_token, 1'000'000 / 2.0 + 10 * 100);
  EXPECT_LT(bytes_a_token, 1'000'000 / 2.0 + 10 * 115);
}

TEST_F(Bench, ASharedPrefixIsARowOfItsOwnWithThePrefixCache) {
  ASSERT_EQ(run({"--prompt", "8", "--gen", "4", "--batch", "2", "--shared-prefix", "48", "--repeat", "1", "--format",
                 "json"}),
            0)
      << cli.err.str();
  EXPECT_EQ(record.num_loads, 2);
  EXPECT_TRUE(record.options.prefix_cache);
  ASSERT_EQ(json().at("results").as_array().size(), 4U);
  EXPECT_EQ(result(2).at("test").as_string(), "shared-prefill");
  EXPECT_EQ(number(result(2), "shared_prefix"), 48);
  EXPECT_EQ(result(3).at("test").as_string(), "shared-decode");
  const auto& last = record.requests[record.requests.size() - 1].tokens;
  const auto& before = record.requests[record.requests.size() - 2].tokens;
  EXPECT_EQ(last.size(), 49U);
  EXPECT_TRUE(std::equal(last.begin(), last.begin() + 48, before.begin()));
}

TEST_F(Bench, TheContextIsWhatTheLargestRowNeeds) {
  ASSERT_EQ(run({"--prompt", "100", "--gen", "0", "--depth", "600", "--repeat", "1"}), 0) << cli.err.str();
  EXPECT_EQ(record.options.max_context, 1024 + 100 + 1);
  EXPECT_EQ(run({"--prompt", "8000", "--depth", "600", "--repeat", "1"}), 1);
  EXPECT_THAT(cli.err.str(), AllOf(StartsWith("octavo: " + model.string() + ": found a context of 8192 tokens"),
                                   HasSubstr("expected 9025")));
}

TEST_F(Bench, RecurrentStatesOfAllSequencesHaveRoomAtOnce) {
  model.write(test::TinyModel{.arch = "qwen35", .context = 8192}.bytes());
  ASSERT_EQ(run({"--prompt", "0", "--gen", "4", "--batch", "8", "--chunk", "9", "--repeat", "1"}), 0) << cli.err.str();
  const auto source = open_model(model.path()).value();
  const ModelConfig config = ModelConfig::load(*source).value();
  const EngineOptions& options = record.options;
  StateLayout layout = state_layout(config, options.kv_type, options.kv_layout, options.block_size).value();
  const StateRoom room = make_room(std::move(layout), {.bytes = options.kv_memory_bytes,
                                                       .max_tokens = 0,
                                                       .longest_sequence = options.max_context,
                                                       .max_sequences = options.max_sequences,
                                                       .required_sequence = options.max_context,
                                                       .checkpoints = false})
                             .value();
  EXPECT_GE(room.num_snapshots, 8);
}

TEST_F(Bench, MoreKvMemoryThanThereIsIsRefusedWithNumbers) {
  model.write(test::TinyModel{.layers = 16, .context = 1'000'000}.bytes());
  EXPECT_EQ(run({"--prompt", "0", "--gen", "900000", "--batch", "500", "--kv-type", "f32", "--repeat", "1"}), 1);
  EXPECT_THAT(cli.err.str(), AllOf(HasSubstr("of free memory"), StartsWith("octavo: " + model.string() + ": "),
                                   HasSubstr("TiB for the KV cache")));
  EXPECT_EQ(record.num_loads, 0);
}

TEST_F(Bench, FormatsSayTheSame) {
  ASSERT_EQ(run({"--prompt", "8", "--gen", "0", "--repeat", "2", "--format", "json"}), 0);
  EXPECT_EQ(json().at("machine").as_object().at("read_gb_per_s").to_number<double>(), 10);
  EXPECT_GE(json().at("model").as_object().at("load_s").to_number<double>(), 0);
  for (const char* key : {"test", "prompt", "gen", "batch", "depth", "tokens_per_s", "spread", "gb_per_s", "gops"})
    EXPECT_TRUE(result(0).contains(key)) << key;
  ASSERT_EQ(run({"--prompt", "8", "--gen", "0", "--repeat", "2", "--format", "csv"}), 0);
  EXPECT_THAT(cli.out.str(), testing::StartsWith("test,prompt,gen,batch,depth,shared_prefix,tokens_per_s,spread,"));
  EXPECT_THAT(cli.out.str(), HasSubstr("\nprefill,8,0,1,0,0,"));
  ASSERT_EQ(run({"--prompt", "8", "--gen", "0", "--repeat", "2"}), 0);
  EXPECT_THAT(cli.out.str(), HasSubstr("fake, 1 threads, isa scalar: reads 10.0 GB/s, 100 int8 GOPS, 10.0 float"));
  EXPECT_THAT(cli.out.str(), HasSubstr("| prefill | 8 | 0 | 1 | 0 | 0 | "));
}

TEST_F(Bench, APlotHasAPanelForEachTestAndEscapesTheModelsName) {
  const test::TempFile plot("");
  ASSERT_EQ(run({"--prompt", "8", "--gen", "4", "--batch", "1,2", "--repeat", "1", "--plot", plot.string()}), 0);
  std::ifstream file(plot.path());
  const std::string svg{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(svg, AllOf(testing::StartsWith("<svg "), testing::EndsWith("</svg>\n"), HasSubstr("prefill, tokens/s"),
                         HasSubstr("decode, tokens/s"), HasSubstr("bench &lt;&amp;&gt; fake"), Not(HasSubstr("<&"))));
  EXPECT_EQ(run({"--prompt", "8", "--gen", "0", "--repeat", "1", "--plot", "/no/such/folder/plot.svg"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("octavo: /no/such/folder/plot.svg: cannot open"));
}

TEST_F(Bench, WrongUsageIsRefusedBeforeAnythingIsMeasured) {
  EXPECT_EQ(run({"--format", "xml"}), 2);
  EXPECT_EQ(run({"--batch", "0"}), 2);
  EXPECT_EQ(run({"--prompt", "8,"}), 2);
  EXPECT_EQ(run({"--kv-layout", "contiguous", "--batch", "2"}), 2);
  EXPECT_EQ(run({"--batch", "64", "--chunk", "64"}), 2);
  EXPECT_EQ(run({"--no-prefix-cache", "--shared-prefix", "4"}), 2);
  EXPECT_EQ(record.num_loads, 0);
}

TEST_F(Bench, TheContiguousLayoutIsMeasuredWithOneSequence) {
  ASSERT_EQ(run({"--kv-layout", "contiguous", "--prompt", "0", "--gen", "4", "--repeat", "1", "--format", "json"}), 0)
      << cli.err.str();
  EXPECT_EQ(json().at("results").as_array().size(), 1U);
  EXPECT_EQ(number(result(0), "batch"), 1);
}

TEST_F(Bench, DraftsAreMeasuredAlternatelyWithNone) {
  ASSERT_EQ(run({"--draft", "ngram", "--gen", "8", "--repeat", "2", "--format", "csv"}), 0) << cli.err.str();
  EXPECT_EQ(record.options.draft, DraftMode::kNgram);
  ASSERT_EQ(record.requests.size(), 7U * 5) << "seven texts: once to warm up, then twice without and with drafts";
  std::set<std::string> domains;
  for (std::size_t i = 0; i < record.requests.size(); ++i) {
    const Request& request = record.requests[i];
    EXPECT_EQ(request.max_tokens, 8);
    EXPECT_EQ(request.max_drafts == 0, i % 5 % 2 == (i % 5 == 0 ? 0 : 1)) << i;
    EXPECT_EQ(request.prediction.empty(), i < 4 * 5 || request.max_drafts == 0) << "of scripts alone";
    if (request.max_drafts > 0) domains.insert(request.cache_domain);
  }
  EXPECT_EQ(domains.size(), 7U * 2) << "no measurement has the answer of one before: scripts have the same";
  const std::string table = cli.out.str();
  EXPECT_EQ(std::ranges::count(table, '\n'), 1 + 7);
  EXPECT_THAT(table, HasSubstr("\"a quote\",7,"));
  cli.out.str("");
  ASSERT_EQ(run({"--draft", "auto", "--gen", "4", "--repeat", "1", "--format", "json"}), 0);
  EXPECT_EQ(json().at("drafts").as_array().size(), 7U);
  ASSERT_EQ(run({"--gen", "4", "--repeat", "1", "--batch", "1"}), 0);
  EXPECT_EQ(record.options.draft, DraftMode::kOff) << "a step makes one token of each sequence";
}

TEST_F(Bench, CtrlCEndsItWith130) {
  record.before_step = [] { std::raise(SIGINT); };
  EXPECT_EQ(run({"--prompt", "8", "--gen", "4", "--repeat", "1"}), 130);
  EXPECT_EQ(cli.out.str(), "");
}

cli::BenchRow row_of(std::vector<double> seconds) {
  cli::BenchRow row{.c = {.prompt = 100}};
  for (const double s : seconds)
    row.runs.push_back({.seconds = s, .tokens = 100, .work = {.bytes = 2e9, .int8_ops = 4e9, .float_ops = 1e9}});
  return row;
}

TEST(BenchReport, FiguresAreThoseOfTheMedianRunAgainstTheMachine) {
  const MachineLimits machine{.read_bytes_per_s = 4e9, .int8_ops_per_s = 16e9, .float_ops_per_s = 4e9};
  const cli::BenchFigures f = cli::figures_of(row_of({1.0, 0.8, 2.0}), machine);
  EXPECT_DOUBLE_EQ(f.tokens_per_s, 100);
  EXPECT_DOUBLE_EQ(f.spread, (125 - 50) / 100.0);
  EXPECT_DOUBLE_EQ(f.gb_per_s, 2);
  EXPECT_DOUBLE_EQ(f.gops, 5);
  EXPECT_DOUBLE_EQ(f.memory_share, 0.5);
  EXPECT_DOUBLE_EQ(f.compute_share, 0.25 + 0.25);
  EXPECT_DOUBLE_EQ(f.share, 0.5);
}

TEST(BenchReport, ADeviceThatComputesLayersHasItsRatesThereAndSharesWhereItHasAllOfThem) {
  cli::BenchReport report{.machine = {.read_bytes_per_s = 4e9, .int8_ops_per_s = 1, .float_ops_per_s = 1},
                          .device = DeviceRates{.read_bytes_per_s = 8e9, .copy_bytes_per_s = 6e9},
                          .model = {},
                          .model_file = {},
                          .kv_type = {},
                          .kv_layout = {},
                          .bits = {},
                          .rows = {row_of({1.0})}};
  report.model.device = "NVIDIA H100 with 3 of 4 layers";
  const std::string rates = "NVIDIA H100 with 3 of 4 layers: reads 8.0 GB/s, copies 6.0 GB/s\n";
  EXPECT_THAT(cli::to_text(report, cli::BenchFormat::kMarkdown), AllOf(HasSubstr(rates), Not(HasSubstr("card's"))));
  report.model.device_has_all = true;
  EXPECT_THAT(cli::to_text(report, cli::BenchFormat::kMarkdown),
              AllOf(HasSubstr("| of the card's memory |"), HasSubstr(" 25 % |\n")));
  EXPECT_THAT(cli::to_text(report, cli::BenchFormat::kCsv),
              AllOf(HasSubstr(",device_memory_share\n"), HasSubstr(",0.2500\n")));
  EXPECT_THAT(cli::to_text(report, cli::BenchFormat::kJson),
              AllOf(HasSubstr(R"("copy_gb_per_s":6E0)"), HasSubstr(R"("device_memory_share":2.5E-1)")));
}

TEST(BenchReport, AWideSpreadIsSaid) {
  cli::BenchReport report{.machine = {.read_bytes_per_s = 1, .int8_ops_per_s = 1, .float_ops_per_s = 1},
                          .model = {},
                          .model_file = {},
                          .kv_type = {},
                          .kv_layout = {},
                          .bits = {},
                          .rows = {row_of({1.0, 1.05})}};
  EXPECT_TRUE(cli::warnings(report).empty());
  report.rows.push_back(row_of({1.0, 1.5}));
  EXPECT_THAT(cli::warnings(report), ElementsAre(AllOf(HasSubstr("prefill of 100 tokens"), HasSubstr("too much"))));
  EXPECT_THAT(cli::to_text(report, cli::BenchFormat::kMarkdown), HasSubstr("too much to trust"));
}

TEST(BenchWork, CountsWeightsOnceAStepAndWindowsAndSharedTokens) {
  ModelInfo info;
  info.weight_bytes_per_token = 1000;
  info.work = std::make_shared<const ModelWork>(
      ModelWork{.layers = {.int8_multiply_adds = 7, .float_multiply_adds = 2, .bytes = 800},
                .output = {.int8_multiply_adds = 3, .bytes = 200},
                .attention = {{.num_layers = 1, .kv_bytes = 10, .float_multiply_adds = 1},
                              {.num_layers = 1, .window = 4, .kv_bytes = 10, .float_multiply_adds = 1},
                              {.num_layers = 1, .only_logit_rows = true, .kv_bytes = 10, .float_multiply_adds = 1}}});
  // Rows at positions 2, 3, 4, 5: they see 3 + 4 + 5 + 6 tokens, and 3 + 4 + 4 + 4 in the window.
  const cli::SequenceRows prefill{.first_row = 2, .num_rows = 4};
  const cli::Work one = cli::step_work(info, {&prefill, 1});
  EXPECT_DOUBLE_EQ(one.bytes, 800 + 10 * 6 + 10 * 6);
  EXPECT_DOUBLE_EQ(one.int8_ops, 2 * 4 * 7);
  EXPECT_DOUBLE_EQ(one.float_ops, 2 * (4 * 2 + 18 + 15));
  // With logits of the last row, which sees 6 tokens in the last layer as well.
  const cli::SequenceRows whole{.first_row = 2, .num_rows = 4, .logits = true};
  const cli::Work with_logits = cli::step_work(info, {&whole, 1});
  EXPECT_DOUBLE_EQ(with_logits.bytes, 1000 + 3 * 10 * 6);
  EXPECT_DOUBLE_EQ(with_logits.int8_ops, 2 * (4 * 7 + 3));
  EXPECT_DOUBLE_EQ(with_logits.float_ops, one.float_ops + 2 * 6);
  // Two sequences that decode at position 9 and share their first 8 tokens.
  const std::vector<cli::SequenceRows> two(2, {.first_row = 9, .num_rows = 1, .logits = true});
  const cli::Work shared = cli::step_work(info, two, 8);
  EXPECT_DOUBLE_EQ(shared.bytes, 1000 + 2 * 10 * (8 + 2 + 2) + 10 * (2 + 2 + 2));
  EXPECT_DOUBLE_EQ(shared.int8_ops, 2 * (2 * 7 + 2 * 3));
}

TEST(BenchWork, ExpertsAreReadAsThoughRowsChoseByChance) {
  ModelInfo info;
  info.weight_bytes_per_token = 1000;  // 2 experts of each of two kinds of layers among them
  info.work = std::make_shared<const ModelWork>(
      ModelWork{.layers = {.bytes = 700},
                .output = {.bytes = 300},
                .attention = {},
                .experts = {{.num_experts = 8, .num_chosen = 2, .bytes = 100},
                            {.num_experts = 8, .num_chosen = 2, .only_logit_rows = true, .bytes = 50}}});
  const cli::SequenceRows prompt{.num_rows = 4}, whole{.num_rows = 4, .logits = true};
  const double distinct = 8 * (1 - std::pow(0.75, 4));  // of the four rows
  EXPECT_DOUBLE_EQ(cli::step_work(info, {&prompt, 1}).bytes, 700 + (distinct - 2) * 100);
  EXPECT_DOUBLE_EQ(cli::step_work(info, {&whole, 1}).bytes, 1000 + (distinct - 2) * 100);
}

}  // namespace
}  // namespace octavo

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cli/fake_engine.h"
#include "cli/info_report.h"
#include "source/open_model.h"
#include "support/gguf_writer.h"
#include "support/temp_file.h"
#include "support/tiny_encoder.h"
#include "support/tiny_model.h"
#include "support/tiny_tower.h"

namespace octavo {
namespace {

using test::CliRun;
using test::GgufWriter;
using test::TempFile;
using testing::AllOf;
using testing::HasSubstr;

/// A llama of one layer with width 64, two heads of 32, one of them for keys and values.
GgufWriter small_model(const char* architecture = "llama", bool has_down = true) {
  const std::string key = architecture;
  GgufWriter writer;
  writer.add("general.architecture", architecture).add("general.name", "small");
  writer.add(key + ".block_count", 1U).add(key + ".embedding_length", 64U).add(key + ".feed_forward_length", 96U);
  writer.add(key + ".context_length", 256U).add(key + ".attention.head_count", 2U);
  writer.add(key + ".attention.head_count_kv", 1U).add(key + ".attention.layer_norm_rms_epsilon", 1e-5F);
  writer.add(key + ".rope.freq_base", 10000.0F);
  const auto add = [&](const char* name, std::vector<std::uint64_t> dims, DType type) {
    std::uint64_t count = 1;
    for (const std::uint64_t dim : dims) count *= dim;
    writer.add_tensor(name, dims, type, std::string(*dtype_bytes(type, count), '\0'));
  };
  add("token_embd.weight", {64, 10}, DType::kQ8_0);
  add("blk.0.attn_q.weight", {64, 64}, DType::kQ4_0);
  add("blk.0.attn_k.weight", {64, 32}, DType::kF16);
  add("blk.0.attn_v.weight", {64, 32}, DType::kF16);
  add("blk.0.attn_output.weight", {64, 64}, DType::kQ4_0);
  add("blk.0.ffn_gate.weight", {64, 96}, DType::kQ4_0);
  add("blk.0.ffn_up.weight", {64, 96}, DType::kQ4_0);
  if (has_down) add("blk.0.ffn_down.weight", {96, 64}, DType::kQ4_0);
  add("blk.0.attn_norm.weight", {64}, DType::kF32);
  add("blk.0.ffn_norm.weight", {64}, DType::kF32);
  add("output_norm.weight", {64}, DType::kF32);
  return writer;
}

boost::json::object json_of(CliRun& cli, std::vector<std::string> args) {
  args.insert(args.begin(), "info");
  args.emplace_back("--json");
  EXPECT_EQ(cli.run(args), 0) << cli.err.str();
  return boost::json::parse(cli.out.str()).as_object();
}

TEST(Info, SamplingThatTheFileAsksForIsShown) {
  GgufWriter writer = small_model();
  writer.add("general.sampling.temp", 0.5F).add("general.sampling.sequence", "top_k;temperature");
  const TempFile file(writer.bytes());
  CliRun text, json;
  ASSERT_EQ(text.run({"info", file.path().string()}), 0) << text.err.str();
  EXPECT_THAT(text.out.str(), HasSubstr("temperature 0.5, order top_k;temperature"));
  EXPECT_EQ(json_of(json, {file.path().string()}).at("sampling").at("order").as_string(), "top_k;temperature");
}

TEST(Info, AGenerationConfigGoesBeforeWhatTheFileAsksFor) {
  GgufWriter writer = small_model();
  writer.add("general.sampling.temp", 0.5F).add("general.sampling.top_k", 7);
  const TempFile file(writer.bytes()), config(R"({"temperature": 0.25, "eos_token_id": [1, 2]})");
  CliRun text;
  ASSERT_EQ(text.run({"info", file.path().string(), "--generation-config", config.string()}), 0) << text.err.str();
  EXPECT_THAT(text.out.str(), HasSubstr("temperature 0.25, top_k 7, end_tokens 1 2"));
}

TEST(Info, AVisionEncoderIsDescribed) {
  const TempFile file(test::TinyTower::odd().bytes());
  CliRun text, json;
  ASSERT_EQ(text.run({"info", file.string()}), 0) << text.err.str();
  EXPECT_THAT(text.out.str(), AllOf(HasSubstr("family qwen3vl_merger, for a model with rows of 40"),
                                    HasSubstr("3 layers, width 72, feed-forward 100, 2 heads of 36"),
                                    HasSubstr("2 more vectors of each token, behind the layers 0, 2"),
                                    HasSubstr("64 to 1280 tokens unless told, at most 4096")));
  const auto report = json_of(json, {file.string()});
  const auto& encoder = report.at("vision_encoder").as_object();
  EXPECT_EQ(encoder.at("token_side").as_int64(), 8);
  EXPECT_EQ(encoder.at("deepstack_layers").as_array().size(), 2U);
  // Rows, keys and values of 4 patches a token.
  EXPECT_EQ(report.at("memory").at("picture_bytes").to_number<std::uint64_t>(), 4096U * 4 * 3 * 72 * sizeof(float));
}

TEST(Info, AVisionEncoderOfAnotherFamilyIsRefused) {
  test::TinyTower tower{.left_out = "clip.projector_type"};
  tower.keys = [](GgufWriter& writer) { writer.add("clip.projector_type", "kimivl"); };
  const TempFile file(tower.bytes());
  CliRun cli;
  EXPECT_EQ(cli.run({"info", file.string()}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("'kimivl' are not supported; supported are: qwen3vl_merger"));
}

TEST(Info, PartsAreToldByTheTensorsName) {
  EXPECT_EQ(part_of("token_embd.weight"), ModelPart::kEmbedding);
  EXPECT_EQ(part_of("blk.3.attn_output.weight"), ModelPart::kAttention);
  EXPECT_EQ(part_of("blk.3.attn_q_norm.weight"), ModelPart::kNorms);
  EXPECT_EQ(part_of("blk.3.ffn_down.weight"), ModelPart::kFeedForward);
  EXPECT_EQ(part_of("output_norm.weight"), ModelPart::kNorms);
  EXPECT_EQ(part_of("output.weight"), ModelPart::kOutput);
  EXPECT_EQ(part_of("rope_freqs.weight"), ModelPart::kOther);
}

TEST(Info, JsonCountsWeightsByTypeAndPart) {
  const TempFile file(small_model().bytes());
  CliRun cli;
  const auto json = json_of(cli, {file.string()});
  EXPECT_EQ(json.at("architecture").as_string(), "llama");
  EXPECT_EQ(json.at("shape").at("head_dim").as_int64(), 32);
  const std::uint64_t total = 680 + 2 * 2304 + 2 * 4096 + 3 * 3456 + 768;
  EXPECT_EQ(json.at("weight_bytes").to_number<std::uint64_t>(), total);
  const auto& types = json.at("by_type").as_array();
  ASSERT_EQ(types.size(), 4U);
  EXPECT_EQ(types[0].at("type").as_string(), "Q4_0");
  EXPECT_EQ(types[0].at("bytes").to_number<std::uint64_t>(), 2 * 2304U + 3 * 3456U);
  EXPECT_EQ(types[0].at("tensors").to_number<int>(), 5);
  EXPECT_NEAR(types[0].at("share").as_double(), 14976.0 / static_cast<double>(total), 1e-12);
  std::vector<std::string> parts;
  for (const auto& row : json.at("by_part").as_array())
    parts.push_back(std::string(row.at("part").as_string()) + " " + std::string(row.at("type").as_string()));
  EXPECT_THAT(parts, testing::ElementsAre("embedding Q8_0", "attention F16", "attention Q4_0", "feed-forward Q4_0",
                                          "norms F32"));
}

TEST(Info, ExpertsAndTheWeightsAtWorkAreToldOfAMixtureAlone) {
  const test::TinyModel mixture{.arch = "qwen3moe"}, dense{.arch = "qwen3"};  // a token chooses 3 of 8 experts
  const TempFile file(mixture.bytes()), other(dense.bytes());
  CliRun text, json, of_dense;
  ASSERT_EQ(text.run({"info", file.string()}), 0) << text.err.str();
  const auto report = json_of(json, {file.string()});
  const auto& shape = report.at("shape").as_object();
  EXPECT_EQ(shape.at("ffn_width").as_int64(), 96);
  EXPECT_EQ(shape.at("num_experts").as_int64(), 8);
  EXPECT_EQ(shape.at("num_chosen_experts").as_int64(), 3);
  const auto all = report.at("num_weights").to_number<std::uint64_t>();
  EXPECT_EQ(shape.at("num_active_weights").to_number<std::uint64_t>(), all - 2 * 5 * 3 * 64 * 96);
  EXPECT_THAT(text.out.str(), HasSubstr("8 in a layer, of which a token chooses 3: "));
  const TempFile shared(test::TinyModel{.arch = "qwen35moe"}.bytes());
  CliRun of_shared, shared_text;
  EXPECT_EQ(json_of(of_shared, {shared.string()}).at("shape").at("shared_expert_width").as_int64(), 96 + 32);
  ASSERT_EQ(shared_text.run({"info", shared.string()}), 0);
  EXPECT_THAT(shared_text.out.str(), HasSubstr("of which a token chooses 3, and one for every token: "));
  EXPECT_FALSE(shape.contains("shared_expert_width"));
  const TempFile biased(test::TinyModel{.arch = "gpt-oss"}.bytes());
  CliRun of_biased;
  const auto with_biases = json_of(of_biased, {biased.string()});
  EXPECT_EQ(with_biases.at("num_weights").to_number<std::uint64_t>() -
                with_biases.at("shape").at("num_active_weights").to_number<std::uint64_t>(),
            2U * 5 * (3 * 64 * 96 + 2 * 96 + 64));
  EXPECT_FALSE(json_of(of_dense, {other.string()}).at("shape").as_object().contains("num_experts"));
}

TEST(Info, MemoryGrowsWithContextAndKvType) {
  const TempFile file(small_model().bytes());
  CliRun cli;
  const auto kv = [&](std::vector<std::string> args) {
    args.insert(args.begin(), file.string());
    const auto memory = json_of(cli, args).at("memory").as_object();
    return std::pair(memory.at("kv_bytes_per_token").to_number<int>(), memory.at("kv_bytes").to_number<int>());
  };
  EXPECT_EQ(kv({}), std::pair(132, 132 * 256));                    // the trained context
  EXPECT_EQ(kv({"--context", "100"}), std::pair(132, 132 * 112));  // in whole blocks
  EXPECT_EQ(kv({"--context", "16", "--kv-type", "f16"}), std::pair(128, 128 * 16));
  EXPECT_EQ(kv({"--context", "16", "--kv-type", "f32"}), std::pair(256, 256 * 16));
  EXPECT_EQ(kv({"--context", "16", "--kv-type", "q8_0"}), std::pair(68, 68 * 16));
}

TEST(Info, MemoryIsToldForRepackedWeightsAndForThoseLeftInTheFile) {
  const TempFile file(small_model().bytes());
  CliRun cli;
  const auto memory = json_of(cli, {file.string(), "--context", "16"}).at("memory").as_object();
  const auto number = [](const boost::json::value& value) { return value.to_number<std::uint64_t>(); };
  const std::uint64_t matrices = 680 + 2 * 2304 + 2 * 4096 + 3 * 3456, vectors = 768, kv = 132 * 16;
  const auto& no_repack = memory.at("no_repack");
  EXPECT_EQ(number(no_repack.at("mapped_weight_bytes")), matrices);
  EXPECT_EQ(number(no_repack.at("weight_bytes")), vectors);
  EXPECT_EQ(number(no_repack.at("total_bytes")), vectors + kv);
  // The embedding has 10 rows, of the 16 of a panel; the other matrices are whole panels. In the four of the down
  // matrix the scales of three blocks take two whole cache lines.
  EXPECT_EQ(number(memory.at("weight_bytes")), matrices - 680 + 680 * 16 / 10 + 4 * 32 + vectors);
  EXPECT_EQ(number(memory.at("total_bytes")), number(memory.at("weight_bytes")) + kv);
}

TEST(Info, WindowedLayersNeedNoMoreThanTheirWindowAndAStep) {
  // 5 layers look back 24 tokens, the sixth looks at all; 2 heads of 32 dimensions, K and V, 2 bytes each and a
  // scale of 2.
  const TempFile file(test::TinyModel{.arch = "gemma3", .layers = 6, .window = 24}.bytes());
  CliRun cli;
  const auto kv_bytes = [&](const char* context) {
    const auto memory = json_of(cli, {file.string(), "--context", context}).at("memory").as_object();
    EXPECT_EQ(memory.at("kv_bytes_per_token").to_number<int>(), 6 * 264);
    return memory.at("kv_bytes").to_number<int>();
  };
  EXPECT_EQ(kv_bytes("160"), 160 * 6 * 264);
  // 24 + 512 tokens in blocks of 16, and the two blocks that these begin and end in.
  EXPECT_EQ(kv_bytes("1024"), (1024 + 5 * (34 + 2) * 16) * 264);
}

TEST(Info, LayersWithHeadsOfTheirOwnAndBorrowedOnesAreTold) {
  test::TinyModel model{.arch = "gemma4", .layers = 6};
  model.extra = [](GgufWriter& writer) {
    writer.add_tensor("v.blk.0.attn_q.weight", {8, 4}, DType::kF32, std::string(128, '\0'));
    writer.add_tensor("blk.4.attn_k.weight", {64, 64}, DType::kF32, std::string(64UL * 64 * 4, '\0'));
  };
  const TempFile file(model.bytes());
  CliRun text, cli;
  ASSERT_EQ(text.run({"info", file.string()}), 0) << text.err.str();
  EXPECT_THAT(text.out.str(), HasSubstr("4 layers with 4 of 32 (2 for keys and values), "
                                        "2 layers with 4 of 64 (1 for keys and values)"));
  EXPECT_THAT(text.out.str(), HasSubstr("2 of 6 layers read the keys and values of an earlier one"));
  EXPECT_THAT(text.out.str(), HasSubstr("an embedding of 32 for each token and layer"));
  const auto json = json_of(cli, {file.string()});
  const auto& shape = json.at("shape").as_object();
  EXPECT_EQ(shape.at("num_borrowing").as_int64(), 2);
  EXPECT_EQ(shape.at("per_layer_width").as_int64(), 32);
  EXPECT_EQ(shape.at("heads").as_array().size(), 2U);
  EXPECT_EQ(shape.at("heads").at(1).at("head_dim").as_int64(), 64);
  const auto& skipped = json.at("by_part").as_array().back();
  EXPECT_EQ(skipped.at("part").as_string(), "skipped");
  EXPECT_EQ(skipped.at("tensors").as_int64(), 2);
}

TEST(Info, ValuesOfAnotherWidthThanKeysAreShown) {
  const TempFile file(test::TinyModel{.v_head_dim = 20}.bytes());
  CliRun text, cli;
  ASSERT_EQ(text.run({"info", file.string()}), 0) << text.err.str();
  EXPECT_THAT(text.out.str(), HasSubstr("2 layers with 4 of 32, values of 20 (2 for keys and values)"));
  const auto json = json_of(cli, {file.string()});
  EXPECT_EQ(json.at("shape").at("heads").at(0).at("v_dim").as_int64(), 20);
}

TEST(Info, LayersWithoutAttentionOrFeedForwardAreCounted) {
  const TempFile file(test::TinyModel{.arch = "deci", .layers = 6}.bytes());
  CliRun text, cli;
  ASSERT_EQ(text.run({"info", file.string()}), 0) << text.err.str();
  EXPECT_THAT(text.out.str(), HasSubstr("3 of 6 layers have no attention, 2 no feed-forward"));
  const auto json = json_of(cli, {file.string()});
  const auto& shape = json.at("shape").as_object();
  EXPECT_EQ(shape.at("num_without_mixer").as_int64(), 3);
  EXPECT_EQ(shape.at("num_without_feed_forward").as_int64(), 2);
}

TEST(Info, ScalesAndLayersWithoutPositionsAreShown) {
  const TempFile granite(test::TinyModel{.arch = "granite"}.bytes());
  const TempFile smollm3(test::TinyModel{.arch = "smollm3", .layers = 9}.bytes());
  CliRun scaled, unrotated, cli;
  ASSERT_EQ(scaled.run({"info", granite.string()}), 0) << scaled.err.str();
  EXPECT_THAT(scaled.out.str(), HasSubstr("embeddings times 1.5, what layers add times 0.375, logits times 0.5714"));
  ASSERT_EQ(unrotated.run({"info", smollm3.string()}), 0) << unrotated.err.str();
  EXPECT_THAT(unrotated.out.str(), HasSubstr("2 of 9 layers are not told them"));
  EXPECT_THAT(unrotated.out.str(), Not(HasSubstr("scales")));
  EXPECT_EQ(json_of(cli, {smollm3.string()}).at("shape").at("num_without_positions").as_int64(), 2);
}

TEST(Info, AHeadThatRanksIsCountedApart) {
  test::TinyModel model{.arch = "qwen3"};
  model.extra = [](GgufWriter& writer) {
    writer.add_tensor("cls.output.weight", {64, 2}, DType::kF32, std::string(64UL * 2 * 4, '\0'));
  };
  const TempFile file(model.bytes());
  CliRun text, cli;
  ASSERT_EQ(text.run({"info", file.string()}), 0) << text.err.str();
  EXPECT_THAT(text.out.str(), HasSubstr("ranking       F32            1"));
  const auto json = json_of(cli, {file.string()});
  const auto& ranking = json.at("by_part").as_array().back();
  EXPECT_EQ(ranking.at("part").as_string(), "ranking");
  EXPECT_EQ(ranking.at("weights").as_int64(), 128);
}

TEST(Info, VectorsOfAnEncoderAreTold) {
  const TempFile file(test::TinyEncoder("bert", 2, true).bytes(2));
  CliRun text, cli;
  ASSERT_EQ(text.run({"info", file.string()}), 0) << text.err.str();
  EXPECT_THAT(text.out.str(), HasSubstr("vectors       an encoder: 64 numbers, pooling cls, a ranking head of 1"));
  EXPECT_THAT(text.out.str(), testing::Not(HasSubstr("the output matrix is the embedding")));
  const auto json = json_of(cli, {file.string()});
  const auto& vectors = json.at("shape").as_object().at("vectors").as_object();
  EXPECT_TRUE(vectors.at("is_encoder").as_bool());
  EXPECT_EQ(vectors.at("width").as_int64(), 64);
  EXPECT_EQ(vectors.at("pooling").as_string(), "cls");
  EXPECT_EQ(vectors.at("num_scores").as_int64(), 1);
}

TEST(Info, ADraftHeadIsToldAndCounted) {
  test::TinyModel model{.arch = "qwen35", .head = test::TinyModel::Head::kRandom};
  const auto told = [&](bool& has_head, std::int64_t& kv_bytes) {
    const TempFile file(model.bytes(), ".gguf");
    CliRun text, cli;
    EXPECT_EQ(text.run({"info", file.path().string()}), 0) << text.err.str();
    const auto json = json_of(cli, {file.path().string(), "--context", "16"});
    has_head = json.at("shape").at("draft_head").as_bool();
    EXPECT_FALSE(json.contains("draft_file"));
    EXPECT_EQ(json.contains("draft_head_fault"), text.out.str().contains("a head that nothing uses"));
    kv_bytes = json.at("memory").at("kv_bytes_per_token").to_number<std::int64_t>();
    EXPECT_EQ(json.at("shape").at("num_layers").as_int64(), 2);
    const std::string out = text.out.str();
    const std::size_t line = out.find("\ndrafts");
    return line == std::string::npos ? std::string() : out.substr(line + 1, out.find('\n', line + 1) - line - 1);
  };
  bool whole = false, cut = false, none = false;
  std::int64_t with_head = 0, without = 0, never = 0;
  EXPECT_EQ(told(whole, with_head),
            "drafts        a head, which guesses the next tokens of an answer (--draft mtp, or auto)");
  model.without = {"blk.2.nextn.enorm.weight"};
  EXPECT_THAT(told(cut, without), HasSubstr("a head that nothing uses: "));
  model.head = test::TinyModel::Head::kNone;
  EXPECT_EQ(told(none, never), "");
  EXPECT_TRUE(whole && !cut && !none);
  EXPECT_EQ(with_head, 2 * without) << "one layer of two attends";
  EXPECT_EQ(without, never);
}

/// What is told of a file that only drafts.
struct DraftFileTold {
  std::string line;         // of the text
  boost::json::object all;  // of the JSON
};

DraftFileTold told_of(const test::TinyModel& model) {
  const TempFile file(model.bytes(), ".gguf");
  CliRun text, cli;
  EXPECT_EQ(text.run({"info", file.path().string()}), 0) << text.err.str();
  const std::string out = text.out.str();
  EXPECT_THAT(out, testing::Not(HasSubstr("memory at a context"))) << "it is no model";
  const std::size_t line = out.find("\ndrafts");
  if (line == std::string::npos) return {};
  return {.line = out.substr(line + 1, out.find('\n', line + 1) - line - 1),
          .all = json_of(cli, {file.path().string()})};
}

TEST(Info, DraftFilesSayForWhichModelTheyAre) {
  const DraftFileTold assistant =
      told_of({.arch = "gemma4-assistant", .layers = 3, .width = 32, .per_layer_width = 0, .model_width = 64});
  EXPECT_EQ(assistant.line,
            "drafts        it only drafts, for a model with rows of 64 and this vocabulary (--draft FILE beside it)");
  EXPECT_EQ(assistant.all.at("draft_file"), (boost::json::object{{"kind", "assistant"}, {"model_width", 64}}));
  EXPECT_FALSE(assistant.all.contains("memory"));
  EXPECT_EQ(assistant.all.at("shape").at("num_borrowing").as_int64(), 3);

  test::TinyModel head{.arch = "qwen35", .layers = 2, .head = test::TinyModel::Head::kRandom};
  for (const test::MemorySource whole = head.source(); const SourceTensor& tensor : whole.tensors())
    if (tensor.name.starts_with("blk.") && !tensor.name.starts_with("blk.2.")) head.without.emplace(tensor.name);
  const DraftFileTold alone = told_of(head);
  EXPECT_EQ(alone.line, "drafts        a head alone, for a model of 2 layers with rows of 64 (--draft FILE beside it)");
  EXPECT_EQ(alone.all.at("draft_file"),
            (boost::json::object{{"kind", "draft_head"}, {"model_width", 64}, {"model_layers", 2}}));
  EXPECT_FALSE(alone.all.at("shape").at("draft_head").as_bool()) << "there is no model that has it";
}

TEST(Info, RecurrentLayersAndTheStateOfASequenceAreTold) {
  const TempFile file(test::TinyModel{.arch = "qwen35"}.bytes(), ".gguf");
  CliRun text;
  ASSERT_EQ(text.run({"info", file.path().string()}), 0) << text.err.str();
  EXPECT_THAT(text.out.str(), HasSubstr("1 of 2 layers, with states of 18 x 24 in 4 heads; the others attend"));
  EXPECT_THAT(text.out.str(), HasSubstr("recurrent state"));
  CliRun cli;
  const auto json = json_of(cli, {file.path().string(), "--context", "16"});
  EXPECT_EQ(json.at("shape").at("num_recurrent").to_number<int>(), 1);
  const auto& memory = json.at("memory").as_object();
  // 4 heads of 18 rows of 32 columns, and 3 inputs of 168 channels of the convolution: floats, in whole cache lines.
  const int state = (4 * 18 * 32 + 3 * 168) * 4 + 32;
  EXPECT_EQ(memory.at("recurrent_bytes").to_number<int>(), state);
  EXPECT_EQ(memory.at("kv_bytes").to_number<int>(), state + 16 * 264);
}

TEST(Info, Mamba2BesideAttentionIsTheRecurrencesPart) {
  const TempFile file(test::TinyModel{.arch = "falcon-h1"}.bytes(), ".gguf");
  CliRun text;
  ASSERT_EQ(text.run({"info", file.path().string()}), 0) << text.err.str();
  EXPECT_THAT(text.out.str(), HasSubstr("2 of 2 layers are Mamba-2"));
  EXPECT_THAT(text.out.str(), HasSubstr("\nrecurrence "));
  EXPECT_THAT(text.out.str(), HasSubstr("\nattention "));
}

TEST(Info, Mamba2AndItsStateAreTold) {
  const TempFile file(test::TinyModel{.arch = "granitehybrid"}.bytes(), ".gguf");
  CliRun text;
  ASSERT_EQ(text.run({"info", file.path().string()}), 0) << text.err.str();
  EXPECT_THAT(text.out.str(), HasSubstr("1 of 2 layers are Mamba-2, with states of 18 x 24 in 4 heads"));
  EXPECT_THAT(text.out.str(), HasSubstr("recurrence"));
  CliRun cli;
  const auto json = json_of(cli, {file.path().string(), "--context", "16"});
  EXPECT_EQ(json.at("shape").at("num_recurrent").to_number<int>(), 1);
  // 4 heads with columns of 24 in the place of 32, and 3 rows of 4 x 24 + 2 x 2 x 18 inputs, up to a whole cache line.
  EXPECT_EQ(json.at("memory").at("recurrent_bytes").to_number<int>(), ((4 * 18 * 32 + 3 * 168) * 4 + 63) / 64 * 64);
}

TEST(Info, ShortConvolutionsAndTheirStateAreTold) {
  const TempFile file(test::TinyModel{.arch = "lfm2"}.bytes(), ".gguf");
  CliRun text;
  ASSERT_EQ(text.run({"info", file.path().string()}), 0) << text.err.str();
  EXPECT_THAT(text.out.str(), HasSubstr("1 of 2 layers are short convolutions of 4 taps; the others attend"));
  CliRun cli;
  const auto json = json_of(cli, {file.path().string(), "--context", "16"});
  EXPECT_EQ(json.at("shape").at("num_recurrent").to_number<int>(), 1);
  EXPECT_EQ(json.at("memory").at("recurrent_bytes").to_number<int>(), 3 * 64 * 4);
}

TEST(Info, ALatentAndWhatHeadsMakeOfItAreTold) {
  for (const char* arch : {"deepseek2", "minicpm3"}) {
    const TempFile file(test::TinyModel{.arch = arch}.bytes(), ".gguf");
    CliRun text;
    ASSERT_EQ(text.run({"info", file.path().string()}), 0) << text.err.str();
    EXPECT_THAT(text.out.str(), HasSubstr("64 numbers of a token, and 16 rotated ones, are the keys of 4 heads of 48, "
                                          "and their values of 24"));
    CliRun cli;
    const auto json = json_of(cli, {file.path().string(), "--context", "16"});
    // Two layers: 80 numbers of K, the first of which are V, and their 2 scales.
    EXPECT_EQ(json.at("memory").at("kv_bytes").to_number<int>(), 16 * 2 * (80 + 2) * 2);
  }
}

TEST(Info, TheLargestContextThatFitsHereIsTold) {
  const TempFile file(small_model().bytes());
  const auto opened = open_model(file.path());
  ASSERT_TRUE(opened);
  // Weights, 32 MiB of scratch memory; of the rest the KV cache gets half. 132 bytes a token of i16, 68 of q8_0.
  const auto here = [&](std::uint64_t kv_bytes, KvType type = KvType::kI16) {
    const std::uint64_t weights = cli::make_info_report(**opened, {})->memory->weight_bytes;
    const std::uint64_t free = weights + (std::uint64_t{32} << 20) + 2 * kv_bytes;
    return *cli::make_info_report(**opened, {.kv_type = type, .available_bytes = free})->here;
  };
  EXPECT_EQ(here(132 * 256).context, 256) << "what the model was trained for";
  EXPECT_EQ(here(132 * 256).kv_bytes, 132U * 256);
  EXPECT_EQ(here(std::uint64_t{1} << 40).context, 256);
  const cli::MemoryHere small = here(132 * 112);
  EXPECT_EQ(small.context, 112);
  EXPECT_EQ(here(132 * 112 - 1).context, 96) << "in whole blocks";
  EXPECT_EQ(here(132 * 112, KvType::kF32).context, 48);
  ASSERT_EQ(small.fits.size(), 5U);
  for (const cli::ContextFit& fit : small.fits) EXPECT_EQ(fit.tokens, here(132 * 112, fit.kv_type).context);
  EXPECT_EQ(here(0).context, 0);
  const auto nothing = cli::make_info_report(**opened, {.available_bytes = 1000});
  EXPECT_EQ(nothing->here->context, 0);
}

TEST(Info, WeightsThatAreQuantizedAlreadyCannotBeWhileLoading) {
  const TempFile file(small_model().bytes());
  CliRun cli;
  EXPECT_EQ(cli.run({"info", file.string(), "--quantize", "Q8_0"}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("tensor 'blk.0.attn_q.weight' is Q4_0 already"));
}

TEST(Info, TheMemoryThatIsFreeHereIsSaidInASentenceAndInJson) {
  const TempFile file(small_model().bytes());
  CliRun cli;
  const auto here = json_of(cli, {file.string()}).at("here").as_object();
  EXPECT_GT(here.at("available_bytes").to_number<std::uint64_t>(), 0U);
  EXPECT_EQ(here.at("largest_context").to_number<int>(), 256);
  EXPECT_EQ(here.at("largest_context_by_kv_type").at("q8_0").to_number<int>(), 256);
  EXPECT_EQ(cli.run({"info", file.string()}), 0) << cli.err.str();
  EXPECT_THAT(cli.out.str(),
              testing::ContainsRegex("here .* of memory are free: the whole context of 256 tokens fits"));
}

TEST(Info, TheFileIsAWordOrFollowsM) {
  const TempFile file(small_model().bytes());
  CliRun cli;
  EXPECT_EQ(json_of(cli, {"-m", file.string(), "-c", "32"}).at("memory").at("context").as_int64(), 32);
  EXPECT_EQ(json_of(cli, {file.string(), "-c", "32"}).at("memory").at("context").as_int64(), 32);
  EXPECT_EQ(cli.run({"info", "-m", file.string(), "other.gguf"}), 2);
  EXPECT_THAT(cli.err.str(), HasSubstr("found 'other.gguf' beside '" + file.string() + "', expected one file"));
}

TEST(Info, TheTableShowsTheSame) {
  const TempFile file(small_model().bytes());
  CliRun cli;
  EXPECT_EQ(cli.run({"info", file.string(), "--context", "16"}), 0) << cli.err.str();
  EXPECT_THAT(cli.out.str(),
              AllOf(HasSubstr("1 layers, width 64, feed-forward 96, 2 heads of 32 (1 for keys and values)"),
                    HasSubstr("by type"), HasSubstr("by part"), HasSubstr("feed-forward  Q4_0"),
                    HasSubstr("memory at a context of 16 tokens")));
}

TEST(Info, WorksOnAVocabularyOnlyFileOfAnyArchitecture) {
  const TempFile file(GgufWriter()
                          .add("general.architecture", "bert")
                          .add("tokenizer.ggml.model", "bert")
                          .add_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"})
                          .bytes());
  CliRun cli;
  EXPECT_EQ(cli.run({"info", file.string()}), 0) << cli.err.str();
  EXPECT_THAT(cli.out.str(), AllOf(HasSubstr("a vocabulary only"), HasSubstr("2 tokens, bert")));
  EXPECT_EQ(json_of(cli, {file.string()}).at("vocabulary").at("tokens").to_number<int>(), 2);
}

TEST(Info, UnsupportedTypesAndArchitecturesAreNamedWithTheSupportedOnes) {
  CliRun cli;
  const TempFile other(small_model("mamba").bytes());
  EXPECT_EQ(cli.run({"info", other.string()}), 1);
  EXPECT_THAT(cli.err.str(), AllOf(HasSubstr("'mamba' is not supported"), HasSubstr("qwen3")));
  const TempFile typed(
      small_model("llama", false).add_raw_tensor("blk.0.ffn_down.weight", {256}, 143, std::string(56, 'x')).bytes());
  EXPECT_EQ(cli.run({"info", typed.string()}), 1);
  EXPECT_THAT(cli.err.str(), AllOf(HasSubstr("PTQ1_0"), HasSubstr("prism.hadamard"), HasSubstr("Q4_K")));
}

TEST(Info, AFileThatLacksATensorIsRefusedByItsName) {
  const TempFile file(small_model("llama", false).bytes());
  CliRun cli;
  EXPECT_EQ(cli.run({"info", file.string()}), 1);
  EXPECT_THAT(cli.err.str(), HasSubstr("no tensor blk.0.ffn_down.weight, which architecture llama needs"));
}

TEST(Info, WhatIsNoModelIsOneLineAndExitCode1) {
  CliRun cli;
  const TempFile empty(""), text("just some text, and more of it"), cut(small_model().bytes().substr(0, 300));
  for (const std::string& path : {empty.string(), text.string(), cut.string(), std::string("/tmp"),
                                  std::string("/no/such/file"), std::string("/dev/null")}) {
    EXPECT_EQ(cli.run({"info", path}), 1) << path;
    const std::string message = cli.err.str();
    EXPECT_THAT(message, testing::StartsWith("octavo: " + path + ": "));
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1) << message;
    EXPECT_EQ(cli.out.str(), "");
  }
}

}  // namespace
}  // namespace octavo

// Folders of encoders: names of tensors and keys, positions behind those of the padding, pooling.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "source/open_model.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace octavo {
namespace {

using test::bytes_of;
using test::SafetensorsWriter;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kBert = R"({"architectures": ["MODEL"], "hidden_size": 4, "num_hidden_layers": 1,
  "num_attention_heads": 2, "intermediate_size": 6, "vocab_size": 3, "layer_norm_eps": 1e-12, "hidden_act": "gelu",
  "max_position_embeddings": 8, "type_vocab_size": 2, "pad_token_id": 1 MORE})";

std::string bert(std::string_view model, std::string_view more = "") {
  std::string text(kBert);
  text.replace(text.find("MODEL"), 5, model);
  return text.replace(text.find(" MORE"), 5, more);
}

std::string bert_file(std::string_view prefix, bool ranks) {
  SafetensorsWriter writer;
  const auto add = [&](const std::string& name, const std::vector<std::uint64_t>& shape) {
    std::vector<float> numbers(shape[0] * (shape.size() > 1 ? shape[1] : 1));
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    writer.add(name, "F32", shape, bytes_of(numbers));
  };
  const auto inner = [&](const std::string& name, const std::vector<std::uint64_t>& shape) {
    add(std::string(prefix) + name, shape);
  };
  inner("embeddings.word_embeddings.weight", {3, 4});
  inner("embeddings.position_embeddings.weight", {8, 4});
  inner("embeddings.token_type_embeddings.weight", {2, 4});
  inner("embeddings.LayerNorm.weight", {4});
  inner("embeddings.LayerNorm.bias", {4});
  inner("pooler.dense.weight", {4, 4});
  inner("encoder.layer.0.attention.self.query.weight", {4, 4});
  inner("encoder.layer.0.attention.self.query.bias", {4});
  inner("encoder.layer.0.attention.output.LayerNorm.weight", {4});
  inner("encoder.layer.0.intermediate.dense.weight", {6, 4});
  inner("encoder.layer.0.output.dense.weight", {4, 6});
  inner("encoder.layer.0.output.LayerNorm.bias", {4});
  if (ranks) add("classifier.weight", {1, 4});
  return writer.bytes();
}

class EncoderFolder : public testing::Test {
 protected:
  std::unique_ptr<const ModelSource> opened(const std::string& config, const std::string& file) {
    folder_.write("config.json", config);
    folder_.write("model.safetensors", file);
    auto source = open_model(folder_.path());
    EXPECT_TRUE(source) << source.error().message;
    return std::move(*source);
  }
  std::string error(const std::string& config) {
    folder_.write("config.json", config);
    folder_.write("model.safetensors", bert_file("", false));
    const auto source = open_model(folder_.path());
    return source ? "" : source.error().message;
  }
  static std::vector<std::string> names_of(const ModelSource& source) {
    std::vector<std::string> names;
    for (const SourceTensor& tensor : source.tensors()) names.emplace_back(tensor.name);
    std::ranges::sort(names);
    return names;
  }

  test::TempFolder folder_;
};

TEST_F(EncoderFolder, TensorsOfBertHaveLlamaCppsNames) {
  const auto source = opened(bert("BertForSequenceClassification"), bert_file("bert.", true));
  EXPECT_THAT(names_of(*source),
              ElementsAre("blk.0.attn_output_norm.weight", "blk.0.attn_q.bias", "blk.0.attn_q.weight",
                          "blk.0.ffn_down.weight", "blk.0.ffn_up.weight", "blk.0.layer_output_norm.bias",
                          "cls.output.weight", "cls.weight", "position_embd.weight", "token_embd.weight",
                          "token_embd_norm.bias", "token_embd_norm.weight", "token_types.weight"));
  EXPECT_EQ(source->get_string("general.architecture"), "bert");
  EXPECT_EQ(source->get_u64("bert.context_length"), 8U);
  EXPECT_EQ(source->get_u64("tokenizer.ggml.token_type_count"), 2U);
}

TEST_F(EncoderFolder, PositionsOfRobertaBeginBehindThePadding) {
  const auto source = opened(bert("XLMRobertaModel"), bert_file("", false));
  EXPECT_EQ(source->get_u64("bert.context_length"), 6U);
  const SourceTensor& positions = *source->find_tensor("position_embd.weight");
  EXPECT_EQ(positions.tensor.rows, 6);
  std::vector<float> first(4);
  ASSERT_TRUE(source->read(positions.offset, std::as_writable_bytes(std::span(first))));
  EXPECT_THAT(first, ElementsAre(8, 9, 10, 11)) << "row 2 of the checkpoint";
}

TEST_F(EncoderFolder, PoolingIsThatOfSentenceTransformers) {
  folder_.write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
  EXPECT_EQ(opened(bert("BertModel"), bert_file("", false))->get_u64("bert.pooling_type"), 2U);
  folder_.write("1_Pooling/config.json", R"({"pooling_mode": "mean"})");
  EXPECT_EQ(opened(bert("BertModel"), bert_file("", false))->get_u64("bert.pooling_type"), 1U);
  folder_.write("1_Pooling/config.json", R"({"pooling_mode_max_tokens": true})");
  EXPECT_THAT(error(bert("BertModel")), HasSubstr("pooling_mode_max_tokens is on: expected one of mean, cls, last"));
  folder_.write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": false})");
  EXPECT_THAT(error(bert("BertModel")), HasSubstr("pooling_mode_mean_tokens is off, and no other mode is on"));
}

TEST_F(EncoderFolder, AModuleWithoutItsFolderIsRefusedByName) {
  for (const std::string kind : {"Pooling", "Dense"}) {
    folder_.write("modules.json", R"([{"path": "9_Lost", "type": "a.)" + kind + R"("}])");
    EXPECT_THAT(error(bert("BertModel")), HasSubstr("9_Lost/config.json: is not there, expected the settings of the " +
                                                    kind + " that modules.json names"));
  }
}

TEST_F(EncoderFolder, ModulesSayWhatStandsBehindTheModel) {
  folder_.write("modules.json", R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
    {"path": "pool", "type": "sentence_transformers.models.Pooling"}, {"path": "2_Dense", "type": "x.Dense"},
    {"path": "n", "type": "sentence_transformers.models.Normalize"}])");
  folder_.write("pool/config.json", R"({"pooling_mode_lasttoken": true})");
  const std::string dense = R"({"bias": false, "activation_function": "torch.nn.modules.linear.Identity"})";
  folder_.write("2_Dense/config.json", dense);
  SafetensorsWriter writer;
  writer.add("linear.weight", "F32", {2, 4}, bytes_of(std::vector<float>(8, 0.5F)));
  folder_.write("2_Dense/model.safetensors", writer.bytes());
  folder_.write("sentence_bert_config.json", R"({"max_seq_length": 5})");
  folder_.write("config_sentence_transformers.json", R"({"prompts": {"query": "q: "}})");
  const auto source = opened(bert("BertModel"), bert_file("", false));
  EXPECT_EQ(source->get_u64("bert.pooling_type"), 3U);
  EXPECT_EQ(source->find_tensor("dense_3.weight")->tensor.rows, 2) << "one alone is the last";
  EXPECT_EQ(source->find_tensor("dense_2.weight"), nullptr);
  EXPECT_EQ(source->get_u64("sentence_transformers.max_seq_length"), 5U);
  EXPECT_EQ(source->get_string("sentence_transformers.config"), R"({"prompts": {"query": "q: "}})");
}

TEST_F(EncoderFolder, ModulesThatAreNotComputedAreRefused) {
  const auto module = [&](const std::string& type, const std::string& settings) {
    folder_.write("modules.json", R"([{"path": "1_It", "type": "a.)" + type + R"("}])");
    folder_.write("1_It/config.json", settings);
    return error(bert("BertModel"));
  };
  EXPECT_THAT(module("LSTM", "{}"), HasSubstr("type is 'a.LSTM', supported are Transformer, Pooling, Dense"));
  EXPECT_THAT(module("Dense", R"({"bias": true})"), HasSubstr("1_It/config.json: bias is true, expected false"));
  EXPECT_THAT(module("Dense", R"({"bias": false, "activation_function": "torch.nn.Tanh"})"),
              HasSubstr("activation_function is 'torch.nn.Tanh', expected Identity"));
  EXPECT_THAT(module("Pooling", R"({"pooling_mode": "mean", "include_prompt": false})"),
              HasSubstr("include_prompt is false, expected true"));
  EXPECT_THAT(module("Transformer", "{}"), HasSubstr("expected an empty text: this folder"));
  folder_.write("modules.json", R"([{"path": "../x", "type": "a.Pooling"}])");
  EXPECT_THAT(error(bert("BertModel")), HasSubstr("path is '../x', expected the name of a folder beside it"));
  folder_.write("modules.json", "{}");
  EXPECT_THAT(error(bert("BertModel")), HasSubstr("found an object, expected a list of modules"));
  folder_.write("modules.json", "[]");
  folder_.write("sentence_bert_config.json", R"({"do_lower_case": true})");
  EXPECT_THAT(error(bert("BertModel")), HasSubstr("do_lower_case is true, expected false"));
}

TEST_F(EncoderFolder, OtherMathematicsIsRefused) {
  EXPECT_THAT(error(bert("BertModel", R"(, "position_embedding_type": "relative_key")")),
              HasSubstr("position_embedding_type is 'relative_key', expected absolute"));
  std::string relu = bert("BertModel");
  relu.replace(relu.find("gelu"), 4, "relu");
  EXPECT_THAT(error(relu), HasSubstr("hidden_act is 'relu', expected gelu"));
}

}  // namespace
}  // namespace octavo

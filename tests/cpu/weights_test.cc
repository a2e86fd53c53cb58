// Weights out of a source: each tensor at its place in both forms, wrong ones refused by name before memory is taken.
#include "cpu/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/to_size.h"
#include "cpu/weights_fixture.h"
#include "kernels/pack.h"
#include "model/visit_matrices.h"
#include "model/weight_need.h"
#include "tensor/dequantize.h"

namespace octavo::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kFamilies[] = {"llama", "mistral3", "qwen2", "qwen3", "qwen35", "gemma2", "gemma3", "gemma4"};

/// The place of each tensor of a model, by its name.
struct Places {
  std::map<std::string, const WeightMatrix*> matrices;
  std::map<std::string, const float*> vectors;  // nullptr: the model has none

  explicit Places(const Weights& w, std::string_view arch = "llama") {
    matrices = {{"token_embd.weight", &w.embedding}, {"output.weight", &w.output}};
    vectors = {{"output_norm.weight", w.output_norm}, {"rope_freqs.weight", w.rope_factors}};
    if (w.per_layer.table.rows > 0) {
      matrices.insert({{"per_layer_token_embd.weight", &w.per_layer.table}});
      matrices.insert({{"per_layer_model_proj.weight", &w.per_layer.projection}});
    }
    vectors.insert({{"per_layer_proj_norm.weight", w.per_layer.norm}, {"output.bias", w.output_bias}});
    for (std::size_t i = 0; i < w.layers.size(); ++i) {
      const LayerWeights& layer = w.layers[i];
      const auto& f = std::get<DenseFfnWeights>(layer.feed_forward);
      const std::string p = "blk." + std::to_string(i) + ".";
      matrices.insert({{p + "ffn_gate.weight", &f.gate}});
      matrices.insert({{p + "ffn_up.weight", &f.up}, {p + "ffn_down.weight", &f.down}});
      vectors.insert({{p + "ffn_gate.bias", f.gate_bias}, {p + "ffn_up.bias", f.up_bias}});
      vectors.insert({{p + "ffn_down.bias", f.down_bias}});
      vectors.insert({{p + "attn_norm.weight", layer.mixer_norm}});
      vectors.insert({{p + "post_ffw_norm.weight", layer.post_ffn_norm}});
      if (const PerLayerWeights& own = layer.per_layer; own.gate.rows > 0)
        matrices.insert({{p + "inp_gate.weight", &own.gate}, {p + "proj.weight", &own.up}});
      vectors.insert({{p + "post_norm.weight", layer.per_layer.post_norm}});
      vectors.insert({{p + "layer_output_scale.weight", layer.output_scale}});
      if (arch == "qwen35") {
        vectors.insert({{p + "post_attention_norm.weight", layer.ffn_norm}});
      } else {
        vectors.insert({{p + "ffn_norm.weight", layer.ffn_norm}});
        vectors.insert({{p + "post_attention_norm.weight", layer.post_mixer_norm}});
      }
      std::visit([&](const auto& mixer) { insert(p, mixer); }, layer.mixer);
    }
  }

 private:
  void insert(const std::string& p, const AttentionWeights& a) {
    matrices.insert({{p + "attn_q.weight", &a.q}, {p + "attn_k.weight", &a.k}, {p + "attn_v.weight", &a.v}});
    matrices.insert({{p + "attn_output.weight", &a.o}});
    vectors.insert({{p + "attn_output.bias", a.o_bias}});
    vectors.insert({{p + "attn_q.bias", a.q_bias}, {p + "attn_k.bias", a.k_bias}, {p + "attn_v.bias", a.v_bias}});
    vectors.insert({{p + "attn_q_norm.weight", a.q_norm}, {p + "attn_k_norm.weight", a.k_norm}});
  }
  void insert(const std::string& /*p*/, const NoTensors<CpuForm>& /*w*/) {}
  void insert(const std::string& p, const ShortConvWeights& c) {
    matrices.insert({{p + "shortconv.out_proj.weight", &c.output}});
    vectors.insert({{p + "shortconv.conv.weight", c.taps}});
  }
  void insert(const std::string& /*p*/, const MambaWeights& /*m*/) {}
  void insert(const std::string& p, const DeltaWeights& d) {
    matrices.insert({{p + "attn_qkv.weight", &d.qkv}, {p + "attn_gate.weight", &d.gate}});
    matrices.insert({{p + "ssm_alpha.weight", &d.decay}, {p + "ssm_beta.weight", &d.beta}});
    matrices.insert({{p + "ssm_out.weight", &d.output}});
    vectors.insert({{p + "ssm_dt.bias", d.decay_bias}, {p + "ssm_a", d.decay_scale}, {p + "ssm_norm.weight", d.norm}});
    vectors.insert({{p + "ssm_conv1d.weight", d.taps}});
  }
};

void expect_at_its_place(const SourceTensor& source, const Places& places, bool repack) {
  const std::string name(source.name);
  if (const auto vector = places.vectors.find(name); vector != places.vectors.end()) {
    ASSERT_NE(vector->second, nullptr);
    const std::size_t rows = to_size(source.tensor.rows), cols = to_size(source.tensor.cols);
    std::vector<float> floats(rows * cols), expected(rows * cols);
    dequantize(source.tensor.type, source.tensor.data.data(), floats);
    for (std::size_t i = 0; i < floats.size(); ++i) expected[i % cols * rows + i / cols] = floats[i];  // transposed
    EXPECT_EQ(std::vector<float>(vector->second, vector->second + expected.size()), expected);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(vector->second) % kCacheLineBytes, 0U);
    return;
  }
  ASSERT_TRUE(places.matrices.contains(name));
  const WeightMatrix& matrix = *places.matrices.at(name);
  EXPECT_EQ(matrix.type, source.tensor.type);
  EXPECT_EQ(matrix.rows, source.tensor.rows);
  EXPECT_EQ(matrix.cols, source.tensor.cols);
  if (repack) return expect_packed(source.tensor, matrix);
  EXPECT_EQ(matrix.panels, nullptr);
  EXPECT_EQ(matrix.file, source.tensor.data.data());
}

TEST(Weights, EveryTensorIsAtItsPlaceInBothForms) {
  for (const std::string arch : kFamilies)
    for (const DType type : {DType::kF32, DType::kQ8_0})
      for (const bool repack : {true, false}) {
        const MemorySource source =
            TinyModel{.arch = arch, .tied = false, .type = type, .biases = arch != "gemma4"}.source();
        const Weights weights = load(source, repack, 2);
        const Places places(weights, arch);
        for (const SourceTensor& tensor : source.tensors()) {
          SCOPED_TRACE(arch + " " + std::string(tensor.name) + (repack ? " packed" : " in the file"));
          expect_at_its_place(tensor, places, repack);
        }
        std::size_t filled = 0;
        for (const auto& [name, vector] : places.vectors) filled += vector != nullptr ? 1 : 0;
        EXPECT_EQ(filled + places.matrices.size(), source.tensors().size()) << arch;
      }
}

TEST(Weights, EveryTypeIsPackedAsItLiesInTheFile) {
  TinyModel model{.layers = 1, .width = 256, .heads = 2, .kv_heads = 1, .head_dim = 128, .ffn = 256};
  const MemorySource floats = model.source();
  for (const SourceTensor& tensor : floats.tensors()) model.without.emplace(tensor.name);
  std::mt19937 random(7);
  for (const DType type : kAllDTypes) {
    SCOPED_TRACE(dtype_info(type).name);
    MemorySource source = model.source();
    for (const SourceTensor& tensor : floats.tensors()) {
      const DType own = tensor.dims.size() == 1 ? DType::kF32 : type;
      std::string bytes(*dtype_bytes(own, static_cast<std::uint64_t>(tensor.tensor.rows * tensor.tensor.cols)), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random() & 63);
      source.add_tensor(tensor.name, tensor.dims, own, bytes);
    }
    for (const bool repack : {true, false}) {
      const Weights weights = load(source, repack);
      const Places places(weights);
      for (const SourceTensor& tensor : source.tensors()) expect_at_its_place(tensor, places, repack);
    }
  }
}

TEST(Weights, OfEmbeddingsOfLayersATokenReadsARow) {
  for (const bool repack : {true, false}) {
    const MemorySource source = TinyModel{.arch = "gemma4"}.source();
    const Weights w = load(source, repack);
    EXPECT_EQ(w.per_layer.table.cols, 2 * 32);
    EXPECT_EQ(read_by_a_token(source, repack),
              w.total_bytes() - 79U * 64 * 4);  // the other embedding is the output, too
  }
}

TEST(Weights, VIsAbsentWhereItIsK) {
  const Weights w = load(TinyModel{.arch = "gemma4", .layers = 3}.source());
  EXPECT_GT(std::get<AttentionWeights>(w.layers[1].mixer).v.rows, 0);
  EXPECT_EQ(std::get<AttentionWeights>(w.layers[2].mixer).k.rows, 64);
  EXPECT_EQ(std::get<AttentionWeights>(w.layers[2].mixer).v.rows, 0);
}

TEST(Weights, VectorsOfAnyTypeBecomeFloats) {
  MemorySource source = TinyModel{.without = {"output_norm.weight"}}.source();
  std::string halves;
  for (int i = 0; i < 64; ++i) halves += bytes_of(static_cast<std::uint16_t>(0x3C00 + i));
  source.add_tensor("output_norm.weight", {64}, DType::kF16, halves);
  const Weights weights = load(source);
  EXPECT_EQ(weights.output_norm[0], 1.0F);
  EXPECT_EQ(weights.output_norm[63], 1.0F + 63.0F / 1024);
}

TEST(Weights, ATiedOutputIsTheEmbeddingItself) {
  for (const bool repack : {true, false}) {
    const MemorySource tied = TinyModel{.tied = true}.source(), own = TinyModel{.tied = false}.source();
    const Weights t = load(tied, repack), o = load(own, repack);
    EXPECT_EQ(t.output.panels, t.embedding.panels);
    EXPECT_EQ(t.output.file, t.embedding.file);
    EXPECT_TRUE(o.output.panels != o.embedding.panels || o.output.file != o.embedding.file);
    EXPECT_EQ(o.total_bytes() - t.total_bytes(), 80U * 64 * 4);
    // A token reads all of a tied matrix as the output, and of an embedding of its own one row.
    EXPECT_EQ(read_by_a_token(tied, repack), t.total_bytes());
    EXPECT_EQ(read_by_a_token(own, repack), o.total_bytes() - 79U * 64 * 4);
  }
}

TEST(Weights, TheNeedIsKnownBeforeLoading) {
  for (const char* arch : kFamilies) {
    const MemorySource source = TinyModel{.arch = arch, .tied = false, .type = DType::kQ8_0}.source();
    const WeightNeed need = weight_need(source, ModelConfig::load(source).value()).value();
    const Weights packed = load(source), mapped = load(source, false);
    EXPECT_EQ(packed.total_bytes(), need.packed_bytes + need.vector_bytes) << arch;
    EXPECT_EQ(packed.mapped_bytes(), 0U);
    EXPECT_EQ(mapped.total_bytes(), need.mapped_bytes + need.vector_bytes) << arch;
    EXPECT_EQ(mapped.mapped_bytes(), need.mapped_bytes) << arch;
    EXPECT_EQ(packed.make_scratch(3).size_bytes(), 0U);
    EXPECT_GT(mapped.make_scratch(3).size_bytes(), 0U);
  }
}

TEST(Weights, EveryMissingTensorIsNamed) {
  for (const char* arch : kFamilies) {
    const TinyModel whole{.arch = arch, .tied = false};
    expect_missing_tensors_named(whole);
  }
}

TEST(Weights, EveryWrongShapeIsNamedWithBoth) {
  for (const char* arch : kFamilies) {
    const TinyModel whole{.arch = arch, .tied = false};
    const MemorySource source = whole.source();
    for (const SourceTensor& tensor : source.tensors()) {
      TinyModel wrong = whole;
      wrong.without = {std::string(tensor.name)};
      MemorySource changed = wrong.source();
      std::vector<std::uint64_t> dims = tensor.dims;
      ++dims.back();
      changed.add_tensor(tensor.name, dims, DType::kF32, std::string(4 * dims[0] * (dims.size() > 1 ? dims[1] : 1), 0));
      const Tensor& t = tensor.tensor;
      EXPECT_THAT(error_of(whole, changed),
                  AllOf(HasSubstr("tensor " + std::string(tensor.name) + " has "),
                        HasSubstr("expected " + std::to_string(t.rows) + " rows of " + std::to_string(t.cols))));
    }
  }
}

TEST(Weights, OptionalVectorsAreReadWhereTheyAre) {
  const TinyModel model;  // of llama
  MemorySource source = model.source();
  EXPECT_EQ(std::get<AttentionWeights>(load(source).layers[1].mixer).k_bias, nullptr);
  EXPECT_EQ(load(source).rope_factors, nullptr);
  source.add_tensor("blk.1.attn_k.bias", {64}, DType::kF32, bytes_of(std::vector<float>(64, 3.5F)));
  source.add_tensor("rope_freqs.weight", {16}, DType::kF32, bytes_of(std::vector<float>(16, 8.0F)));
  const Weights weights = load(source);
  EXPECT_EQ(std::get<AttentionWeights>(weights.layers[0].mixer).k_bias, nullptr);
  ASSERT_NE(std::get<AttentionWeights>(weights.layers[1].mixer).k_bias, nullptr);
  EXPECT_EQ(std::get<AttentionWeights>(weights.layers[1].mixer).k_bias[63], 3.5F);
  ASSERT_NE(weights.rope_factors, nullptr);
  EXPECT_EQ(weights.rope_factors[15], 8.0F);
}

void expect_same_matrix(const WeightMatrix& a, const WeightMatrix& b) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.bytes(), b.bytes());
  ASSERT_EQ(a.panels != nullptr, b.panels != nullptr);
  if (a.rows == 0) return;
  const void* bytes_a = a.panels != nullptr ? static_cast<const void*>(a.panels) : a.file;
  const void* bytes_b = b.panels != nullptr ? static_cast<const void*>(b.panels) : b.file;
  EXPECT_EQ(std::memcmp(bytes_a, bytes_b, a.bytes()), 0);
}

void expect_same_vector(const float* a, const float* b, int size) {
  ASSERT_EQ(a != nullptr, b != nullptr);
  if (a != nullptr) {
    EXPECT_TRUE(std::equal(a, a + size, b));
  }
}

/// The weights are those of tensors of their own, so all else is.
TEST(Weights, QueriesKeysAndValuesInOneTensorAreThreeMatricesAndThreeBiases) {
  for (const char* arch : {"llama", "qwen2", "qwen3moe", "gemma4", "qwen35"})
    for (const bool repack : {true, false}) {
      SCOPED_TRACE(std::string(arch) + (repack ? " packed" : " in the file"));
      TinyModel model{.arch = arch, .layers = 5, .type = DType::kQ8_0};
      const MemorySource own_source = model.source();
      model.fused_qkv = true;
      const MemorySource fused_source = model.source();
      ASSERT_NE(fused_source.find_tensor("blk.0.attn_qkv.weight"), nullptr);
      const ModelConfig config = ModelConfig::load(fused_source).value();
      const Weights own = load(own_source, repack), fused = load(fused_source, repack);
      for (int i = 0; i < 5; ++i) {
        const AttentionSpec* spec = config.layer(i).attention();
        if (spec == nullptr) continue;
        const auto& a = std::get<AttentionWeights>(own.layers[to_size(i)].mixer);
        const auto& b = std::get<AttentionWeights>(fused.layers[to_size(i)].mixer);
        expect_same_matrix(a.q, b.q);
        expect_same_matrix(a.k, b.k);
        expect_same_matrix(a.v, b.v);
        expect_same_vector(a.q_bias, b.q_bias, spec->q_width());
        expect_same_vector(a.k_bias, b.k_bias, spec->k_width());
        expect_same_vector(a.v_bias, b.v_bias, spec->v_width());
      }
      const WeightNeed need = weight_need(fused_source, config).value();
      EXPECT_EQ(fused.total_bytes(), need.vector_bytes + (repack ? need.packed_bytes : need.mapped_bytes));
      EXPECT_EQ(fused.total_bytes(), own.total_bytes());
    }
}

TEST(Weights, BiasesOfTheirOwnMayStandBesideQueriesKeysAndValuesInOneTensor) {
  MemorySource source =
      TinyModel{.arch = "qwen2", .layers = 1, .without = {"blk.0.attn_qkv.bias"}, .fused_qkv = true}.source();
  source.add_tensor("blk.0.attn_q.bias", {128}, DType::kF32, bytes_of(std::vector<float>(128, 1.5F)));
  source.add_tensor("blk.0.attn_k.bias", {64}, DType::kF32, bytes_of(std::vector<float>(64, 2.5F)));
  source.add_tensor("blk.0.attn_v.bias", {64}, DType::kF32, bytes_of(std::vector<float>(64, 3.5F)));
  const Weights weights = load(source);
  const auto& attention = std::get<AttentionWeights>(weights.layers[0].mixer);
  EXPECT_EQ(attention.q_bias[127], 1.5F);
  EXPECT_EQ(attention.k_bias[0], 2.5F);
  EXPECT_EQ(attention.v_bias[63], 3.5F);
}

TEST(Weights, ALayerThatBorrowsTakesTheQueriesOfOneTensorAlone) {
  const MemorySource source = TinyModel{.fused_qkv = true}.source();
  ModelConfig config = ModelConfig::load(source).value();
  config.layers[1].attention()->borrows_from = 0;
  const Weights weights = try_load(source, config).value();
  const auto& borrower = std::get<AttentionWeights>(weights.layers[1].mixer);
  EXPECT_EQ(borrower.q.rows, 128);
  EXPECT_EQ(borrower.k.rows, 0);
  EXPECT_EQ(borrower.v.rows, 0);
}

TEST(Weights, QueriesKeysAndValuesInOneTensorOfAWrongShapeAreRefused) {
  const TinyModel whole{.arch = "qwen2", .layers = 1, .fused_qkv = true};
  for (const std::string name : {"blk.0.attn_qkv.weight", "blk.0.attn_qkv.bias"}) {
    TinyModel lacking = whole;
    lacking.without = {name};
    MemorySource source = lacking.source();
    source.add_tensor(name, {64, 128}, DType::kF32, std::string(64 * 128 * 4, '\0'));
    EXPECT_THAT(error_of(whole, source),
                AllOf(HasSubstr("tensor " + name + " has 128 rows of 64, expected "), HasSubstr("256")));
  }
}

TEST(Weights, TheFactorOfAnNvfp4MatrixStandsBesideIt) {
  const TinyModel whole;  // of llama
  MemorySource source = TinyModel{.without = {"blk.0.attn_q.weight", "blk.1.attn_q.weight"}}.source();
  for (const std::string name : {"blk.0.attn_q", "blk.1.attn_q"})
    source.add_tensor(name + ".weight", {64, 128}, DType::kNVFP4, std::string(128 * 36, '\1'));
  for (const char* name : {"blk.0.attn_q.scale", "blk.0.attn_q.input_scale"})
    source.add_tensor(name, {1}, DType::kF32, bytes_of(std::vector<float>{0.5F}));
  const Weights weights = load(source);
  const WeightMatrix& with = std::get<AttentionWeights>(weights.layers[0].mixer).q;
  ASSERT_NE(with.scale, nullptr);
  EXPECT_EQ(with.packed(1, nullptr).scale, 0.5F);
  const WeightMatrix& without = std::get<AttentionWeights>(weights.layers[1].mixer).q;
  EXPECT_EQ(without.packed(1, nullptr).scale, 1.0F);

  MemorySource beside_floats = whole.source();
  beside_floats.add_tensor("token_embd.scale", {1}, DType::kF32, bytes_of(std::vector<float>{0.5F}));
  EXPECT_THAT(error_of(whole, beside_floats), HasSubstr("tensor 'token_embd.scale' is not part of"));
}

// The order is llama.cpp's: it adds biases of a feed-forward before it multiplies, those of attention behind.
TEST(Weights, AFactorMayStandBesideAnyMatrixOfALayer) {
  MemorySource source = TinyModel{.layers = 1, .biases = true}.source();
  for (const char* name : {"blk.0.attn_q", "blk.0.ffn_gate", "blk.0.ffn_down"})
    source.add_tensor(std::string(name) + ".scale", {1}, DType::kF32, bytes_of(std::vector<float>{0.5F}));
  const Weights weights = load(source), plain = load(TinyModel{.layers = 1, .biases = true}.source());
  const auto& attention = std::get<AttentionWeights>(weights.layers[0].mixer);
  const auto& ffn = std::get<DenseFfnWeights>(weights.layers[0].feed_forward);
  const auto& plain_ffn = std::get<DenseFfnWeights>(plain.layers[0].feed_forward);
  for (const WeightMatrix* matrix : {&attention.q, &ffn.gate, &ffn.down}) EXPECT_EQ(*matrix->scale, 0.5F);
  EXPECT_EQ(attention.k.scale, nullptr);
  EXPECT_EQ(attention.q_bias[5], std::get<AttentionWeights>(plain.layers[0].mixer).q_bias[5]);
  EXPECT_EQ(ffn.gate_bias[5], 0.5F * plain_ffn.gate_bias[5]);
  EXPECT_EQ(ffn.up_bias[5], plain_ffn.up_bias[5]);
  EXPECT_EQ(ffn.down_bias[5], 0.5F * plain_ffn.down_bias[5]);
}

// Then it stands in files of llama.cpp, whose graph of the family does not read it.
TEST(Weights, AFactorMayMultiplyNothing) {
  for (const char* arch : {"qwen2", "gemma2", "gemma3", "command-r", "olmo2", "glm4"}) {
    MemorySource source = TinyModel{.arch = arch, .layers = 1}.source();
    for (const char* name : {"blk.0.attn_q.scale", "blk.0.ffn_up.scale"})
      source.add_tensor(name, {1}, DType::kF32, bytes_of(std::vector<float>{0.5F}));
    const Weights weights = load(source);
    EXPECT_NE(std::get<AttentionWeights>(weights.layers[0].mixer).q.scale, nullptr) << arch;
    EXPECT_EQ(std::get<DenseFfnWeights>(weights.layers[0].feed_forward).up.scale, nullptr) << arch;
  }
  MemorySource granite = TinyModel{.arch = "granitemoe", .layers = 1}.source();
  granite.add_tensor("blk.0.ffn_up_shexp.scale", {1}, DType::kF32, bytes_of(std::vector<float>{0.5F}));
  const Weights of_granite = load(granite);
  EXPECT_EQ(std::get<ExpertsFfnWeights>(of_granite.layers[0].feed_forward).shared.up.scale, nullptr);
  MemorySource mixture = TinyModel{.arch = "gpt-oss", .layers = 1}.source();
  mixture.add_tensor("blk.0.ffn_down_exps.scale", {8}, DType::kF32, bytes_of(std::vector<float>(8, 0.5F)));
  const Weights weights = load(mixture);
  EXPECT_EQ(std::get<ExpertsFfnWeights>(weights.layers[0].feed_forward).down.first.scale, nullptr);
}

TEST(Weights, ATensorThatTheSpecsDoNotKnowIsRefused) {
  const TinyModel model{.arch = "qwen3"};
  for (const char* name : {"blk.0.ffn_up.bias", "output.bias", "blk.2.attn_q.weight", "rope_freqs.weight", "other"}) {
    MemorySource source = model.source();
    source.add_tensor(name, {64}, DType::kF32, std::string(256, '\0'));
    EXPECT_THAT(error_of(model, source), HasSubstr("tensor '" + std::string(name) + "' is not part of"));
  }
}

TEST(Weights, TensorsOfLayersOfPredictionAreSkippedAndTakeNothingUnlessTheyAreADraftHead) {
  TinyModel model{.arch = "qwen35"};
  const MemorySource plain = model.source();
  const WeightNeed need = weight_need(plain, ModelConfig::load(plain).value()).value();
  model.head = TinyModel::Head::kRandom;
  MemorySource source = model.source();
  ModelConfig config = ModelConfig::load(source).value();
  EXPECT_EQ(try_load(source, config).value().total_bytes(), need.packed_bytes + need.vector_bytes);
  EXPECT_EQ(weight_need(source, config).value().packed_bytes, need.packed_bytes);
  ModelConfig with_head = config;
  with_head.add_draft_head();
  const Weights head = try_load(source, with_head).value();
  EXPECT_GT(head.total_bytes(), need.packed_bytes + need.vector_bytes + 64UL * 128 * 4);
  EXPECT_EQ(head.draft_head.output.panels, head.output.panels) << "it has none of its own";
  EXPECT_EQ(head.draft_head.output.rows, 80);
  EXPECT_EQ(head.draft_head.output_norm, head.output_norm);
  config.num_skipped_layers = 0;
  EXPECT_FALSE(try_load(source, config));
  config.num_skipped_layers = 1;
  source.add_tensor("blk.3.attn_norm.weight", {64}, DType::kF32, std::string(256, 0));
  EXPECT_FALSE(try_load(source, config));
}

TEST(Weights, ALayerThatBorrowsHasNoKeysAndValues) {
  TinyModel model{.without = {"blk.1.attn_k.weight", "blk.1.attn_v.weight"}};
  const MemorySource source = model.source();
  ModelConfig config = ModelConfig::load(source).value();
  config.layers[1].attention()->borrows_from = 0;
  const Weights weights = try_load(source, config).value();
  const auto& lender = std::get<AttentionWeights>(weights.layers[0].mixer);
  const auto& borrower = std::get<AttentionWeights>(weights.layers[1].mixer);
  EXPECT_EQ(lender.k.rows, 64);
  EXPECT_EQ(borrower.k.rows, 0);
  EXPECT_EQ(borrower.v.rows, 0);
  int matrices = 0, of_state = 0;
  for (const LayerWeights& layer : weights.layers)
    visit_matrices(layer, [&](const WeightMatrix&, bool is_of_state) {
      ++matrices;
      of_state += is_of_state ? 1 : 0;
    });
  EXPECT_EQ(matrices, 12);
  EXPECT_EQ(of_state, 2);
}

TEST(Weights, TheHashIsOfEveryByteWhateverTheThreads) {
  const TinyModel model{.type = DType::kQ8_0};
  const MemorySource source = model.source();
  const WeightsHash hash = load(source).content_hash();
  EXPECT_EQ(hash.basis, WeightsHash::Basis::kAllBytes);
  EXPECT_EQ(load(source, true, 3).content_hash(), hash);
  EXPECT_EQ(load(model.source()).content_hash(), hash);
  for (const char* name : {"output_norm.weight", "blk.1.ffn_down.weight"}) {
    TinyModel lacking = model;
    lacking.without = {name};
    MemorySource changed = lacking.source();
    const SourceTensor& tensor = *source.find_tensor(name);
    std::string bytes(reinterpret_cast<const char*>(tensor.tensor.data.data()), tensor.tensor.data.size());
    changed.add_tensor(name, tensor.dims, tensor.tensor.type, bytes);
    const WeightsHash moved = load(changed).content_hash();
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    MemorySource other = lacking.source();
    other.add_tensor(name, tensor.dims, tensor.tensor.type, bytes);
    EXPECT_NE(load(other).content_hash(), moved) << name;
  }
}

/// A source whose bytes can be read up to a limit, as those of a file that is cut short meanwhile.
class CutSource final : public MemorySource {
 public:
  CutSource(const MemorySource& whole, std::uint64_t limit) : whole_(whole), limit_(limit) {}
  const SourceFiles& files() const override { return whole_.files(); }
  const SourceDirectory& directory() const override { return whole_.directory(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset + out.size() > limit_) return fail("{}: cut at {}", name(), limit_);
    return whole_.read(offset, out);
  }

 private:
  const MemorySource& whole_;
  std::uint64_t limit_;
};

TEST(Weights, ASourceThatEndsTooEarlyIsAnError) {
  const TinyModel model;
  const MemorySource whole = model.source();
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{30000}, whole.files().bytes - 1})
    for (const bool repack : {true, false}) {
      const CutSource source(whole, limit);
      const Result<Weights> weights = try_load(source, ModelConfig::load(whole).value(), repack, 2);
      if (!repack && limit + 1 == whole.files().bytes) continue;  // only the first bytes of a matrix are read then
      ASSERT_FALSE(weights) << limit;
      EXPECT_EQ(weights.error().message, "memory: cut at " + std::to_string(limit));
    }
}

}  // namespace
}  // namespace octavo::test

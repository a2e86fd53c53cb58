// Weights of mixtures: each expert a matrix of its own in both forms, biases in the file's order, wrong shapes refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/to_size.h"
#include "cpu/weights_fixture.h"
#include "model/visit_matrices.h"
#include "model/weight_need.h"

namespace octavo::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A mixture whose experts' widths do not fill their last panels, and its tensors' names.
TinyModel mixture_of(DType type, const std::string& arch = "qwen3moe") {
  return {.arch = arch, .layers = 1, .ffn = 96, .attention_every = 1, .tied = false, .type = type};
}

constexpr const char* kMixtures[] = {"qwen3moe", "gpt-oss", "qwen35moe"};  // plain; with biases; with a shared expert

void expect_matrices_of_their_own(const TinyModel& model, bool repack) {
  const MemorySource source = model.source();
  const Weights weights = load(source, repack, 2);
  const auto& w = std::get<ExpertsFfnWeights>(weights.layers[0].feed_forward);
  EXPECT_EQ(w.router.rows, 8);
  EXPECT_EQ(w.num_chosen, 3);
  const std::map<std::string, const ExpertMatrices*> places = {{"blk.0.ffn_gate_exps.weight", &w.gate},
                                                               {"blk.0.ffn_up_exps.weight", &w.up},
                                                               {"blk.0.ffn_down_exps.weight", &w.down}};
  for (const auto& [name, matrices] : places) {
    const SourceTensor& tensor = *source.find_tensor(name);
    Tensor one = tensor.tensor;
    one.rows /= 8;
    for (int expert = 0; expert < 8; ++expert) {
      one.data = tensor.tensor.data.subspan(to_size(expert) * to_size(one.rows) * one.row_bytes(),
                                            to_size(one.rows) * one.row_bytes());
      const WeightMatrix matrix = matrices->of(expert);
      EXPECT_EQ(matrix.rows, one.rows);
      EXPECT_EQ(matrix.cols, one.cols);
      if (repack) {
        expect_packed(one, matrix);
      } else {
        EXPECT_EQ(matrix.file, one.data.data());
      }
    }
  }
  const WeightNeed need = weight_need(source, ModelConfig::load(source).value()).value();
  EXPECT_EQ(weights.total_bytes(), need.vector_bytes + (repack ? need.packed_bytes : need.mapped_bytes));
  EXPECT_EQ(read_by_a_token(source, repack),
            weights.total_bytes() - 5 * bytes_of_one(w) - weights.embedding.bytes() / 80 * 79);
}

/// Gate is the first half of each expert's rows, up the second.
TEST(WeightsOfExperts, GateAndUpInOneTensorAreTwoMatricesOfEachExpert) {
  for (const char* arch : {"qwen3moe", "gemma4"})
    for (const bool repack : {true, false}) {
      SCOPED_TRACE(std::string(arch) + (repack ? " packed" : " in the file"));
      TinyModel model = mixture_of(DType::kF32, arch);
      model.ffn = 41;  // its half does not fill the last panel
      model.experts = 8;
      model.fused_gate_up = true;
      const MemorySource source = model.source();
      const Weights weights = load(source, repack, 2);
      const auto& w = std::get<ExpertsFfnWeights>(weights.layers[0].feed_forward);
      const Tensor& both = source.find_tensor("blk.0.ffn_gate_up_exps.weight")->tensor;
      for (int i = 0; i < 16; ++i) {
        Tensor half = both;
        half.rows = 41;
        half.data = both.data.subspan(to_size(i) * 41 * both.row_bytes(), 41 * both.row_bytes());
        const WeightMatrix matrix = (i % 2 == 0 ? w.gate : w.up).of(i / 2);
        EXPECT_EQ(matrix.rows, 41);
        if (repack) {
          expect_packed(half, matrix);
        } else {
          EXPECT_EQ(matrix.file, half.data.data());
        }
      }
      const WeightNeed need = weight_need(source, ModelConfig::load(source).value()).value();
      EXPECT_EQ(weights.total_bytes(), need.vector_bytes + (repack ? need.packed_bytes : need.mapped_bytes));
    }
}

TEST(WeightsOfExperts, GateAndUpInOneTensorOfAWrongShapeOrWithBiasesAreRefused) {
  TinyModel model = mixture_of(DType::kF32);
  model.fused_gate_up = true;
  model.transposed = {"blk.0.ffn_gate_up_exps.weight"};
  const auto error_of_loading = [&] {
    const MemorySource source = model.source();
    ThreadPool pool(1);
    return load_weights(source, ModelConfig::load(source).value(), pool).error().message;
  };
  EXPECT_THAT(error_of_loading(), HasSubstr("tensor blk.0.ffn_gate_up_exps.weight has the dimensions 8, 192, 64, "
                                            "expected 64, 192, 8: 8 experts"));
  model.arch = "gpt-oss";
  model.transposed = {};
  EXPECT_THAT(error_of_loading(), HasSubstr("blk.0.ffn_gate_up_exps.weight holds gate and up in one, which is not "
                                            "supported with biases or in F32"));
}

TEST(WeightsOfExperts, EachIsPackedOrViewedAsAMatrixOfItsOwn) {
  for (const char* arch : kMixtures)
    for (const DType type : {DType::kF32, DType::kQ8_0})
      for (const std::uint32_t ffn : {96U, 32U})
        for (const bool repack : {true, false}) {
          SCOPED_TRACE(std::string(arch) + (repack ? " packed" : " in the file"));
          TinyModel model = mixture_of(type, arch);
          model.ffn = type == DType::kF32 ? ffn + 5 : ffn;
          expect_matrices_of_their_own(model, repack);
        }
}

/// The floats of a tensor of F32, and as many of those that it was loaded to.
void expect_floats(const MemorySource& source, const std::string& name, const float* found) {
  const SourceTensor* tensor = source.find_tensor(name);
  ASSERT_NE(tensor, nullptr) << name;
  ASSERT_NE(found, nullptr) << name;
  EXPECT_EQ(std::memcmp(found, tensor->tensor.data.data(), tensor->tensor.data.size()), 0) << name;
}

TEST(WeightsOfExperts, BiasesStandInTheOrderOfTheFile) {
  const MemorySource source = mixture_of(DType::kQ8_0, "gpt-oss").source();
  const Weights weights = load(source);
  const auto& w = std::get<ExpertsFfnWeights>(weights.layers[0].feed_forward);
  expect_floats(source, "blk.0.ffn_gate_inp.bias", w.router_bias);
  expect_floats(source, "blk.0.ffn_gate_exps.bias", w.gate.bias);
  expect_floats(source, "blk.0.ffn_up_exps.bias", w.up.bias);
  expect_floats(source, "blk.0.ffn_down_exps.bias", w.down.bias);
  EXPECT_EQ(w.gate.bias_of(3), w.gate.bias + 3 * 96);
  EXPECT_EQ(w.down.bias_of(3), w.down.bias + 3 * 64);
  EXPECT_EQ(bytes_of_one(w), 2 * packed_bytes(DType::kQ8_0, 96, 64) + packed_bytes(DType::kQ8_0, 64, 96) +
                                 (2 * 96 + 64) * sizeof(float));
  const auto& attention = std::get<AttentionWeights>(weights.layers[0].mixer);
  expect_floats(source, "blk.0.attn_sinks.weight", attention.sinks);
  expect_floats(source, "blk.0.attn_output.bias", attention.o_bias);
  expect_floats(source, "blk.0.post_attention_norm.weight", weights.layers[0].ffn_norm);

  const Weights without = load(mixture_of(DType::kQ8_0).source());
  const auto& none = std::get<ExpertsFfnWeights>(without.layers[0].feed_forward);
  EXPECT_EQ(none.router_bias, nullptr);
  EXPECT_EQ(none.gate.bias_of(3), nullptr);
}

TEST(WeightsOfExperts, BiasesAndSinksOfAnotherLengthAreNamedWithBoth) {
  const TinyModel whole = mixture_of(DType::kF32, "gpt-oss");
  const MemorySource source = whole.source();
  for (const std::string name : {"blk.0.attn_sinks.weight", "blk.0.attn_output.bias", "blk.0.ffn_gate_inp.bias",
                                 "blk.0.ffn_gate_exps.bias", "blk.0.ffn_down_exps.bias"}) {
    const std::vector<std::uint64_t> dims = source.find_tensor(name)->dims;
    const std::uint64_t rows = dims.size() == 2 ? dims[1] : 1;
    for (const std::uint64_t wrong : {dims[0] - 1, dims[0] + 1, std::uint64_t{1}}) {
      TinyModel lacking = whole;
      lacking.without = {name};
      MemorySource changed = lacking.source();
      std::vector<std::uint64_t> other = dims;
      other[0] = wrong;
      changed.add_tensor(name, other, DType::kF32, std::string(wrong * rows * 4, '\0'));
      EXPECT_THAT(error_of(whole, changed), HasSubstr(fmt::format("tensor {} has {} rows of {}, expected {} rows of {}",
                                                                  name, rows, wrong, rows, dims[0])));
    }
  }
}

TEST(WeightsOfExperts, ExpertsOfAnotherShapeAreNamedWithBoth) {
  const TinyModel whole = mixture_of(DType::kF32);
  const MemorySource source = whole.source();
  for (const std::string name :
       {"blk.0.ffn_gate_exps.weight", "blk.0.ffn_up_exps.weight", "blk.0.ffn_down_exps.weight"}) {
    const std::vector<std::uint64_t> dims = source.find_tensor(name)->dims;
    ASSERT_EQ(dims.size(), 3U);
    const std::vector<std::vector<std::uint64_t>> wrong = {{dims[0], dims[1], dims[2] + 1},
                                                           {dims[0], dims[2], dims[1]},
                                                           {dims[0], dims[1] * dims[2]},
                                                           {dims[1], dims[0], dims[2]}};
    for (const std::vector<std::uint64_t>& other : wrong) {
      TinyModel lacking = whole;
      lacking.without = {name};
      MemorySource changed = lacking.source();
      std::uint64_t size = 4;
      for (const std::uint64_t dim : other) size *= dim;
      changed.add_tensor(name, other, DType::kF32, std::string(size, '\0'));
      EXPECT_THAT(error_of(whole, changed),
                  AllOf(HasSubstr("tensor " + name + " has the dimensions " + std::to_string(other[0]) + ", "),
                        HasSubstr(fmt::format("expected {}, {}, {}", dims[0], dims[1], dims[2]))));
    }
  }
}

TEST(WeightsOfExperts, EveryMissingTensorIsNamed) {
  for (const std::string arch : kMixtures) {
    const TinyModel whole = mixture_of(DType::kF32, arch);
    expect_missing_tensors_named(whole);
  }
}

TEST(WeightsOfExperts, TheSharedExpertIsADenseFeedForwardWithAGateOfOneRow) {
  for (const bool repack : {true, false}) {
    const MemorySource source = mixture_of(DType::kQ8_0, "qwen35moe").source();
    const Weights weights = load(source, repack);
    const auto& w = std::get<ExpertsFfnWeights>(weights.layers[0].feed_forward);
    EXPECT_TRUE(w.has_shared());
    EXPECT_EQ(w.shared_gate.rows, 1);
    const std::map<std::string, const WeightMatrix*> places = {{"blk.0.ffn_gate_inp_shexp.weight", &w.shared_gate},
                                                               {"blk.0.ffn_gate_shexp.weight", &w.shared.gate},
                                                               {"blk.0.ffn_up_shexp.weight", &w.shared.up},
                                                               {"blk.0.ffn_down_shexp.weight", &w.shared.down}};
    for (const auto& [name, matrix] : places) {
      const Tensor& tensor = source.find_tensor(name)->tensor;
      EXPECT_EQ(matrix->rows, tensor.rows) << name;
      if (repack) {
        expect_packed(tensor, *matrix);
      } else {
        EXPECT_EQ(matrix->file, tensor.data.data()) << name;
      }
    }
  }
}

TEST(WeightsOfExperts, TheMatricesThatARowMeetsAreVisited) {
  const Weights weights = load(mixture_of(DType::kF32).source());
  int matrices = 0;
  visit_matrices(weights.layers[0], [&](const WeightMatrix&, bool) { ++matrices; });
  EXPECT_EQ(matrices, 4 + 1 + 3 * 3);
  const Weights shared = load(mixture_of(DType::kF32, "qwen35moe").source());
  matrices = 0;
  visit_matrices(shared.layers[0], [&](const WeightMatrix&, bool) { ++matrices; });
  EXPECT_EQ(matrices, 4 + 1 + 3 * 3 + 4) << "the shared expert, and its gate";
}

TEST(WeightsOfExperts, TheFactorsOfNvfp4AreOneEach) {
  TinyModel whole = mixture_of(DType::kF32);
  const std::string name = "blk.0.ffn_gate_exps";
  const std::vector<std::uint64_t> dims = whole.source().find_tensor(name + ".weight")->dims;
  whole.without = {name + ".weight"};
  const auto source_of = [&](std::uint64_t count) {
    MemorySource source = whole.source();
    source.add_tensor(name + ".weight", dims, DType::kNVFP4, std::string(dims[0] * dims[1] * dims[2] / 64 * 36, '\1'));
    std::vector<float> factors(count);
    std::iota(factors.begin(), factors.end(), 2.0F);
    for (const char* suffix : {".scale", ".input_scale"})
      source.add_tensor(name + suffix, {count}, DType::kF32, bytes_of(factors));
    return source;
  };
  const MemorySource source = source_of(dims[2]);
  const Weights weights = load(source);
  const ExpertMatrices& gate = std::get<ExpertsFfnWeights>(weights.layers[0].feed_forward).gate;
  for (int expert = 0; expert < gate.count; ++expert)
    EXPECT_EQ(gate.of(expert).packed(1, nullptr).scale, 2.0F + static_cast<float>(expert));
  EXPECT_THAT(error_of(whole, source_of(1)), HasSubstr("blk.0.ffn_gate_exps.scale"));
}

}  // namespace
}  // namespace octavo::test

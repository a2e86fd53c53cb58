// What lists of models are told of a file.
#include "engine/load/model_file.h"

#include <gtest/gtest.h>

#include <string>

#include "support/memory_source.h"

namespace octavo::test {
namespace {

void add_zeros(MemorySource& source, const std::string& name, std::uint64_t cols, std::uint64_t rows) {
  source.add_tensor(name, {cols, rows}, DType::kF32, std::string(cols * rows * sizeof(float), '\0'));
}

TEST(ModelFile, HasTheNameOfItsMixOrTheTypeOfMostBytes) {
  MemorySource source;
  add_zeros(source, "token_embd.weight", 64, 10);
  EXPECT_EQ(model_file(source, {}, "").weight_type, "F32");
  source.add("general.file_type", 15U);
  EXPECT_EQ(model_file(source, {}, "").weight_type, "Q4_K_M");
  EXPECT_EQ(model_file(source, {}, "q8_0").weight_type, "Q8_0") << "it becomes that as it is loaded";
  source.add("general.file_type", 1000U);
  EXPECT_EQ(model_file(source, {}, "").weight_type, "F32") << "nobody knows that number";
}

TEST(ModelFile, CountsWhatItsTensorsHold) {
  MemorySource source;
  add_zeros(source, "token_embd.weight", 64, 10);
  add_zeros(source, "output_norm.weight", 64, 1);
  source.add("tokenizer.ggml.model", "gpt2");
  ModelConfig config;
  config.context_length = 512;
  config.width = 64;
  const ModelFile file = model_file(source, config, "");
  EXPECT_EQ(file.num_weights, 704U);
  EXPECT_EQ(file.weight_bytes, 704U * sizeof(float));
  EXPECT_EQ(file.vocabulary, "gpt2");
  EXPECT_EQ(file.context_length, 512);
  EXPECT_EQ(file.width, 64);
}

}  // namespace
}  // namespace octavo::test

#include "tensor/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/source_dir.h"

namespace octavo {
namespace {

std::string read_golden(const std::string& name) {
  std::ifstream in(test::source_dir() + "/tests/data/dequantize/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class DequantizeType : public testing::TestWithParam<DType> {};

// tools/make_dequantize_golden.py made the blocks, and the weights with the Python package gguf. Equal bit for bit:
// both do the same operations in the same order, and the compiler may not contract them.
TEST_P(DequantizeType, EqualsThePythonPackageBitForBit) {
  const DTypeInfo& info = dtype_info(GetParam());
  const std::string blocks = read_golden(std::string(info.name) + ".blocks");
  const std::string expected = read_golden(std::string(info.name) + ".f32");
  ASSERT_FALSE(expected.empty()) << "no golden data";
  std::vector<float> weights(expected.size() / sizeof(float));
  ASSERT_EQ(dtype_bytes(GetParam(), weights.size()), blocks.size());

  // One byte off, because nothing promises that a block is aligned.
  const std::string shifted = "x" + blocks;
  dequantize(GetParam(), reinterpret_cast<const std::byte*>(shifted.data() + 1), weights);

  for (std::size_t i = 0; i < weights.size(); ++i) {
    float truth;
    std::memcpy(&truth, expected.data() + i * sizeof(float), sizeof(float));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(weights[i]), std::bit_cast<std::uint32_t>(truth))
        << "weight " << i << ": " << weights[i] << ", expected " << truth;
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, DequantizeType, testing::ValuesIn(kAllDTypes),
                         [](const auto& test) { return std::string(dtype_info(test.param).name); });

TEST(Dequantize, DecodesNothingIntoNothing) {
  for (const DType type : kAllDTypes) dequantize(type, nullptr, {});
}

TEST(DequantizeDeathTest, RefusesAPartOfABlock) {
  std::vector<std::byte> block(18);
  std::vector<float> weights(31);
  EXPECT_DEATH(dequantize(DType::kQ4_0, block.data(), weights), "31 weights of type Q4_0");
}

}  // namespace
}  // namespace octavo

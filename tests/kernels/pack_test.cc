// Packing: the size of panels, the bytes that are read and written, and that any range of panels gives the same bytes.
// The kernels' tests (matmul_test.cc) find every weight again in its panel.
#include "kernels/pack.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/output_order.h"
#include "kernels/pack_block.h"
#include "tensor/dequantize.h"
#include "tensor/quant_blocks.h"
#include "tensor/tensor.h"

namespace octavo {
namespace {

struct Shape {
  std::int64_t rows, cols;
};

// Matrices of SmolLM2-135M, Gemma-3-270M, Qwen3-0.6B, Llama-3.2-1B, Qwen3-1.7B and Qwen3-8B.
constexpr Shape kShapes[] = {
    {49152, 576}, {576, 576},     {192, 576},   {1536, 576},  {576, 1536},    {262144, 640}, {1024, 640},
    {256, 640},   {640, 1024},    {2048, 640},  {640, 2048},  {151936, 1024}, {2048, 1024},  {3072, 1024},
    {1024, 3072}, {128256, 2048}, {2048, 2048}, {512, 2048},  {8192, 2048},   {2048, 8192},  {6144, 2048},
    {2048, 6144}, {151936, 4096}, {4096, 4096}, {1024, 4096}, {12288, 4096},  {4096, 12288},
};

std::uint64_t file_bytes(DType type, Shape shape) {
  return *dtype_bytes(type, static_cast<std::uint64_t>(shape.rows * shape.cols));
}

std::string name_of(DType type, Shape shape) {
  return std::string(dtype_info(type).name) + ", " + std::to_string(shape.rows) + " x " + std::to_string(shape.cols);
}

TEST(Pack, PackedBytesAreAtMostTwoPercentOverTheFile) {
  int tested = 0;
  for (const DType type : kAllDTypes)
    for (const Shape shape : kShapes) {
      if (shape.cols % dtype_info(type).block_elements != 0) continue;
      const auto packed = static_cast<double>(packed_bytes(type, shape.rows, shape.cols));
      // The one exception: five blocks of 1-bit weights are 22.5 cache lines, the last of which is filled up.
      const double most = type == DType::kQ1_0 && shape.cols == 640 ? 1.023 : 1.02;
      EXPECT_LE(packed, most * static_cast<double>(file_bytes(type, shape))) << name_of(type, shape);
      ++tested;
    }
  EXPECT_GT(tested, 300);
}

TEST(Pack, PaddingIsRowsToAPanelAndBytesToACacheLine) {
  std::mt19937 random(1);
  for (const DType type : kAllDTypes)
    for (int i = 0; i < 200; ++i) {
      const Shape shape{1 + static_cast<std::int64_t>(random() % 100),
                        dtype_info(type).block_elements * (1 + static_cast<std::int64_t>(random() % 20))};
      const std::int64_t panels = (shape.rows + 15) / 16;
      const std::uint64_t whole_rows = file_bytes(type, {16 * panels, shape.cols});
      const std::uint64_t packed = packed_bytes(type, shape.rows, shape.cols);
      EXPECT_GE(packed, whole_rows) << name_of(type, shape);
      const int added = has_integer_scales(type) ? 64 : 63;  // a float for each row
      EXPECT_LE(packed, whole_rows + static_cast<std::uint64_t>(added * panels)) << name_of(type, shape);
      EXPECT_EQ(packed / static_cast<std::uint64_t>(panels) % 64, 0U) << name_of(type, shape);
    }
}

/// Random bytes that end where a page ends; the page behind it cannot be read.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t used = (size + page - 1) / page * page;
    mapped_ = used + page;
    void* memory = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(memory);
    if (::mprotect(base_ + used, page, PROT_NONE) != 0) throw std::bad_alloc();
    bytes_ = {base_ + used - size, size};
    std::mt19937 random(7);
    for (std::byte& b : bytes_) b = static_cast<std::byte>(random());
  }
  ~GuardedBytes() { ::munmap(base_, mapped_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t mapped_ = 0;
  std::span<std::byte> bytes_;
};

std::vector<std::uint8_t> packed(const Tensor& source, std::int64_t begin, std::int64_t end, std::uint8_t before,
                                 PanelOrder order = PanelOrder::kQuads) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(end - begin) * panel_bytes(source.type, source.cols), before);
  pack_panels(source, begin, end, out.data(), order);
  return out;
}

class PackType : public ::testing::TestWithParam<DType> {
 protected:
  /// The orders that panels of the type can have.
  static std::vector<PanelOrder> orders() {
    if (!has_output_order(GetParam())) return {PanelOrder::kQuads};
    return {PanelOrder::kQuads, PanelOrder::kOutputs};
  }
  // Three panels, the last one partly padding; an odd number of blocks, and of floats.
  static constexpr std::int64_t kRows = 41;
  static std::int64_t cols() { return dtype_info(GetParam()).block_elements * 7; }
};
INSTANTIATE_TEST_SUITE_P(Types, PackType, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& param) { return std::string(dtype_info(param.param).name); });

TEST_P(PackType, NothingBehindTheSourceIsReadAndEveryByteOfAPanelIsWritten) {
  const GuardedBytes bytes(file_bytes(GetParam(), {kRows, cols()}));
  const Tensor source{.type = GetParam(), .rows = kRows, .cols = cols(), .data = bytes.bytes()};
  for (const PanelOrder order : orders())
    EXPECT_EQ(packed(source, 0, 3, 0x55, order), packed(source, 0, 3, 0xAA, order));
}

TEST_P(PackType, AnyRunOfPanelsGivesTheSameBytes) {
  const GuardedBytes bytes(file_bytes(GetParam(), {kRows, cols()}));
  const Tensor source{.type = GetParam(), .rows = kRows, .cols = cols(), .data = bytes.bytes()};
  for (const PanelOrder order : orders()) {
    std::vector<std::uint8_t> pieces;
    for (const auto& [begin, end] : {std::pair{0, 1}, {1, 1}, {1, 3}}) {
      const std::vector<std::uint8_t> piece = packed(source, begin, end, 0, order);
      pieces.insert(pieces.end(), piece.begin(), piece.end());
    }
    EXPECT_EQ(packed(source, 0, 3, 0, order), pieces);
  }
}

TEST_P(PackType, RowsOfPaddingAreThoseOfZeros) {
  const GuardedBytes bytes(file_bytes(GetParam(), {kRows, cols()}));
  const Tensor source{.type = GetParam(), .rows = kRows, .cols = cols(), .data = bytes.bytes()};
  std::vector<std::byte> padded(file_bytes(GetParam(), {48, cols()}));
  std::ranges::copy(bytes.bytes(), padded.begin());
  const Tensor whole{.type = GetParam(), .rows = 48, .cols = cols(), .data = padded};
  for (const PanelOrder order : orders())
    EXPECT_EQ(packed(source, 0, 3, 0x55, order), packed(whole, 0, 3, 0x55, order));
}

// Both orders hold the same bytes of the file, but for Q4_1's scales.
TEST(Pack, FieldsOfTheOrderOfOutputsAreTheFilesWeights) {
  std::mt19937 random(3);
  for (const DType type : kAllDTypes) {
    if (!has_output_order(type)) continue;
    const PackedBlock block = packed_block(type);
    std::vector<std::byte> bytes(file_bytes(type, {kPanelRows, block.block}));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    const Tensor source{.type = type, .rows = kPanelRows, .cols = block.block, .data = bytes};
    const std::vector<std::uint8_t> outputs = packed(source, 0, 1, 0, PanelOrder::kOutputs);
    const std::vector<std::uint8_t> quads = packed(source, 0, 1, 0, PanelOrder::kQuads);
    const BlockPlace place = place_of_block(type, 1, 0);
    std::vector<int> in_outputs, in_quads;  // the low nibbles of all weights, in order
    const OutputPlanes planes = output_planes(type);
    for (int part = 0; part < block.block / 32; ++part)
      for (int output = 0; output < kPanelRows; ++output)
        for (int column = 0; column < 32; ++column) {
          const int number = number_of(type, outputs.data() + place.quads, part, output, column);
          EXPECT_LT(number, 1 << (planes.low + planes.high));
          in_outputs.push_back(number & 15);
          // Quads j and j + 4 of 32 weights share the nibbles of four bytes.
          const std::uint8_t* at = quads.data() + place.quads + part * plane_bytes(planes.low);
          const int quad = column / 4;
          const std::uint8_t byte =
              planes.low == 8 ? at[quad * 64 + output * 4 + column % 4] : at[quad % 4 * 64 + output * 4 + column % 4];
          in_quads.push_back((planes.low == 4 && quad >= 4 ? byte >> 4 : byte) & 15);
        }
    EXPECT_EQ(in_outputs, in_quads) << dtype_info(type).name;
    if (type != DType::kQ4_1) {
      EXPECT_TRUE(std::equal(outputs.begin(), outputs.begin() + block.scale_bytes, quads.begin()));
    }
  }
}

TEST(Pack, ScalesOfQ4_1AreIntegersInUnitsOfTheirRow) {
  // Row r: blocks of (d, m) = (1 + r, -8 (1 + r)) and a quarter of it, the first of which is the largest.
  constexpr int kNumRows = 5;
  std::vector<BlockQ4_1> blocks(2 * kNumRows);
  for (int row = 0; row < kNumRows; ++row)
    for (int i = 0; i < 2; ++i) {
      const float d = static_cast<float>(1 + row) / static_cast<float>(1 + 3 * i);
      blocks[static_cast<std::size_t>(2 * row + i)] = {.d = f32_to_f16(d), .m = f32_to_f16(-8 * d), .qs = {}};
    }
  blocks[2 * 3].m = f32_to_f16(std::numeric_limits<float>::infinity());
  blocks[2 * 4] = blocks[2 * 4 + 1] = {};
  const std::vector<std::uint8_t> panel =
      packed({.type = DType::kQ4_1, .rows = kNumRows, .cols = 64, .data = std::as_bytes(std::span(blocks))}, 0, 1, 0);
  for (int row = 0; row < kPanelRows; ++row) {
    float unit;
    std::memcpy(&unit, panel.data() + place_of_units(DType::kQ4_1, 64) + 4 * row, 4);
    if (row == 3) {
      EXPECT_TRUE(std::isnan(unit)) << "of a row that is not finite";
    } else {
      EXPECT_FLOAT_EQ(unit, row < 3 ? static_cast<float>(1 + row) / 32760 : 0.0F) << row;
    }
    for (int i = 0; row < 3 && i < 2; ++i) {
      std::int16_t pair[2];
      std::memcpy(pair, panel.data() + place_of_block(DType::kQ4_1, 2, i).scales + 4 * row, 4);
      EXPECT_EQ(pair[0], i == 0 ? 32760 : 8190) << row;
      EXPECT_EQ(pair[1], 0) << row;  // d (q - 8) has no more to it
    }
  }
}

TEST(Pack, TurnedBitsOfAWordLieByQuad) {
  for (int weight = 0; weight < 32; ++weight) {
    Words word{};
    for (int row = 0; row < kPanelRows; ++row) word[row] = row == 5 ? 1U << weight : 0;
    transpose_bits(word);
    for (int row = 0; row < kPanelRows; ++row)
      EXPECT_EQ(word[row], row == 5 ? 1U << (8 * (weight % 4) + weight / 4) : 0U) << "weight " << weight;
  }
}

}  // namespace
}  // namespace octavo

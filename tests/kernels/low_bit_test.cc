// The kernels of 1-bit, 2-bit and ternary weights against integers: with scales of one every product is a whole number,
// and so are the sums, exactly.
#include <algorithm>
#include <cstring>

#include "base/aligned_buffer.h"
#include "kernels/kernel_test.h"
#include "tensor/dequantize.h"
#include "tensor/dtype.h"

namespace octavo {
namespace {

constexpr DType kLowBitTypes[] = {DType::kQ1_0, DType::kQ2_0, DType::kTQ1_0, DType::kTQ2_0};
constexpr std::int64_t kRows = 15;  // tiles of 8, 4 and 3, or of 4, 4, 4 and 3

/// Weights whose scales are one; their other bytes come from next_byte().
struct LowBitMatrix {
  template <class NextByte>
  LowBitMatrix(DType type, std::int64_t outputs, std::int64_t cols, NextByte next_byte)
      : bytes(*dtype_bytes(type, static_cast<std::uint64_t>(outputs * cols))),
        weights(static_cast<std::size_t>(outputs * cols)),
        storage(packed_bytes(type, outputs, cols)) {
    for (std::byte& b : bytes) b = static_cast<std::byte>(next_byte());
    const auto block_bytes = static_cast<std::size_t>(dtype_info(type).block_bytes);
    const std::size_t scale = type == DType::kQ1_0 || type == DType::kQ2_0 ? 0 : block_bytes - 2;
    const std::uint16_t one = f32_to_f16(1.0F);
    for (std::size_t b = 0; b < bytes.size(); b += block_bytes) std::memcpy(bytes.data() + b + scale, &one, 2);
    dequantize(type, bytes.data(), weights);
    pack_panels({type, outputs, cols, bytes}, 0, num_panels(outputs), storage.data());
    packed = {type, outputs, cols, storage.data()};
  }

  std::vector<std::byte> bytes;
  std::vector<float> weights;  // [outputs][cols]
  AlignedBuffer<std::uint8_t> storage;
  PackedMatrix packed;
};

/// Rows of whole numbers up to 127 that reach it in every block: their int8 form has a scale of one and is exact.
std::vector<float> whole_numbers(std::mt19937& random, std::int64_t num_rows, std::int64_t cols) {
  std::vector<float> x(static_cast<std::size_t>(num_rows * cols));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = i % kActBlock == 5 ? 127.0F : static_cast<float>(static_cast<int>(random() % 255) - 127);
  return x;
}

void expect_exact(const KernelTable& kernels, const LowBitMatrix& m, const std::vector<float>& x) {
  const std::int64_t cols = m.packed.cols, outputs = m.packed.rows;
  const auto rows = static_cast<std::int64_t>(x.size()) / cols;
  std::vector<std::uint8_t> tiles(static_cast<std::size_t>(rows) * act_row_bytes(cols));
  for (std::int64_t row = 0; row < rows; ++row)
    kernels.quantize_row(x.data() + row * cols, cols, act_place(tiles.data(), cols, row, rows, kernels.tile_rows));
  std::vector<float> y(static_cast<std::size_t>(rows * outputs));
  kernels.matmul[dtype_index(m.packed.type)](m.packed, {cols, x.data(), tiles.data()}, 0, num_panels(outputs), 0, rows,
                                             y.data(), outputs);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t out = 0; out < outputs; ++out) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < cols; ++k)
        sum += static_cast<std::int64_t>(m.weights[static_cast<std::size_t>(out * cols + k)]) *
               static_cast<std::int64_t>(x[static_cast<std::size_t>(row * cols + k)]);
      ASSERT_EQ(y[static_cast<std::size_t>(row * outputs + out)], static_cast<float>(sum))
          << dtype_info(m.packed.type).name << " row " << row << " output " << out;
    }
}

class LowBit : public KernelTest {};
OCTAVO_FOR_EACH_LEVEL(LowBit);

TEST_P(LowBit, SumsAreExactForAnyBytesAndNumberOfBlocks) {
  for (const DType type : kLowBitTypes)
    for (std::int64_t blocks = 1; blocks <= 5; ++blocks) {  // whole units of blocks, and a rest
      const std::int64_t cols = blocks * dtype_info(type).block_elements;
      const LowBitMatrix m(type, 37, cols, [&] { return random(); });
      expect_exact(kernels(), m, whole_numbers(random, kRows, cols));
    }
}

TEST_P(LowBit, EachByteMeansTheSameInEveryPlace) {
  for (const DType type : kLowBitTypes)
    for (const std::int64_t rows : {1, 2, 4, 8}) {
      const std::int64_t cols = 2 * dtype_info(type).block_elements;
      unsigned next = 0;
      const LowBitMatrix m(type, 256, cols, [&] { return next++ / 3; });
      expect_exact(kernels(), m, whole_numbers(random, rows, cols));
    }
}

TEST_P(LowBit, LongestRowsOfExtremesDoNotOverflow) {
  const std::int64_t cols = 65536;
  for (const DType type : kLowBitTypes)
    for (const unsigned byte : {0U, 255U, 170U})  // least, largest, and TQ2_0's largest that writers use
      for (const int sign : {1, -1}) {
        const LowBitMatrix m(type, 16, cols, [=] { return byte; });
        const std::vector<float> x(static_cast<std::size_t>(3 * cols), 127.0F * static_cast<float>(sign));
        expect_exact(kernels(), m, x);
      }
}

TEST_P(LowBit, BytesAreDecodedAsTheReferenceDoes) {
  for (const DType type : kLowBitTypes) {
    const std::int64_t outputs = 37, cols = 3 * dtype_info(type).block_elements;
    const LowBitMatrix m(type, outputs, cols, [&] { return random(); });
    std::vector<float> row(static_cast<std::size_t>(cols));
    for (std::int64_t out = 0; out < outputs; ++out) {
      kernels().decode_row[dtype_index(type)](m.packed, out, row.data());
      ASSERT_TRUE(std::equal(row.begin(), row.end(), m.weights.begin() + out * cols)) << dtype_info(type).name;
    }
  }
}

}  // namespace
}  // namespace octavo

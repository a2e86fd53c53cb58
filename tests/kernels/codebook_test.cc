// The kernels of types with codebooks against the reference decoding, with activations that their int8 form has
// exactly.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/to_size.h"
#include "kernels/kernel_test.h"
#include "tensor/dequantize.h"
#include "tensor/dtype.h"

namespace octavo {
namespace {

constexpr std::int64_t kOutputs = 37;  // two panels and a part of one

std::vector<DType> codebook_types() {
  std::vector<DType> types;
  std::ranges::copy_if(kAllDTypes, std::back_inserter(types), [](DType t) { return group_number_bytes(t) > 0; });
  return types;
}

/// Random blocks whose d is one.
struct CodebookMatrix {
  CodebookMatrix(DType type, std::int64_t cols, std::mt19937& random)
      : bytes(*dtype_bytes(type, static_cast<std::uint64_t>(kOutputs * cols))),
        weights(to_size(kOutputs * cols)),
        storage(packed_bytes(type, kOutputs, cols)) {
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    const std::uint16_t one = f32_to_f16(1.0F);
    for (std::size_t block = 0; block < bytes.size(); block += to_size(dtype_info(type).block_bytes)) {
      if (type != DType::kIQ1_M) {
        std::memcpy(&bytes[block], &one, 2);
        continue;
      }
      for (std::size_t i = 0; i < 4; ++i) {  // in the upper nibbles of four words
        std::byte& upper = bytes[block + 49 + 2 * i];
        upper = (upper & std::byte{15}) | static_cast<std::byte>(one >> 4 * i & 15) << 4;
      }
    }
    dequantize(type, bytes.data(), weights);
    pack_panels({type, kOutputs, cols, bytes}, 0, num_panels(kOutputs), storage.data());
    packed = {type, kOutputs, cols, storage.data()};
  }

  std::vector<std::byte> bytes;
  std::vector<float> weights;  // [outputs][cols]
  AlignedBuffer<std::uint8_t> storage;
  PackedMatrix packed;
};

class Codebook : public KernelTest {};
OCTAVO_FOR_EACH_LEVEL(Codebook);

TEST_P(Codebook, EveryWeightIsThatOfTheReferenceToTheBit) {
  for (const DType type : codebook_types()) {
    const std::int64_t cols = 9 * 256;
    const CodebookMatrix m(type, cols, random);
    std::vector<float> row(to_size(cols));
    for (std::int64_t out = 0; out < kOutputs; ++out) {
      kernels().decode_row[dtype_index(type)](m.packed, out, row.data());
      for (std::int64_t k = 0; k < cols; ++k)
        ASSERT_EQ(row[to_size(k)], m.weights[to_size(out * cols + k)])
            << dtype_info(type).name << " row " << out << " column " << k;
    }
  }
}

TEST_P(Codebook, RowsOfAnyNumberOfBlocksEqualTheReferenceProduct) {
  for (const DType type : codebook_types())
    for (const std::int64_t blocks : {1, 3, 4, 5, 9}) {  // a part of a panel has four
      const std::int64_t cols = blocks * 256, rows = 15;
      const CodebookMatrix m(type, cols, random);
      std::vector<float> x(to_size(rows * cols));
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = i % kActBlock == 5 ? 127.0F : static_cast<float>(static_cast<int>(random() % 255) - 127);
      std::vector<std::uint8_t> tiles(to_size(rows) * act_row_bytes(cols));
      for (std::int64_t row = 0; row < rows; ++row)
        kernels().quantize_row(x.data() + row * cols, cols,
                               act_place(tiles.data(), cols, row, rows, kernels().tile_rows));
      std::vector<float> y(to_size(rows * kOutputs), std::nanf(""));
      kernels().matmul[dtype_index(type)](m.packed, {cols, x.data(), tiles.data()}, 0, num_panels(kOutputs), 0, rows,
                                          y.data(), kOutputs);
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t out = 0; out < kOutputs; ++out) {
          double sum = 0, magnitude = 0;
          for (std::int64_t k = 0; k < cols; ++k) {
            const double product = double{m.weights[to_size(out * cols + k)]} * x[to_size(row * cols + k)];
            sum += product;
            magnitude += std::fabs(product);
          }
          ASSERT_NEAR(y[to_size(row * kOutputs + out)], sum, 1e-6 * magnitude)
              << dtype_info(type).name << " of " << blocks << " blocks, row " << row << " output " << out;
        }
    }
}

}  // namespace
}  // namespace octavo

#include "tensor/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/joined.h"
#include "base/to_size.h"
#include "tensor/dequantize.h"
#include "tensor/encode_blocks.h"

namespace octavo {
namespace {

constexpr DType kWritten[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ8_0, DType::kQ4_0, DType::kQ4_1,
                              DType::kQ5_0, DType::kQ5_1, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kQ2_0};

/// The largest number of weights in a block.
constexpr std::size_t kMaxBlock = 256;

float greatest_of(DType type) {
  return type == DType::kF32 || type == DType::kBF16 ? std::numeric_limits<float>::max() : kMaxHalf;
}

Result<void> check(DType type, std::span<const float> row) {
  const float greatest = greatest_of(type);
  const auto wrong = std::ranges::find_if(row, [&](float weight) { return !(std::abs(weight) <= greatest); });
  if (wrong == row.end()) return {};
  const auto place = wrong - row.begin();
  if (!std::isfinite(*wrong)) return fail("weight {} of the row is {}, expected a finite one", place, *wrong);
  return fail("weight {} of the row is {}, which {} cannot hold: its scales go up to {}", place, *wrong,
              dtype_info(type).name, greatest);
}

/// How much the error of each weight of a block counts.
class Weighing {
 public:
  Weighing(std::span<const float> row, std::span<const float> importance) : importance_(importance) {
    double sum = 0;
    for (const float weight : row) sum += static_cast<double>(weight) * static_cast<double>(weight);
    mean_square_ = static_cast<float>(sum / static_cast<double>(row.size()));
  }

  void weigh(std::span<const float> block, std::size_t begin, std::span<float> out) const {
    for (std::size_t i = 0; i < block.size(); ++i) {
      const float size = std::sqrt(mean_square_ + block[i] * block[i]);
      out[i] = importance_.empty() ? size : size * importance_[begin + i];
    }
  }

 private:
  std::span<const float> importance_;
  float mean_square_ = 0;
};

template <class Block>
void encode_blocks(std::span<const float> row, std::span<const float> importance, std::size_t block_elements,
                   std::byte* out) {
  const Weighing weighing(row, importance);
  std::array<float, kMaxBlock> weights;
  for (std::size_t begin = 0; begin < row.size(); begin += block_elements, out += sizeof(Block)) {
    const auto x = row.subspan(begin, block_elements);
    const auto w = std::span(weights).first(block_elements);
    weighing.weigh(x, begin, w);
    Block block;
    encode(x, w, block);
    std::memcpy(out, &block, sizeof(Block));
  }
}

template <class Convert>
void encode_halfs(std::span<const float> row, std::byte* out, Convert convert) {
  for (const float weight : row) {
    const std::uint16_t bits = convert(weight);
    std::memcpy(out, &bits, sizeof(bits));
    out += sizeof(bits);
  }
}

}  // namespace

std::string written_dtype_names() {
  return joined(kWritten, [](DType type) { return dtype_info(type).name; });
}

Result<void> quantize(DType type, std::span<const float> row, std::span<const float> importance,
                      std::span<std::byte> out) {
  const std::size_t n = to_size(dtype_info(type).block_elements);
  OCTAVO_CHECK(dtype_bytes(type, row.size()) == out.size(), "{} weights of type {} into {} bytes", row.size(),
               dtype_info(type).name, out.size());
  OCTAVO_CHECK(importance.empty() || importance.size() == row.size());
  if (row.empty()) return {};
  OCTAVO_TRY_VOID(check(type, row));
  switch (type) {
    case DType::kF32: std::memcpy(out.data(), row.data(), row.size_bytes()); return {};
    case DType::kF16: encode_halfs(row, out.data(), f32_to_f16); return {};
    case DType::kBF16: encode_halfs(row, out.data(), f32_to_bf16); return {};
    case DType::kQ4_0: encode_blocks<BlockQ4_0>(row, importance, n, out.data()); return {};
    case DType::kQ4_1: encode_blocks<BlockQ4_1>(row, importance, n, out.data()); return {};
    case DType::kQ5_0: encode_blocks<BlockQ5_0>(row, importance, n, out.data()); return {};
    case DType::kQ5_1: encode_blocks<BlockQ5_1>(row, importance, n, out.data()); return {};
    case DType::kQ8_0: encode_blocks<BlockQ8_0>(row, importance, n, out.data()); return {};
    case DType::kQ4_K: encode_blocks<BlockQ4_K>(row, importance, n, out.data()); return {};
    case DType::kQ5_K: encode_blocks<BlockQ5_K>(row, importance, n, out.data()); return {};
    case DType::kQ6_K: encode_blocks<BlockQ6_K>(row, importance, n, out.data()); return {};
    case DType::kQ2_0: encode_blocks<BlockQ2_0>(row, importance, n, out.data()); return {};
    default: check_failed("a type that can be written", __FILE__, __LINE__, std::string(dtype_info(type).name));
  }
}

}  // namespace octavo

// Weights of every format that the card multiplies, and the CPU's kernels for them, for tests of products.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "gpu/kernels/product_arguments.h"
#include "kernels/dispatch.h"
#include "tensor/dequantize.h"
#include "tensor/dtype.h"

namespace octavo::gpu {

struct Case {
  DType type;
  ScaleOrder order;
};

/// The places of the halfs in a block of `type`.
inline std::vector<int> half_offsets(DType type) {
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ4_K:
    case DType::kQ5_K: return {0, 2};
    case DType::kQ6_K: return {208};
    default: return {0};
  }
}

/// Memory that begins at a cache line and has no byte too many, so that a sanitizer sees what is read behind it.
class Lines {
 public:
  explicit Lines(std::size_t bytes) : storage_(new(std::align_val_t{64}) std::uint8_t[bytes]) {}
  ~Lines() { ::operator delete[](storage_, std::align_val_t{64}); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  std::uint8_t* data() { return storage_; }

 private:
  std::uint8_t* storage_;
};

/// Any bytes, but for scales that are ordinary numbers.
inline std::vector<std::byte> random_weights(DType type, std::int64_t outputs, std::int64_t cols,
                                             std::mt19937& random) {
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<std::byte> bytes(*dtype_bytes(type, static_cast<std::uint64_t>(outputs * cols)));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const auto block = static_cast<std::size_t>(dtype_info(type).block_bytes);
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    if (type == DType::kF32) {
      const float v = number(random);
      std::memcpy(&bytes[at], &v, 4);
    } else if (type == DType::kBF16) {
      const std::uint16_t bits = f32_to_bf16(number(random));
      std::memcpy(&bytes[at], &bits, 2);
    } else {
      for (const int offset : half_offsets(type)) {
        const std::uint16_t bits = f32_to_f16((type == DType::kF16 ? 1.0F : 0.01F) * number(random));
        std::memcpy(&bytes[at + static_cast<std::size_t>(offset)], &bits, 2);
      }
    }
  }
  return bytes;
}

/// The table with the order of `of`'s sums; null where this processor has none.
inline const KernelTable* table_of(Case of) {
  if (of.order == ScaleOrder::kFloatScales)
    return &kernel_table(isa_supported(IsaLevel::kAvx2) ? IsaLevel::kAvx2 : IsaLevel::kScalar, Bits::kPortable);
  return isa_supported(IsaLevel::kAvx2) ? &kernel_table(IsaLevel::kAvx2) : nullptr;
}

inline constexpr Case kCases[] = {{DType::kQ4_0, ScaleOrder::kFloatScales}, {DType::kQ4_1, ScaleOrder::kFloatScales},
                                  {DType::kQ5_0, ScaleOrder::kFloatScales}, {DType::kQ8_0, ScaleOrder::kFloatScales},
                                  {DType::kQ1_0, ScaleOrder::kFloatScales}, {DType::kQ4_K, ScaleOrder::kFloatScales},
                                  {DType::kQ5_K, ScaleOrder::kFloatScales}, {DType::kQ6_K, ScaleOrder::kFloatScales},
                                  {DType::kQ4_K, ScaleOrder::kWordScales},  {DType::kQ5_K, ScaleOrder::kWordScales},
                                  {DType::kQ6_K, ScaleOrder::kWordScales},  {DType::kF16, ScaleOrder::kFloatScales},
                                  {DType::kBF16, ScaleOrder::kFloatScales}, {DType::kF32, ScaleOrder::kFloatScales}};

inline std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return std::string(dtype_info(info.param.type).name) +
         (info.param.order == ScaleOrder::kWordScales ? "_word_scales" : "");
}

}  // namespace octavo::gpu

#include "tensor/dtype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace octavo {
namespace {

TEST(DType, EveryTypeIsFoundByItsIdAndPlace) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType type = kAllDTypes[i];
    EXPECT_EQ(dtype_index(type), i);
    EXPECT_EQ(dtype_info(type).type, type);
    EXPECT_EQ(dtype_from_id(static_cast<std::uint32_t>(type)), type);
    EXPECT_EQ(dtype_name_of_id(static_cast<std::uint32_t>(type)), dtype_info(type).name);
    EXPECT_THAT(supported_dtype_names(), testing::HasSubstr(std::string(dtype_info(type).name)));
  }
}

TEST(DType, UnsupportedIdsHaveANameButNoType) {
  EXPECT_EQ(dtype_from_id(36), std::nullopt);
  EXPECT_EQ(dtype_name_of_id(36), "I2_S");
  EXPECT_EQ(dtype_reason_of_id(36), "");
  EXPECT_EQ(dtype_from_id(999), std::nullopt);
  EXPECT_EQ(dtype_name_of_id(999), "unknown");
}

TEST(DType, TypesOfModelsThatRotateActivationsHaveThatAsTheReason) {
  for (const auto& [id, name] : {std::pair(142U, "PQ2_0"), std::pair(143U, "PTQ1_0")}) {
    EXPECT_EQ(dtype_name_of_id(id), name);
    EXPECT_THAT(dtype_reason_of_id(id), testing::HasSubstr("prism.hadamard"));
  }
}

TEST(DType, BytesAreWholeBlocksAndFitIn64Bits) {
  EXPECT_EQ(dtype_bytes(DType::kQ4_K, 512), 288U);
  EXPECT_EQ(dtype_bytes(DType::kQ4_K, 511), std::nullopt);
  EXPECT_EQ(dtype_bytes(DType::kF32, std::numeric_limits<std::uint64_t>::max() / 2), std::nullopt);
}

TEST(TensorView, RowsFollowEachOther) {
  std::vector<std::byte> data(3 * 2 * 18);
  const Tensor tensor{.type = DType::kQ4_0, .rows = 3, .cols = 64, .data = data};
  EXPECT_EQ(tensor.row_bytes(), 36U);
  EXPECT_EQ(tensor.row(2), data.data() + 72);
}

}  // namespace
}  // namespace octavo

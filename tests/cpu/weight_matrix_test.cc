// Matrices that stay in the file: their panels are packed a range at a time and are those of the packed matrix.
#include "cpu/weight_matrix.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/dispatch.h"

namespace octavo {
namespace {

constexpr std::int64_t kRows = 1000, kCols = 2048;  // 63 panels of Q8_0, 34 KiB each: several ranges

struct Both {
  std::vector<std::byte> file;
  AlignedBuffer<std::uint8_t> panels;
  WeightMatrix packed, mapped;
};

Both make(DType type) {
  Both both;
  both.file.resize(*dtype_bytes(type, kRows * kCols));
  std::mt19937 random(5);
  for (std::byte& b : both.file) b = static_cast<std::byte>(random());
  for (std::size_t i = 0; i < both.file.size(); i += static_cast<std::size_t>(dtype_info(type).block_bytes))
    std::memcpy(both.file.data() + i, "\x00\x20", 2);  // a scale that is a number: 2^-7
  both.panels = AlignedBuffer<std::uint8_t>(packed_bytes(type, kRows, kCols));
  pack_panels({type, kRows, kCols, both.file}, 0, num_panels(kRows), both.panels.data());
  both.packed = {.type = type, .rows = kRows, .cols = kCols, .panels = both.panels.data()};
  both.mapped = {.type = type, .rows = kRows, .cols = kCols, .file = both.file.data()};
  return both;
}

TEST(WeightMatrix, KnowsItsBytesInBothForms) {
  const Both both = make(DType::kQ8_0);
  EXPECT_EQ(both.packed.bytes(), both.panels.size());
  EXPECT_EQ(both.mapped.bytes(), both.file.size());
}

TEST(WeightMatrix, RunsOfAPackedMatrixAreItsPanelsWithoutACopy) {
  const Both both = make(DType::kQ8_0);
  PanelScratch scratch;
  int calls = 0;
  scratch.for_ranges(both.packed, 3, 63, 0, [&](const PackedMatrix& range, std::int64_t first) {
    EXPECT_EQ(range.data, both.panels.data() + 3 * panel_bytes(range.type, kCols));
    EXPECT_EQ(range.rows, kRows - 48);
    EXPECT_EQ(first, 3);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(scratch.size_bytes(), 0U);
}

TEST(WeightMatrix, RunsOfAMappedMatrixAreTheSamePanelsInOrder) {
  for (const DType type : {DType::kQ8_0, DType::kF16, DType::kQ4_0}) {
    const Both both = make(type);
    const std::size_t stride = panel_bytes(type, kCols);
    PanelScratch scratch(stride, 3);
    for (const int worker : {0, 2}) {
      std::int64_t next = 3;
      int calls = 0;
      scratch.for_ranges(both.mapped, 3, 63, worker, [&](const PackedMatrix& range, std::int64_t first) {
        EXPECT_EQ(first, next);
        const std::size_t bytes = static_cast<std::size_t>(num_panels(range.rows)) * stride;
        EXPECT_EQ(std::memcmp(range.data, both.panels.data() + static_cast<std::size_t>(first) * stride, bytes), 0);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(range.data) % kCacheLineBytes, 0U);
        next += num_panels(range.rows);
        ++calls;
      });
      EXPECT_EQ(next, 63);
      EXPECT_GT(calls, 2);
    }
    scratch.for_ranges(both.mapped, 5, 5, 0, [](const PackedMatrix&, std::int64_t) { FAIL() << "no panels"; });
  }
}

TEST(WeightMatrix, RunsOfAMappedMatrixHaveTheOrderThatItsProductsRead) {
  Both both = make(DType::kQ4_0);
  both.mapped.order = PanelOrder::kOutputs;
  const std::size_t stride = panel_bytes(DType::kQ4_0, kCols);
  std::vector<std::uint8_t> expected(both.panels.size());
  pack_panels({DType::kQ4_0, kRows, kCols, both.file}, 0, num_panels(kRows), expected.data(), PanelOrder::kOutputs);
  PanelScratch scratch(stride, 1);
  scratch.for_ranges(both.mapped, 0, num_panels(kRows), 0, [&](const PackedMatrix& range, std::int64_t first) {
    const std::size_t bytes = static_cast<std::size_t>(num_panels(range.rows)) * stride;
    EXPECT_EQ(std::memcmp(range.data, &expected[static_cast<std::size_t>(first) * stride], bytes), 0);
  });
}

TEST(WeightMatrix, RowsOfAMappedMatrixDecodeToTheSameBits) {
  const KernelTable& kernels = kernel_table(supported_isa_levels().back());
  for (const DType type : {DType::kQ8_0, DType::kF16, DType::kQ4_0}) {
    const Both both = make(type);
    PanelScratch none, scratch(panel_bytes(type, kCols), 1);
    std::vector<float> expected(kCols), row(kCols);
    for (const std::int64_t r : {0, 17, 991, 999}) {
      none.decode_row(kernels, both.packed, r, 0, expected.data());
      scratch.decode_row(kernels, both.mapped, r, 0, row.data());
      EXPECT_EQ(std::memcmp(expected.data(), row.data(), kCols * sizeof(float)), 0) << r;
    }
  }
}

}  // namespace
}  // namespace octavo

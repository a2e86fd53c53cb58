// What a checkpoint stores, in other orders: against loops that move one element at a time.
#include "source/folder/folder_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "source/folder/mxfp4_experts.h"
#include "source/folder/stored_rows.h"
#include "source/folder/transposed_experts.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace octavo {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> sources(const PieceOrder& order, std::uint64_t count) {
  std::vector<std::uint64_t> pieces;
  for (std::uint64_t piece = 0; piece < count; ++piece) pieces.push_back(order.source_of(piece));
  return pieces;
}

TEST(PieceOrder, TransposesEachGroup) {
  EXPECT_THAT(sources({.first = 2, .second = 3}, 12), ElementsAre(0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11));
}

TEST(PieceOrder, MovesWholeUnitsAndKeepsThoseInFront) {
  const PieceOrder order{.first = 2, .second = 2, .unit = 2, .kept = 3};
  EXPECT_THAT(sources(order, 11), ElementsAre(0, 1, 2, 3, 4, 7, 8, 5, 6, 9, 10));
  EXPECT_EQ(order.run(1), 2U);
  EXPECT_EQ(order.run(3), 2U);
  EXPECT_EQ(order.run(4), 1U);
}

class FolderTensors : public testing::Test {
 protected:
  /// A tensor of bytes that count on from 0.
  void store(std::string_view name, const std::vector<std::uint64_t>& shape) {
    std::uint64_t size = 1;
    for (const std::uint64_t dim : shape) size *= dim;
    std::vector<std::uint8_t> bytes(size);
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
    writer_.add(name, "U8", shape, test::bytes_of(bytes));
  }
  const CheckpointTensor& stored(std::size_t index) {
    if (!checkpoint_) {
      folder_.write("model.safetensors", writer_.bytes());
      auto checkpoint = Checkpoint::open(folder_.path(), {}, {});
      EXPECT_TRUE(checkpoint) << checkpoint.error().message;
      checkpoint_ = std::make_unique<Checkpoint>(std::move(*checkpoint));
    }
    return checkpoint_->tensors()[index];
  }
  /// All bytes; read in pieces of any size they are the same.
  static std::vector<int> whole(const FolderTensor& tensor) {
    std::vector<std::byte> bytes(tensor.bytes());
    EXPECT_TRUE(tensor.read(0, bytes));
    for (const std::size_t piece : {1UL, 3UL, 7UL, 16UL, 50UL}) {
      for (std::size_t at = 0; at < bytes.size(); at += piece) {
        std::vector<std::byte> part(std::min(piece, bytes.size() - at));
        EXPECT_TRUE(tensor.read(at, part));
        EXPECT_TRUE(std::ranges::equal(part, std::span(bytes).subspan(at, part.size()))) << piece << " at " << at;
      }
    }
    std::vector<int> numbers;
    for (const std::byte byte : bytes) numbers.push_back(std::to_integer<int>(byte));
    return numbers;
  }

 private:
  test::TempFolder folder_;
  test::SafetensorsWriter writer_;
  std::unique_ptr<Checkpoint> checkpoint_;
};

TEST_F(FolderTensors, RowsMoveByThemselvesAndInUnits) {
  store("a", {10, 5});
  const CheckpointTensor& rows = stored(0);
  for (const PieceOrder& order :
       {PieceOrder{}, PieceOrder{.first = 2, .second = 5}, PieceOrder{.first = 2, .second = 2, .unit = 2, .kept = 2}}) {
    const StoredRows tensor({StoredSlice{rows, 0, 50}}, order, 5);
    std::vector<int> expected;
    for (std::uint64_t row = 0; row < 10; ++row)
      for (std::uint64_t col = 0; col < 5; ++col) expected.push_back(static_cast<int>(order.source_of(row) * 5 + col));
    EXPECT_EQ(whole(tensor), expected);
  }
}

TEST_F(FolderTensors, SlicesStandOneBehindAnother) {
  store("a", {6, 2});
  const StoredRows tensor({StoredSlice{stored(0), 8, 4}, StoredSlice{stored(0), 0, 4}}, {.first = 2, .second = 1}, 2);
  EXPECT_THAT(whole(tensor), ElementsAre(8, 9, 10, 11, 0, 1, 2, 3));
}

TEST_F(FolderTensors, ColumnsOfExpertsBecomeRows) {
  store("a", {2, 3, 4});  // experts, columns, two matrices' rows in turns
  for (const std::uint64_t turn : {0U, 1U}) {
    const TransposedExperts tensor(stored(0), 1, {.turn = turn, .of = 2});
    std::vector<int> expected;
    for (int expert = 0; expert < 2; ++expert)
      for (int row = 0; row < 2; ++row)
        for (int col = 0; col < 3; ++col) expected.push_back(expert * 12 + col * 4 + row * 2 + static_cast<int>(turn));
    EXPECT_EQ(whole(tensor), expected);
  }
}

// Of stored pairs (0 1) (2 3) ... the first half of a block goes into low bits, the second into high ones.
TEST_F(FolderTensors, CodesAndScalesMakeBlocks) {
  store("codes", {1, 2, 1, 16});
  store("scales", {1, 2, 1});
  const Mxfp4Experts second(stored(0), stored(1), {.turn = 1, .of = 2});
  std::vector<int> expected = {1};  // the scale of row 1, whose codes are the bytes 16 to 31
  for (int i = 0; i < 16; ++i) {
    const int low = i % 2 == 0 ? (16 + i / 2) & 15 : (16 + i / 2) >> 4;
    const int high = i % 2 == 0 ? (24 + i / 2) & 15 : (24 + i / 2) >> 4;
    expected.push_back(low | high << 4);
  }
  EXPECT_EQ(whole(second), expected);
  EXPECT_EQ(Mxfp4Experts(stored(0), stored(1), {}).bytes(), 34U);
}

}  // namespace
}  // namespace octavo

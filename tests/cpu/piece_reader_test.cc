#include "cpu/piece_reader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "support/memory_source.h"

namespace octavo::test {
namespace {

/// A source whose third piece cannot be read, in a way that nobody foresaw.
class BreakingSource final : public MemorySource {
 public:
  Result<void> read(std::uint64_t, std::span<std::byte>) const override {
    if (++num_reads_ == 3) throw std::runtime_error("a wheel is off");
    return {};
  }

 private:
  mutable std::atomic<int> num_reads_ = 0;
};

/// A source of any number of bytes.
class EndlessSource final : public MemorySource {
 public:
  Result<void> read(std::uint64_t, std::span<std::byte>) const override { return {}; }
};

// A test that waits in vain ends by its time limit.
TEST(PieceReader, GoesOnWhenTheBufferThatItWaitsForComesBack) {
  const EndlessSource source;
  const std::vector<PieceReader::Range> ranges(200, {.offset = 0, .bytes = 16});
  PieceReader reader(source, ranges, 1, PieceReader::Mode::kAhead);
  std::size_t num_pieces = 0;
  while (reader.wait()) {
    const auto piece = reader.try_take();
    ASSERT_TRUE(piece);
    EXPECT_EQ(piece->index, num_pieces++);
    reader.give_back(*piece);
  }
  EXPECT_EQ(num_pieces, ranges.size());
}

TEST(PieceReader, AnExceptionOfItsThreadIsTheErrorOfTheLoad) {
  const BreakingSource source;
  const std::vector<PieceReader::Range> ranges(5, {.offset = 0, .bytes = 16});
  PieceReader reader(source, ranges, 4, PieceReader::Mode::kAhead);
  int num_pieces = 0;
  while (reader.wait()) {
    if (const auto piece = reader.try_take()) {
      ++num_pieces;
      reader.give_back(*piece);
    }
  }
  EXPECT_LE(num_pieces, 2);
  ASSERT_TRUE(reader.error());
  EXPECT_EQ(reader.error()->message, "a wheel is off");
}

}  // namespace
}  // namespace octavo::test

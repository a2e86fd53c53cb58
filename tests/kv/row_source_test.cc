// A sequence's rows as tokens and as places in things that were given: their parts, and where two of them part.
#include "octavo/kv/row_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "octavo/kv/prefix_cache.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

GivenRows given(std::int32_t first, std::int32_t count, std::int32_t index = 0, std::uint8_t name = 1) {
  return {.first = first, .count = count, .index = index, .digest = {{name}}};
}

std::vector<GivenRows> pieces(const RowSource& rows) {
  std::vector<GivenRows> all;
  rows.for_given([&](const GivenRows& piece) { all.push_back(piece); });
  return all;
}

TEST(RowSource, APartHasThePiecesAmongItsRowsAsFarAsTheyLieThere) {
  const std::vector<TokenId> tokens(20, 7);
  const std::vector<GivenRows> pictures = {given(2, 6), given(8, 1, 4, 2), given(12, 8, 0, 3)};
  const RowSource rows(tokens, pictures);
  EXPECT_EQ(pieces(rows), pictures);
  EXPECT_THAT(pieces(rows.first(4)), ElementsAre(given(2, 2)));
  EXPECT_THAT(pieces(rows.subspan(4, 4)), ElementsAre(given(0, 4, 2)));
  EXPECT_THAT(pieces(rows.subspan(4, 8)), ElementsAre(given(0, 4, 2), given(4, 1, 4, 2)));
  EXPECT_THAT(pieces(rows.subspan(4).subspan(3, 10)),
              ElementsAre(given(0, 1, 5), given(1, 1, 4, 2), given(5, 5, 0, 3)));
  EXPECT_THAT(pieces(rows.subspan(9, 3)), IsEmpty());
  EXPECT_FALSE(rows.subspan(9, 3).has_given());
  EXPECT_THAT(pieces(RowSource(std::span(tokens).first(5), pictures)), ElementsAre(given(2, 3)));
}

TEST(RowSource, TwoAreEqualOnlyWhereTokensDigestsAndPlacesAre) {
  const std::vector<TokenId> tokens = {1, 2, 3, 4, 5, 6};
  const std::vector<GivenRows> picture = {given(1, 3)};
  const RowSource rows(tokens, picture);
  EXPECT_EQ(rows, RowSource(tokens, picture));
  const auto common = [&](const std::vector<TokenId>& ids, const std::vector<GivenRows>& other) {
    EXPECT_EQ(common_rows(RowSource(ids, other), rows), common_rows(rows, RowSource(ids, other)));
    EXPECT_EQ(RowSource(ids, other) == rows, false);
    return common_rows(rows, RowSource(ids, other));
  };
  EXPECT_EQ(common(tokens, {}), 1U);
  EXPECT_EQ(common(tokens, {given(1, 3, 0, 2)}), 1U) << "another digest";
  EXPECT_EQ(common(tokens, {given(1, 3, 1)}), 1U) << "another place";
  EXPECT_EQ(common(tokens, {given(2, 3)}), 1U);
  EXPECT_EQ(common(tokens, {given(1, 2)}), 3U);
  EXPECT_EQ(common(tokens, {given(1, 3), given(5, 1)}), 5U);
  EXPECT_EQ(common({1, 2, 9, 4, 5, 6}, picture), 2U) << "another token at a given row";
  EXPECT_EQ(common({1, 2, 3, 4, 5}, picture), 5U);
}

// Blocks of all that there is of four tokens and two things: equal hashes and equal rows are the same.
TEST(RowSource, BlocksHaveEqualHashesExactlyWhereTheirRowsAreEqual) {
  const BlockHasher hasher = *make_block_hasher();
  std::mt19937 random(5);
  const auto number = [&](std::uint32_t below) { return static_cast<std::int32_t>(random() % below); };
  int num_equal = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<TokenId> tokens[2];
    std::vector<GivenRows> things[2];
    for (int i = 0; i < 2; ++i) {
      for (int row = 0; row < 4; ++row) tokens[i].push_back(number(8) == 0 ? 1 : 0);
      const std::int32_t first = number(3), count = 1 + number(2);
      if (number(4) != 0) things[i].push_back(given(first, count, number(2), static_cast<std::uint8_t>(number(2))));
    }
    const RowSource a(tokens[0], things[0]), b(tokens[1], things[1]);
    ASSERT_EQ(BlockChain::next(hasher, {}, a) == BlockChain::next(hasher, {}, b), a == b);
    num_equal += a == b ? 1 : 0;
  }
  EXPECT_GT(num_equal, 100);
}

}  // namespace
}  // namespace octavo

#include "engine/drafts/ngram_index.h"

#include <gtest/gtest.h>

#include "base/to_size.h"

namespace octavo {
namespace {

NgramIndex index_of(const std::vector<TokenId>& text, std::size_t num_entries = 1024) {
  NgramIndex index(num_entries);
  index.clear(text.size());
  index.follow(text, static_cast<int>(text.size()));
  return index;
}

TEST(NgramIndex, FindsTheLatestPlaceBehindTheLongestMatch) {
  const std::vector<TokenId> text = {9, 1, 2, 3, 4, 5, 8, 3, 4, 6, 7, 7, 1, 2, 3, 4};
  const NgramIndex index = index_of(text);
  const NgramIndex::Match found = index.find(text, text);
  EXPECT_EQ(found.at, 5) << "1 2 3 4 goes before the later 3 4";
  EXPECT_EQ(found.length, 4);
  const std::vector<TokenId> other = {3, 4};
  EXPECT_EQ(index.find(text, other).at, 9) << "the latest of those that are followed";
  EXPECT_EQ(index.find(text, other).length, 2);
}

TEST(NgramIndex, OneTokenIsNoMatchAndNothingIsFoundInNothing) {
  const std::vector<TokenId> text = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1};
  EXPECT_EQ(index_of(text).find(text, text).at, -1);
  EXPECT_EQ(index_of({}).find({}, text).at, -1);
}

TEST(NgramIndex, ATextThatGrowsIsAddedPieceByPiece) {
  std::vector<TokenId> text = {1, 2, 3, 4, 1, 2};
  NgramIndex index(1024);
  index.clear(64);
  index.follow(text, 2);
  EXPECT_EQ(index.find(text, text).at, -1) << "positions 0 and 1 alone were added";
  index.follow(text, 100);
  EXPECT_EQ(index.find(text, text).at, 2);
  text.push_back(3);
  text.push_back(4);
  index.follow(text, 100);
  EXPECT_EQ(index.find(text, text).at, 4);
}

// Entries that others have taken cost matches, and never give a wrong one.
TEST(NgramIndex, WhatIsFoundAgreesHoweverSmallTheTableIs) {
  std::vector<TokenId> text;
  for (int i = 0; i < 5000; ++i) text.push_back(static_cast<TokenId>((i * i + i / 7) % 61));
  const NgramIndex index = index_of(text, 64);
  int num_found = 0;
  for (std::size_t end = 40; end < text.size(); ++end) {
    const std::span<const TokenId> context = std::span(text).first(end);
    const NgramIndex::Match found = index.find(text, context);
    if (found.at < 0) continue;
    ++num_found;
    EXPECT_GE(found.length, 2);
    for (int i = 1; i <= found.length; ++i)
      EXPECT_EQ(text[to_size(found.at - i)], context[context.size() - to_size(i)]);
  }
  EXPECT_GT(num_found, 10);
}

}  // namespace
}  // namespace octavo

#include "engine/drafts/said_texts.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

std::vector<TokenId> counted(TokenId first, int count) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(first + i);
  return tokens;
}

TEST(SaidTexts, NoDomainSeesAnothers) {
  SaidTexts said(4);
  const std::vector<TokenId> text = {1, 2, 3, 4};
  said.add("a", counted(1, 8));
  EXPECT_EQ(said.find("b", text).length, 0);
  EXPECT_EQ(said.find("", text).length, 0);
  const SaidTexts::Found found = said.find("a", text);
  EXPECT_EQ(found.length, 4);
  EXPECT_EQ(found.next.front(), 5);
}

TEST(SaidTexts, NoMatchCrossesTheEndOfAnAnswer) {
  SaidTexts said(4);
  said.add("", counted(1, 4));
  said.add("", counted(5, 4));
  EXPECT_EQ(said.find("", counted(3, 4)).length, 2) << "5 and 6 alone";
}

TEST(SaidTexts, TheOldestGoAndMemoryStays) {
  SaidTexts said(4);
  const int count = 1000, num_answers = 100;  // about three parts of them
  for (int i = 0; i < num_answers; ++i) said.add("", counted(i * count, count));
  EXPECT_EQ(said.find("", counted(0, 10)).length, 0);
  EXPECT_EQ(said.find("", counted((num_answers - 30) * count, 10)).length, 10) << "the older part";
  EXPECT_EQ(said.find("", counted((num_answers - 1) * count, 10)).length, 10);
  said.add("", counted(1'000'000, 3 * static_cast<int>(SaidTexts::kMostKept)));
  EXPECT_EQ(said.find("", counted(1'000'000, 10)).length, 0) << "of a long answer its end";
}

TEST(SaidTexts, OfTooManyDomainsTheOneThatWasNotUsedForLongestGoes) {
  SaidTexts said(2);
  said.add("a", counted(1, 8));
  said.add("b", counted(1, 8));
  EXPECT_GT(said.find("a", counted(1, 4)).length, 0);
  said.add("c", counted(11, 8));
  EXPECT_GT(said.find("a", counted(1, 4)).length, 0);
  EXPECT_EQ(said.find("b", counted(1, 4)).length, 0);
  EXPECT_EQ(said.find("c", counted(1, 4)).length, 0) << "in the memory of another, and nothing of that";
}

}  // namespace
}  // namespace octavo

#include "engine/text/dry_breakers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support/tiny_vocab.h"

namespace octavo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TokenId kA = test::kTinyA;

TEST(DryBreakers, AreTheTokensThatContainOneOfTheTexts) {
  const ModelTokenizer words(test::tiny_tokenizer(12));
  const DryBreakers breakers(words, 10);
  EXPECT_THAT(breakers.tokens_of({"C", "A"})->tokens, ElementsAre(kA, kA + 2));
  EXPECT_THAT(breakers.tokens_of({"G"})->tokens, IsEmpty());  // beyond what may be drawn
  EXPECT_THAT(DryBreakers(ModelTokenizer(), 10).tokens_of({"A"})->tokens, IsEmpty());
}

TEST(DryBreakers, AListThatWasNamedOfLateIsNotSearchedForAgain) {
  const ModelTokenizer words(test::tiny_tokenizer(30));
  const DryBreakers breakers(words, 30);
  const auto list = [](std::size_t i) { return std::vector<std::string>{std::string(1, static_cast<char>('A' + i))}; };
  std::vector<std::weak_ptr<const BreakerTokens>> found;
  for (std::size_t i = 0; i < DryBreakers::kMaxLists; ++i) found.push_back(breakers.tokens_of(list(i)));
  for (std::size_t i = 0; i < DryBreakers::kMaxLists; ++i) {
    const auto again = breakers.tokens_of(list(i));
    EXPECT_EQ(again, found[i].lock());
    EXPECT_THAT(again->tokens, ElementsAre(kA + static_cast<TokenId>(i)));
  }
  breakers.tokens_of(list(DryBreakers::kMaxLists));  // in place of the one that was named longest ago
  EXPECT_TRUE(found[0].expired());
  EXPECT_EQ(breakers.tokens_of(list(1)), found[1].lock());
  EXPECT_THAT(breakers.tokens_of(list(0))->tokens, ElementsAre(kA));
  EXPECT_FALSE(found[1].expired());
  EXPECT_TRUE(found[2].expired());
}

TEST(DryBreakers, AListThatSomebodyHoldsIsNotSearchedForAgainWhateverOthersName) {
  const ModelTokenizer words(test::tiny_tokenizer(30));
  const DryBreakers breakers(words, 30);
  const auto held = breakers.tokens_of({"A"});
  for (int i = 0; i < 2 * static_cast<int>(DryBreakers::kMaxLists); ++i)
    breakers.tokens_of({std::string(1, static_cast<char>('B' + i))});
  EXPECT_EQ(breakers.tokens_of({"A"}), held);
}

}  // namespace
}  // namespace octavo

#include "engine/text/dry_breakers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  for (std::size_t i = 0; i < DryBreakers::kMaxLists; ++i) breakers.tokens_of(list(i));
  for (std::size_t i = 0; i < DryBreakers::kMaxLists; ++i)
    EXPECT_THAT(breakers.tokens_of(list(i))->tokens, ElementsAre(kA + static_cast<TokenId>(i)));
  EXPECT_EQ(breakers.num_searches(), DryBreakers::kMaxLists);
  breakers.tokens_of(list(DryBreakers::kMaxLists));  // in place of the one that was named longest ago
  breakers.tokens_of(list(1));
  EXPECT_EQ(breakers.num_searches(), DryBreakers::kMaxLists + 1);
  EXPECT_THAT(breakers.tokens_of(list(0))->tokens, ElementsAre(kA));
  EXPECT_EQ(breakers.num_searches(), DryBreakers::kMaxLists + 2);
}

TEST(DryBreakers, AListThatSomebodyHoldsIsNotSearchedForAgainWhateverOthersName) {
  const ModelTokenizer words(test::tiny_tokenizer(30));
  const DryBreakers breakers(words, 30);
  const auto held = breakers.tokens_of({"A"});
  for (int i = 0; i < 2 * static_cast<int>(DryBreakers::kMaxLists); ++i)
    breakers.tokens_of({std::string(1, static_cast<char>('B' + i))});
  const std::uint64_t num_searches = breakers.num_searches();
  EXPECT_EQ(breakers.tokens_of({"A"}), held);
  EXPECT_EQ(breakers.num_searches(), num_searches);
}

}  // namespace
}  // namespace octavo

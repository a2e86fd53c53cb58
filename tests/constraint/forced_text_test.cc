// Text that leaves no choice is written as the tokenizer writes it.
#include "constraint/forced_text.h"

#include <gmock/gmock.h>

#include <map>

#include "constraint/grammar/gbnf.h"
#include "constraint/vocabulary.h"

namespace octavo {
namespace {

using test::allowed_tokens;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A vocabulary whose tokenizer takes the longest token that fits, again and again.
class Greedy {
 public:
  explicit Greedy(std::vector<std::string> texts) : texts_(std::move(texts)) {
    std::vector<ConstraintVocabulary::Token> tokens;
    for (const std::string& text : texts_) tokens.push_back({.bytes = text});
    tokens.push_back({.bytes = "<end>", .ends_answer = true});
    vocabulary_ = std::make_shared<const ConstraintVocabulary>(
        std::move(tokens), false, [this](std::optional<TokenId> previous, std::string_view text) {
          asked.emplace_back(previous.value_or(-1), text);
          return encode(text);
        });
  }

  std::vector<TokenId> encode(std::string_view text) const {
    std::vector<TokenId> ids;
    while (!text.empty()) {
      TokenId longest = -1;
      for (std::size_t i = 0; i < texts_.size(); ++i)
        if (text.starts_with(texts_[i]) && (longest < 0 || texts_[i].size() > texts_[to_size(longest)].size()))
          longest = static_cast<TokenId>(i);
      if (longest < 0) return {};
      ids.push_back(longest);
      text.remove_prefix(texts_[to_size(longest)].size());
    }
    return ids;
  }
  ConstraintState begin(const std::string& gbnf) {
    const auto grammar = read_gbnf(gbnf, {});
    EXPECT_TRUE(grammar.has_value()) << grammar.error().message;
    ConstraintState state;
    state.begin(CompiledConstraint::create(*grammar, vocabulary_).value(), std::nullopt);
    return state;
  }
  std::vector<std::string> allowed(const ConstraintState& state) const {
    std::vector<std::string> allowed;
    for (const TokenId token : allowed_tokens(state, *vocabulary_)) allowed.push_back(text(token));
    return allowed;
  }
  std::vector<std::string> forced(const ConstraintState& state) const {
    std::vector<std::string> forced;
    for (const TokenId token : state.forced()) forced.push_back(text(token));
    return forced;
  }
  TokenId id(const std::string& text) const { return encode(text).at(0); }

  std::vector<std::pair<TokenId, std::string>> asked = {};

 private:
  std::string text(TokenId token) const { return to_size(token) < texts_.size() ? texts_[to_size(token)] : "<end>"; }

  std::vector<std::string> texts_;
  std::shared_ptr<const ConstraintVocabulary> vocabulary_;
};

TEST(ForcedText, IsWrittenInTheTokenizersTokensAlone) {
  Greedy words({"n", "a", "m", "e", "na", "name", ":", "1", "2"});
  ConstraintState state = words.begin(R"(root ::= "name:" [12])");
  EXPECT_THAT(words.forced(state), ElementsAre("name", ":"));
  EXPECT_THAT(words.allowed(state), ElementsAre("name"));
  ASSERT_TRUE(state.accept(words.id("name")));
  EXPECT_THAT(words.forced(state), ElementsAre(":"));
  EXPECT_THAT(words.allowed(state), ElementsAre(":"));
  ASSERT_TRUE(state.accept(words.id(":")));
  EXPECT_THAT(words.forced(state), IsEmpty());
  EXPECT_THAT(words.allowed(state), ElementsAre("1", "2"));
}

TEST(ForcedText, ItsLastTokensAreOpenWhereTheyMayBecomeLongerOnes) {
  Greedy words({"x", "xx", "a", "b", "ab", "abc", "c", "d"});
  ConstraintState state = words.begin(R"(root ::= "xxab" [cd])");
  EXPECT_THAT(words.forced(state), ElementsAre("xx"));
  ASSERT_TRUE(state.accept(words.id("xx")));
  EXPECT_THAT(words.allowed(state), ElementsAre("a", "ab", "abc"));
  // No longer token begins with what may follow here.
  EXPECT_THAT(words.forced(words.begin(R"(root ::= "xxab" [d])")), ElementsAre("xx", "ab", "d"));
  EXPECT_THAT(words.forced(words.begin(R"(root ::= "xxab" [dx])")), ElementsAre("xx", "ab"));
}

TEST(ForcedText, WhereTheAnswerMayEndThereIsAChoice) {
  Greedy words({"a", "b", "ab"});
  EXPECT_THAT(words.forced(words.begin(R"(root ::= "a" "b"?)")), IsEmpty());
  EXPECT_THAT(words.allowed(words.begin(R"(root ::= "a" "b"?)")), ElementsAre("a", "ab"));
  EXPECT_THAT(words.forced(words.begin(R"(root ::= "aa" "c"?)")), ElementsAre("a", "a"));
  ConstraintState state = words.begin(R"(root ::= "ab")");
  EXPECT_THAT(words.forced(state), ElementsAre("ab")) << "nothing can follow";
  ASSERT_TRUE(state.accept(words.id("ab")));
  EXPECT_THAT(words.allowed(state), ElementsAre("<end>"));
}

TEST(ForcedText, TheTokenizerIsToldWhatStandsBefore) {
  Greedy words({"a", "b", "c"});
  ConstraintState state = words.begin(R"(root ::= [ab] "c")");
  EXPECT_THAT(words.asked, IsEmpty());
  ASSERT_TRUE(state.accept(words.id("b")));
  EXPECT_THAT(words.asked, ElementsAre(std::pair<TokenId, std::string>(words.id("b"), "c")));
}

TEST(ForcedText, OtherTokensThatSpellItAreStillTaken) {
  Greedy words({"n", "a", "na", "x", "y"});
  ConstraintState state = words.begin(R"(root ::= "nana" [xy])");
  EXPECT_THAT(words.forced(state), ElementsAre("na", "na"));
  ASSERT_TRUE(state.accept(words.id("n")));
  EXPECT_THAT(words.forced(state), ElementsAre("a", "na"));
  ASSERT_TRUE(state.accept(words.id("a")));
  ConstraintState copy = state;
  ASSERT_TRUE(copy.accept(words.id("na")));
  EXPECT_THAT(words.allowed(copy), ElementsAre("x", "y"));
  EXPECT_THAT(words.forced(state), ElementsAre("na"));
}

TEST(ForcedText, WhereTheTokenizerHasNoWayAnyTokensAreAllowed) {
  Greedy words({"na", "a", "ab"});
  EXPECT_THAT(words.forced(words.begin(R"(root ::= "nab")")), IsEmpty());
  EXPECT_THAT(words.allowed(words.begin(R"(root ::= "nab")")), ElementsAre("na"));
}

TEST(ForcedText, IsLookedAtUpToABound) {
  Greedy words({"a"});
  ConstraintState state = words.begin(R"(root ::= "a"{1000})");
  EXPECT_EQ(state.forced().size(), kMaxForcedBytes);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_THAT(words.allowed(state), ElementsAre("a")) << i;
    ASSERT_TRUE(state.accept(0));
  }
  EXPECT_THAT(words.allowed(state), ElementsAre("<end>"));
}

// The mask is a part of what bytes alone would allow, and never a dead end.
TEST(ForcedText, EveryWalkComesToAnEnd) {
  Greedy words({"a", "b", "c", "ab", "bc", "abc", "ca", "cab", "aa"});
  const std::string gbnf = R"(root ::= ("abc" | "abca" | "cab" root | "bb" [abc] "aabca")*)";
  std::uint32_t seed = 1;
  for (int walk = 0; walk < 200; ++walk) {
    ConstraintState state = words.begin(gbnf);
    for (int step = 0; step < 40; ++step) {
      const std::vector<std::string> allowed = words.allowed(state);
      ASSERT_FALSE(allowed.empty());
      seed = seed * 1664525 + 1013904223;
      const std::string& drawn = allowed[(seed >> 16) % allowed.size()];
      if (drawn == "<end>") break;
      if (!words.forced(state).empty()) {
        ASSERT_EQ(allowed, std::vector<std::string>{words.forced(state).front()});
      }
      ASSERT_TRUE(state.accept(words.id(drawn)));
    }
  }
}

}  // namespace
}  // namespace octavo

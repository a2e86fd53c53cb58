#include "constraint/trie/token_trie.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <map>
#include <set>
#include <string>

#include "base/to_size.h"
#include "constraint/vocabulary.h"

namespace octavo {
namespace {

/// Every token at the end of its bytes, found by walking children.
std::map<std::string, std::vector<TokenId>> texts_of(const TokenTrie& trie) {
  std::map<std::string, std::vector<TokenId>> texts;
  std::vector<std::pair<std::uint32_t, std::string>> work = {{TokenTrie::kRoot, ""}};
  while (!work.empty()) {
    const auto [node, text] = work.back();
    work.pop_back();
    const auto [begin, end] = trie.tokens_at(node);
    for (const TokenId token : trie.tokens().subspan(begin, end - begin)) texts[text].push_back(token);
    for (std::uint32_t child = node + 1; child < trie.at(node).end; child = trie.at(child).end)
      work.emplace_back(child, text + static_cast<char>(trie.at(child).byte));
  }
  return texts;
}

RC_GTEST_PROP(TokenTrie, HasEveryTokenAtTheEndOfItsBytes, ()) {
  const auto texts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab\xFF"))));
  std::map<std::string, std::vector<TokenId>> expected;
  std::vector<std::string_view> views;
  for (std::size_t id = 0; id < texts.size(); ++id) {
    views.emplace_back(texts[id]);
    if (!texts[id].empty()) expected[texts[id]].push_back(static_cast<TokenId>(id));
  }
  RC_ASSERT(texts_of(TokenTrie(views)) == expected);
}

TEST(TokenTrie, TellsWhatStandsBelowANode) {
  const std::vector<std::string> texts = {
      "a", "ab", "a ", "b\xC3\xA9", "bc\xE2\x82", "c\x82", "c\"" + std::string(300, 'x')};
  const TokenTrie trie(std::vector<std::string_view>(texts.begin(), texts.end()));
  std::map<char, TokenTrie::Below> below;
  for (std::uint32_t child = 1; child < trie.num_nodes(); child = trie.at(child).end)
    below[static_cast<char>(trie.at(child).byte)] = trie.below(child);
  const auto bit = [](char c) { return std::uint64_t{1} << c % 64; };
  EXPECT_EQ(below['a'].ascii, (std::array<std::uint64_t, 2>{bit(' '), bit('b')}));
  EXPECT_EQ(below['a'].depth, 1);
  EXPECT_FALSE(below['a'].has_others);
  EXPECT_TRUE(below['b'].has_others && (below['b'].utf8_places & 1) != 0)
      << "a character that is cut at the end of a token is one";
  EXPECT_EQ(below['b'].depth, 3);
  EXPECT_EQ(below['c'].utf8_places & 1, 0);
  EXPECT_EQ(below['c'].depth, TokenTrie::kMostDepth);
}

TEST(TokenTrie, StringsOfJsonFindTheTextThatTheyTakeInPartsOfItsOwn) {
  const std::vector<std::string> texts = {
      "a", "a\"",      "\\",   "\n",       "ab",   "123456789", "\xC3\xA9", std::string(25, 'x'),
      "",  "\xE2\x82", "\x82", "12345678", "a\tb", "\xE2\n"};
  const TokenTrie trie(std::vector<std::string_view>(texts.begin(), texts.end()));
  std::vector<std::set<std::string>> found;
  for (const TokenTrie::Part& part : trie.parts()) {
    found.emplace_back();
    for (std::size_t id = 0; id < texts.size(); ++id)
      if (test::allows_token(part.bits, id)) found.back().insert(texts[id]);
    std::set<std::string> below;
    for (std::uint32_t i = part.tokens.begin; i < part.tokens.end; ++i) below.insert(texts[to_size(trie.tokens()[i])]);
    EXPECT_EQ(below, found.back());
  }
  EXPECT_EQ(found[0], (std::set<std::string>{"a", "ab", "\xC3\xA9", "\xE2\x82", "12345678"}));
  EXPECT_EQ(found[1], (std::set<std::string>{"123456789"}));
  EXPECT_EQ(found[2], (std::set<std::string>{std::string(25, 'x')}));
  EXPECT_EQ(found[3], (std::set<std::string>{"\n", "a\tb"}));
  EXPECT_EQ(found[4], (std::set<std::string>{"a\"", "\\", "\x82", "\xE2\n"}));
  EXPECT_EQ(trie.parts()[1].below.depth, 9);
  EXPECT_FALSE(trie.parts()[1].below.has_others);
}

TEST(TokenTrie, CountsTheCharactersOfPlainText) {
  const std::vector<std::string> texts = {"a",  "\xC3\xA9", "a\xE2\x82", "ab\xC3\xA9", std::string(25, 'x'),
                                          "\n", "a\""};
  const TokenTrie trie(std::vector<std::string_view>(texts.begin(), texts.end()));
  const auto count = [&](std::size_t length) {
    return std::popcount(trie.plain_bits(length)[0]);  // of fewer than kMaskBits tokens
  };
  EXPECT_EQ(count(0), 0);
  EXPECT_EQ(count(1), 2);
  EXPECT_EQ(count(2), 3) << "a character that is cut at the end of a token is one";
  EXPECT_EQ(count(3), 4);
  EXPECT_EQ(count(TokenTrie::kMoreBytes), 4);
  EXPECT_EQ(count(TokenTrie::kMoreBytes + 1), 5) << "any number";
  EXPECT_EQ(count(1000), 5);
}

TEST(TokenTrie, OfNoTokensIsARootAlone) {
  const TokenTrie trie({});
  EXPECT_EQ(trie.num_nodes(), 1U);
  EXPECT_EQ(trie.tokens_at(TokenTrie::kRoot).size(), 0U);
}

}  // namespace
}  // namespace octavo

#include "constraint/token_trie.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

namespace octavo {
namespace {

/// Every token at the end of its bytes, found by walking children.
std::map<std::string, std::vector<TokenId>> texts_of(const TokenTrie& trie) {
  std::map<std::string, std::vector<TokenId>> texts;
  std::vector<std::pair<std::uint32_t, std::string>> work = {{TokenTrie::kRoot, ""}};
  while (!work.empty()) {
    const auto [node, text] = work.back();
    work.pop_back();
    for (const TokenId token : trie.tokens_at(node)) texts[text].push_back(token);
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

TEST(TokenTrie, OfNoTokensIsARootAlone) {
  const TokenTrie trie({});
  EXPECT_EQ(trie.num_nodes(), 1U);
  EXPECT_TRUE(trie.tokens_at(TokenTrie::kRoot).empty());
}

}  // namespace
}  // namespace octavo

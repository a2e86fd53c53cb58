#include "tokenizer/words/special_tokens.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace octavo::test {
namespace {

using Pieces = std::vector<std::pair<TokenId, std::string>>;

Pieces pieces_of(const SpecialTokens& tokens, std::string_view text) {
  Pieces pieces;
  for (const Fragment& fragment : tokens.split(text)) pieces.emplace_back(fragment.token, fragment.text);
  return pieces;
}

/// The definition: one token after another, longest first, each wherever it still fits.
Pieces search_one_after_another(std::vector<std::string> tokens, const std::string& text) {
  Pieces pieces;
  if (!text.empty()) pieces.emplace_back(-1, text);
  std::vector<TokenId> order(tokens.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<TokenId>(i);
  std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
    return tokens[static_cast<std::size_t>(a)].size() > tokens[static_cast<std::size_t>(b)].size();
  });
  for (const TokenId id : order) {
    const std::string& token = tokens[static_cast<std::size_t>(id)];
    Pieces next;
    for (auto& [piece_id, piece] : pieces) {
      std::size_t begin = 0;
      for (std::size_t at; piece_id < 0 && (at = piece.find(token, begin)) != std::string::npos;) {
        if (at > begin) next.emplace_back(-1, piece.substr(begin, at - begin));
        next.emplace_back(id, token);
        begin = at + token.size();
      }
      if (begin < piece.size()) next.emplace_back(piece_id, piece.substr(begin));
    }
    pieces = std::move(next);
  }
  return pieces;
}

TEST(SpecialTokens, TextWithoutAnyIsOneFragment) {
  SpecialTokens tokens;
  EXPECT_EQ(pieces_of(tokens, "abc"), (Pieces{{-1, "abc"}}));
  EXPECT_EQ(pieces_of(tokens, ""), Pieces{});
  tokens.add("<x>", 7);
  EXPECT_EQ(pieces_of(tokens, "a<x"), (Pieces{{-1, "a<x"}}));
  EXPECT_EQ(pieces_of(tokens, "a<x>"), (Pieces{{-1, "a"}, {7, "<x>"}}));
}

TEST(SpecialTokens, ATokenThatIsTooLongIsNotFoundAndCostsNothing) {
  SpecialTokens tokens;
  const std::string longest(SpecialTokens::kMaxBytes, 'a'), text(2 * SpecialTokens::kMaxBytes + 1, 'a');
  tokens.add(longest + "a", 1);
  EXPECT_EQ(pieces_of(tokens, text), (Pieces{{-1, text}}));
  tokens.add(longest, 2);
  EXPECT_EQ(pieces_of(tokens, text), (Pieces{{2, longest}, {2, longest}, {-1, "a"}}));
  // 10^12 comparisons, were it looked for.
  SpecialTokens hostile;
  hostile.add(std::string(1'000'000, 'a'), 1);
  const std::string much(1'000'000, 'a');
  EXPECT_EQ(hostile.split(much).size(), 1U);
}

RC_GTEST_PROP(SpecialTokensProperty, SplitEqualsSearchingOneTokenAfterAnother, ()) {
  // Two letters only, so that tokens overlap often.
  const auto word = [](int max) {
    return rc::gen::resize(max, rc::gen::container<std::string>(rc::gen::element('a', 'b')));
  };
  auto texts = *rc::gen::resize(8, rc::gen::container<std::vector<std::string>>(rc::gen::nonEmpty(word(6))));
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  const std::string text = *word(60);
  SpecialTokens tokens;
  for (std::size_t i = 0; i < texts.size(); ++i) tokens.add(texts[i], static_cast<TokenId>(i));
  RC_ASSERT(pieces_of(tokens, text) == search_one_after_another(texts, text));
}

}  // namespace
}  // namespace octavo::test

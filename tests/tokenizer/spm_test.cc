#include "tokenizer/words/spm.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/small_vocab.h"

namespace octavo {
namespace {

using test::SmallVocab;

/// Bytes as tokens, then words of a, b and é with scores of which some are equal.
SmallVocab vocab_of(const std::vector<std::pair<std::string, int>>& words) {
  SmallVocab vocab{.model = "llama"};
  vocab.flags = {{"add_space_prefix", false}, {"add_bos_token", false}};
  vocab.add("<unk>", test::kUnknown);
  for (int byte = 0; byte < 256; ++byte) vocab.add(fmt::format("<0x{:02X}>", byte), test::kByte);
  for (const auto& [word, score] : words) {
    if (std::find(vocab.tokens.begin(), vocab.tokens.end(), word) != vocab.tokens.end()) continue;
    vocab.add(word, test::kNormal, static_cast<float>(score));
  }
  return vocab;
}

/// The rule itself: again and again, of all neighbours whose joined text is a token, the first of the best score.
std::vector<TokenId> plainly(const SmallVocab& vocab, const std::string& text) {
  const auto find = [&](const std::string& part) {
    const auto token = std::find(vocab.tokens.begin(), vocab.tokens.end(), part);
    return token == vocab.tokens.end() ? -1 : static_cast<TokenId>(token - vocab.tokens.begin());
  };
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < text.size(); i += parts.back().size()) {
    parts.push_back(text.substr(i, utf8_announced_length(text[i])));
  }
  while (true) {
    std::size_t best = parts.size();
    float best_score = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const TokenId joined = find(parts[i] + parts[i + 1]);
      if (joined < 0) continue;
      const float score = vocab.scores[static_cast<std::size_t>(joined)];
      if (best < parts.size() && score <= best_score) continue;
      best = i;
      best_score = score;
    }
    if (best == parts.size()) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  std::vector<TokenId> ids;
  for (const std::string& part : parts) {
    if (const TokenId token = find(part); token >= 0) {
      ids.push_back(token);
      continue;
    }
    for (const char c : part) ids.push_back(1 + static_cast<unsigned char>(c));
  }
  return ids;
}

// Texts of few letters repeat their words, fall into pieces where letters never meet in a token, and end inside of a
// character.
RC_GTEST_PROP(SpmProperty, AgreesWithTheRuleItself, ()) {
  const auto letters = rc::gen::element<std::string>("a", "b", "é", "z");
  const auto word = rc::gen::map(rc::gen::container<std::vector<std::string>>(letters), [](const auto& parts) {
    std::string joined;
    for (const std::string& part : parts) joined += part;
    return joined;
  });
  const auto non_empty = rc::gen::suchThat(word, [](const std::string& text) { return !text.empty(); });
  const auto words = *rc::gen::container<std::vector<std::pair<std::string, int>>>(
      rc::gen::pair(rc::gen::scale(0.2, non_empty), rc::gen::inRange(-3, 1)));
  const SmallVocab vocab = vocab_of(words);
  auto text = *rc::gen::scale(3.0, word);
  if (*rc::gen::arbitrary<bool>() && !text.empty()) text.pop_back();
  const auto tokenizer = vocab.load_with([](auto&) {});
  RC_ASSERT(tokenizer.has_value());
  const auto ids = tokenizer->encode(text, {.add_special = false, .parse_special = false});
  RC_ASSERT(ids.has_value());
  RC_ASSERT(*ids == plainly(vocab, text));
}

}  // namespace
}  // namespace octavo

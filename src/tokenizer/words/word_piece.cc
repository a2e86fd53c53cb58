#include "tokenizer/words/word_piece.h"

#include <algorithm>
#include <utility>

namespace octavo {

Result<WordPiece> WordPiece::create(const Vocab& vocab, std::size_t max_characters) {
  std::vector<TextTrie::Entry> first;
  std::vector<TextTrie::Entry> later;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    if (!vocab.is_ordinary(id)) continue;
    std::string_view text = vocab.text(id);
    const bool begins_word = text.starts_with(kSpaceMark);
    if (begins_word) text.remove_prefix(kSpaceMark.size());
    (begins_word ? first : later).push_back({text, id});
  }
  WordPiece result(vocab.unknown().value(), max_characters);
  OCTAVO_TRY(result.first_, TextTrie::create(std::move(first)));
  OCTAVO_TRY(result.later_, TextTrie::create(std::move(later)));
  return result;
}

void WordPiece::encode(std::string_view word, std::vector<TokenId>& out) const {
  const auto is_character = [](char c) { return (c & 0xC0) != 0x80; };
  if (word.size() > max_characters_ && to_size(std::ranges::count_if(word, is_character)) > max_characters_) {
    out.push_back(unknown_);
    return;
  }
  const std::size_t num_before = out.size();
  const TextTrie* trie = &first_;
  while (!word.empty()) {
    TokenId longest = -1;
    std::size_t length = 0;
    TextTrie::Node node = TextTrie::kRoot;
    for (std::size_t i = 0; i < word.size(); ++i) {
      node = trie->next(node, word[i]);
      if (node == TextTrie::kRoot) break;
      const bool is_whole = i + 1 == word.size() || is_character(word[i + 1]);
      if (!is_whole || trie->value(node) < 0) continue;
      longest = trie->value(node);
      length = i + 1;
    }
    if (longest < 0) {
      out.resize(num_before);
      out.push_back(unknown_);
      return;
    }
    out.push_back(longest);
    word.remove_prefix(length);
    trie = &later_;
  }
}

}  // namespace octavo

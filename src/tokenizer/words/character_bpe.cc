#include "tokenizer/words/character_bpe.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/words/spm.h"

namespace octavo {

Result<CharacterBpe> CharacterBpe::create(const Vocab& vocab, std::span<const MergeText> merges,
                                          const UnknownCharacters& unknown, std::string_view where,
                                          std::string_view file) {
  OCTAVO_TRY(Bpe bpe, Bpe::create(vocab, merges, {}, where));
  CharacterBpe result(std::move(bpe), unknown);
  if (unknown.become == UnknownCharacters::Become::kBytes) {
    OCTAVO_TRY(result.byte_tokens_, byte_fallback_tokens(vocab, file));
  }
  return result;
}

void CharacterBpe::add_unknown(std::string_view character, bool is_after_unknown, std::vector<TokenId>& tokens) const {
  switch (unknown_.become) {
    case UnknownCharacters::Become::kBytes:
      for (const char c : character) tokens.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
      return;
    case UnknownCharacters::Become::kUnknown: tokens.push_back(unknown_.token); return;
    case UnknownCharacters::Become::kOneUnknown:
      if (!is_after_unknown) tokens.push_back(unknown_.token);
      return;
    case UnknownCharacters::Become::kNothing: return;
  }
}

void CharacterBpe::encode(const Vocab& vocab, std::string_view text, Bpe::Scratch& scratch,
                          std::vector<TokenId>& out) const {
  scratch.tokens.clear();
  bool is_after_unknown = false;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, std::min(utf8_announced_length(text.front()), text.size()));
    const TokenId token = vocab.find_ordinary(character);
    if (token >= 0) {
      scratch.tokens.push_back(token);
    } else {
      add_unknown(character, is_after_unknown, scratch.tokens);
    }
    is_after_unknown = token < 0;
    text.remove_prefix(character.size());
  }
  bpe_.merge(scratch, out);
}

}  // namespace octavo

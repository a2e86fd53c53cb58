#include "tokenizer/character_bpe.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/spm.h"

namespace octavo {

Result<CharacterBpe> CharacterBpe::create(const Vocab& vocab, std::span<const std::string_view> merges,
                                          std::string_view file) {
  OCTAVO_TRY(Bpe bpe, Bpe::create(vocab, merges, false, file));
  OCTAVO_TRY(const auto byte_tokens, byte_fallback_tokens(vocab, file));
  return CharacterBpe(std::move(bpe), byte_tokens);
}

void CharacterBpe::encode(const Vocab& vocab, std::string_view text, Bpe::Scratch& scratch,
                          std::vector<TokenId>& out) const {
  scratch.tokens.clear();
  while (!text.empty()) {
    const std::string_view character = text.substr(0, std::min(utf8_announced_length(text.front()), text.size()));
    const TokenId token = vocab.find_ordinary(character);
    if (token >= 0) {
      scratch.tokens.push_back(token);
    } else {
      for (const char c : character) scratch.tokens.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
    }
    text.remove_prefix(character.size());
  }
  bpe_.merge(scratch, out);
}

}  // namespace octavo

#include "tokenizer/end_tokens.h"

#include <map>
#include <string_view>

#include "tokenizer/words/end_of_generation.h"

namespace octavo {

std::vector<EndToken> list_end_tokens(const ModelSource& source, const Vocab& vocab) {
  std::map<TokenId, std::string_view> keys;
  for (const std::string_view key : end_token_keys())
    if (const auto id = read_token_id(source, key, vocab.size()); id && *id) keys.try_emplace(**id, key);
  if (const auto ids = source.get_i32_array(kEosIdsKey))
    for (const std::int32_t id : *ids) keys.try_emplace(id, kEosIdsKey);
  std::vector<EndToken> all;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    if (!vocab.is_end_of_generation(id)) continue;
    const auto key = keys.find(id);
    const std::string_view why = key != keys.end() ? key->second : "its text";
    all.push_back({.id = id, .text = std::string(vocab.text(id)), .source = std::string(why)});
  }
  return all;
}

}  // namespace octavo

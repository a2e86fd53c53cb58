#include "engine/text/constraint_words.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/to_size.h"

namespace octavo {
namespace {

/// A token that loses the space at its front where a text begins; none: no token does.
std::optional<TokenId> find_space_dropper(const Tokenizer& tokenizer, int num_tokens) {
  for (TokenId id = 0; id < num_tokens; ++id)
    if (tokenizer.bytes_after(std::nullopt, id).size() < tokenizer.token_bytes(id).size()) return id;
  return std::nullopt;
}

/// The last tokens of `ids`, if `text` is exactly what they spell after `previous`.
std::optional<std::vector<TokenId>> tokens_that_spell(const Tokenizer& tokenizer, std::span<const TokenId> ids,
                                                      std::optional<TokenId> previous, std::string_view text) {
  std::size_t num_bytes = 0;
  for (std::size_t begin = ids.size(); begin > 0; --begin) {
    num_bytes += tokenizer.token_bytes(ids[begin - 1]).size();
    if (num_bytes < text.size()) continue;
    std::string spelled;
    std::optional<TokenId> before = previous;
    for (const TokenId id : ids.subspan(begin - 1)) {
      spelled += tokenizer.bytes_after(before, id);
      before = id;
    }
    if (spelled == text) return std::vector<TokenId>(ids.begin() + static_cast<std::ptrdiff_t>(begin - 1), ids.end());
    if (num_bytes > text.size() + 1) break;  // one more byte: a space that is dropped
  }
  return std::nullopt;
}

/// The tokens of `text`, as ConstraintVocabulary::Encoder wants them. What stands before a text may change its tokens,
/// so three ways are tried: after the previous token, after a line break, and alone.
std::vector<TokenId> encode_behind(const Tokenizer& tokenizer, std::optional<TokenId> previous, std::string_view text) {
  std::vector<std::string> contexts;
  const bool is_known = previous && *previous >= 0 && *previous < tokenizer.vocab_size();
  if (is_known && !tokenizer.is_control(*previous)) {
    contexts.emplace_back(tokenizer.token_bytes(*previous));
    contexts.emplace_back("\n");
  }
  contexts.emplace_back();
  for (const std::string& context : contexts) {
    const auto ids = tokenizer.encode(context + std::string(text), {.add_special = false, .parse_special = false});
    if (!ids) continue;
    if (auto tokens = tokens_that_spell(tokenizer, *ids, is_known ? previous : std::nullopt, text)) return *tokens;
  }
  return {};
}

}  // namespace

std::shared_ptr<const ConstraintVocabulary> constraint_vocabulary(const ModelTokenizer& words, int num_drawable) {
  const Tokenizer& tokenizer = *words.tokenizer();
  const ReasoningMarks* marks = words.reasoning();
  const std::optional<TokenId> dropper = find_space_dropper(tokenizer, num_drawable);
  std::vector<ConstraintVocabulary::Token> tokens(to_size(num_drawable));
  for (TokenId id = 0; id < num_drawable; ++id) {
    ConstraintVocabulary::Token& token = tokens[to_size(id)];
    const bool is_mark = marks != nullptr && marks->find_token(id) != nullptr;
    if (!tokenizer.is_control(id) && !is_mark) token.bytes = tokenizer.token_bytes(id);
    token.ends_answer = words.is_end_of_generation(id);
    token.drops_space = dropper && tokenizer.bytes_after(id, *dropper).size() < tokenizer.token_bytes(*dropper).size();
  }
  return std::make_shared<const ConstraintVocabulary>(
      std::move(tokens), dropper.has_value(), [&tokenizer](std::optional<TokenId> previous, std::string_view text) {
        return encode_behind(tokenizer, previous, text);
      });
}

TokenNames constraint_token_names(const ModelTokenizer& words, int num_drawable) {
  return {.num_tokens = to_size(num_drawable), .find = [&words](std::string_view text) -> std::optional<TokenId> {
            const auto tokens = words.tokenizer()->encode(text, {.add_special = false, .parse_special = true});
            if (!tokens || tokens->size() != 1) return std::nullopt;
            return tokens->front();
          }};
}

}  // namespace octavo

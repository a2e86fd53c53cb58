#include "engine/constraint_words.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/to_size.h"

namespace octavo {
namespace {

/// A token that loses the space at its front where a text begins; none: the words keep it.
std::optional<TokenId> find_space_dropper(const Tokenizer& tokenizer, int num_tokens) {
  for (TokenId id = 0; id < num_tokens; ++id)
    if (tokenizer.bytes_after(std::nullopt, id).size() < tokenizer.token_bytes(id).size()) return id;
  return std::nullopt;
}

}  // namespace

std::shared_ptr<const ConstraintVocabulary> constraint_vocabulary(const Words& words, int num_drawable) {
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
  return std::make_shared<const ConstraintVocabulary>(std::move(tokens), dropper.has_value());
}

TokenNames constraint_token_names(const Words& words, int num_drawable) {
  return {.num_tokens = to_size(num_drawable), .find = [&words](std::string_view text) -> std::optional<TokenId> {
            const auto tokens = words.tokenizer()->encode(text, {.add_special = false, .parse_special = true});
            if (!tokens || tokens->size() != 1) return std::nullopt;
            return tokens->front();
          }};
}

}  // namespace octavo

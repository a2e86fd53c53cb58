// Small vocabularies for tests of constraints.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "constraint/constraint_state.h"

namespace octavo::test {

/// The texts, which it keeps, then one end token.
inline std::shared_ptr<const ConstraintVocabulary> make_vocabulary(std::vector<std::string> texts,
                                                                   bool drops_first_space = false) {
  struct Kept {
    std::vector<std::string> texts;
    std::unique_ptr<const ConstraintVocabulary> vocabulary;
  };
  const auto kept = std::make_shared<Kept>(Kept{.texts = std::move(texts), .vocabulary = nullptr});
  std::vector<ConstraintVocabulary::Token> tokens;
  for (const std::string& text : kept->texts) tokens.push_back({.bytes = text});
  tokens.push_back({.bytes = "<end>", .ends_answer = true, .drops_space = drops_first_space});
  kept->vocabulary = std::make_unique<const ConstraintVocabulary>(std::move(tokens), drops_first_space);
  return {kept, kept->vocabulary.get()};
}

/// Every byte as a token, id by value.
inline std::shared_ptr<const ConstraintVocabulary> byte_vocabulary() {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  return make_vocabulary(std::move(texts));
}

inline bool allows_token(std::span<const MaskWord> mask, std::size_t token) {
  return (mask[token / kMaskBits] >> token % kMaskBits & 1) != 0;
}

inline std::vector<TokenId> allowed_tokens(const ConstraintState& state, const ConstraintVocabulary& vocabulary) {
  std::vector<MaskWord> mask(mask_words(vocabulary.size()));
  if (!state.allow(mask)) return {};
  std::vector<TokenId> tokens;
  for (std::size_t id = 0; id < vocabulary.size(); ++id)
    if (allows_token(mask, id)) tokens.push_back(static_cast<TokenId>(id));
  return tokens;
}

/// The text fulfils the constraint, which is over byte_vocabulary().
inline bool takes(const std::shared_ptr<const CompiledConstraint>& compiled, std::string_view text) {
  ConstraintState state;
  state.begin(compiled, std::nullopt);
  for (const char c : text)
    if (!state.accept(static_cast<unsigned char>(c))) return false;
  return state.may_end();
}

/// The whole text fulfils the grammar, byte by byte through masks.
inline bool fulfils(const Grammar& grammar, std::string_view text) {
  static const auto vocabulary = byte_vocabulary();
  const auto compiled = CompiledConstraint::create(grammar, vocabulary);
  if (!compiled) throw std::runtime_error(compiled.error().message);
  ConstraintState state;
  state.begin(*compiled, std::nullopt);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const std::vector<TokenId> allowed = allowed_tokens(state, *vocabulary);
    const bool is_allowed = std::ranges::find(allowed, TokenId{byte}) != allowed.end();
    if (state.accept(byte) != is_allowed) throw std::runtime_error("mask and accept() differ");
    if (!is_allowed) return false;
  }
  return state.may_end();
}

}  // namespace octavo::test

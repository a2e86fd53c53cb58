#include "constraint/compiled_constraint.h"

#include <utility>

#include "constraint/constraint_state.h"

namespace octavo {
namespace {

std::vector<std::string_view> bytes_of(std::span<const ConstraintVocabulary::Token> tokens) {
  std::vector<std::string_view> bytes;
  bytes.reserve(tokens.size());
  for (const ConstraintVocabulary::Token& token : tokens)
    bytes.push_back(token.ends_answer ? std::string_view() : token.bytes);
  return bytes;
}

}  // namespace

ConstraintVocabulary::ConstraintVocabulary(std::vector<Token> tokens, bool drops_first_space, Encoder encoder)
    : tokens_(std::move(tokens)),
      trie_(bytes_of(tokens_)),
      drops_first_space_(drops_first_space),
      encoder_(std::move(encoder)) {
  for (std::size_t id = 0; id < tokens_.size(); ++id)
    if (tokens_[id].ends_answer) end_tokens_.push_back(static_cast<TokenId>(id));
}

Result<std::shared_ptr<const CompiledConstraint>> CompiledConstraint::create(
    const Grammar& grammar, std::shared_ptr<const ConstraintVocabulary> vocabulary, std::vector<std::string> warnings) {
  OCTAVO_TRY(Automaton automaton, Automaton::build(grammar));
  const std::shared_ptr<const CompiledConstraint> compiled(
      new CompiledConstraint(std::move(automaton), std::move(vocabulary), std::move(warnings)));
  ConstraintState state;
  state.begin(compiled, std::nullopt);
  std::vector<MaskWord> mask(mask_words(compiled->vocabulary()->size()));
  if (!state.allow(mask)) return fail("found a constraint that is too ambiguous to be followed in time");
  return Result<std::shared_ptr<const CompiledConstraint>>(compiled);
}

CompiledConstraint::CompiledConstraint(Automaton automaton, std::shared_ptr<const ConstraintVocabulary> vocabulary,
                                       std::vector<std::string> warnings)
    : Constraint(std::move(warnings)),
      automaton_(std::move(automaton)),
      vocabulary_(std::move(vocabulary)),
      masks_(automaton_, vocabulary_->trie(), vocabulary_->size()) {}

}  // namespace octavo

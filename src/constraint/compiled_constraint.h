// A constraint that is ready to be followed: its automaton, the vocabulary whose tokens it allows, and the masks found
// so far.
//
// Shared by all answers under the same constraint; any thread may use it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/to_size.h"
#include "constraint/automaton/automaton.h"
#include "constraint/masks/constraint_memory.h"
#include "constraint/masks/token_masks.h"
#include "constraint/trie/token_trie.h"
#include "octavo/constraint.h"

namespace octavo {

/// The tokens of a model as constraints see them.
class ConstraintVocabulary {
 public:
  struct Token {
    std::string_view bytes = {};  // the bytes of the token's text; empty: bytes never allow it
    bool ends_answer = false;     // an end token, allowed where the constraint may end
    bool drops_space = false;     // the text loses a space at the front of the token behind this one
  };

  /// The tokens in which the tokenizer writes a text behind a token, or at a text's beginning; none: the tokenizer
  /// would join the text with the text before it. Any thread may call it.
  using Encoder = std::function<std::vector<TokenId>(std::optional<TokenId> previous, std::string_view text)>;

  /// The bytes must outlive the vocabulary. `drops_first_space` is Token::drops_space of an answer that begins a text.
  /// Without an encoder any tokens may spell a text that is forced.
  ConstraintVocabulary(std::vector<Token> tokens, bool drops_first_space, Encoder encoder = {});

  const Token& at(TokenId id) const { return tokens_[to_size(id)]; }
  std::size_t size() const { return tokens_.size(); }
  const TokenTrie& trie() const { return trie_; }
  std::span<const TokenId> end_tokens() const { return end_tokens_; }
  /// The bytes that its texts can have: those of its tokens.
  const Automaton::ByteSet& written() const { return written_; }
  bool drops_first_space() const { return drops_first_space_; }
  bool has_encoder() const { return encoder_ != nullptr; }
  std::vector<TokenId> encode(std::optional<TokenId> previous, std::string_view text) const {
    return encoder_(previous, text);
  }

 private:
  std::vector<Token> tokens_;
  std::vector<TokenId> end_tokens_;
  Automaton::ByteSet written_;
  TokenTrie trie_;
  bool drops_first_space_;
  Encoder encoder_;
};

class CompiledConstraint final : public Constraint {
 public:
  /// Errors: those of Automaton::build(); a constraint whose first token cannot be found within TokenMasks::kMaxWork;
  /// a stop.
  struct Parts {
    std::shared_ptr<const ConstraintVocabulary> vocabulary;
    std::vector<std::string> warnings = {};
    std::string name = "a constraint";  // the kind and the beginning of the source, for errors
    std::shared_ptr<ConstraintMemory> memory = std::make_shared<ConstraintMemory>();
    /// Makes room in the memory by dropping a constraint that nobody uses. False: there is no such constraint.
    std::function<bool()> make_room = [] { return false; };
    std::stop_token stop = {};
  };
  /// Waits where the memory is full of others' automata, until they are gone or the token asks to stop.
  static Result<std::shared_ptr<const CompiledConstraint>> create(const Grammar& grammar, Parts parts);
  static Result<std::shared_ptr<const CompiledConstraint>> create(
      const Grammar& grammar, std::shared_ptr<const ConstraintVocabulary> vocabulary) {
    return create(grammar, Parts{.vocabulary = std::move(vocabulary)});
  }
  ~CompiledConstraint() override;

  const Automaton& automaton() const { return automaton_; }
  const std::shared_ptr<const ConstraintVocabulary>& vocabulary() const { return vocabulary_; }
  /// The kind and the beginning of the source, for errors.
  const std::string& name() const { return name_; }
  /// The masks of the constraint; kept masks do not change an answer.
  TokenMasks& masks() const { return masks_; }

 private:
  CompiledConstraint(Automaton automaton, Parts& parts);

  const Automaton automaton_;
  const std::shared_ptr<const ConstraintVocabulary> vocabulary_;
  const std::shared_ptr<ConstraintMemory> memory_;
  const std::string name_;
  mutable TokenMasks masks_;
};

}  // namespace octavo

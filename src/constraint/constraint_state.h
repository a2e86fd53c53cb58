// The place of an answer in its constraint: the tokens that may follow, and whether the answer may end.
//
// Each choice has one. The thread that drives the engine moves it on; threads that draw read it. It depends on the
// constraint and the answer's own tokens alone.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "constraint/compiled_constraint.h"

namespace octavo {

class ConstraintState {
 public:
  /// A state without a constraint, which allows no other call.
  void end() { constraint_ = nullptr; }
  /// Begins an answer under a constraint, behind the token `previous`, if there is one.
  void begin(std::shared_ptr<const CompiledConstraint> constraint, std::optional<TokenId> previous);
  bool is_on() const { return constraint_ != nullptr; }

  /// Sets the bits of the tokens that may follow, end tokens included. `mask` has a bit for each token of the
  /// vocabulary, none of them set. Errors: those of TokenMasks::allow().
  FoundMask allow(std::span<MaskWord> mask, const MaskSearch& search = {}) const;
  /// Whether allow() needs no search: the mask is kept, or it is known without one.
  bool is_mask_kept() const;
  /// Sets all bits but those of end tokens, for text in front of the constrained one, which must not be the last.
  void allow_all_but_ends(std::span<MaskWord> mask) const;
  /// Moves on by a token. False: the constraint does not allow the token, and allows no token from now on.
  bool accept(TokenId token);
  /// Notes a token in front of the constrained text that is no part of it.
  void pass(TokenId token);
  /// Whether the text so far fulfils the constraint.
  bool may_end() const { return set_.is_complete; }
  /// Whether the text fulfils the constraint, nothing can follow, and the vocabulary has no end token.
  bool must_stop() const {
    return set_.is_complete && set_.members.empty() && constraint_->vocabulary()->end_tokens().empty();
  }
  /// The tokens that must follow, the next one first: text without a choice, as the tokenizer writes it. allow() gives
  /// only the first of them.
  std::span<const TokenId> forced() const { return std::span(forced_).subspan(num_forced_taken_); }
  /// The sum of the steps that its masks and tokens count for.
  std::uint64_t work() const { return work_; }
  /// Notes that a token is drawn from a mask that counts for `mask_work` steps.
  void count(std::uint64_t mask_work) { work_ += mask_work; }
  /// Whether the steps are more than an answer may take.
  bool is_spent() const { return work_ > kMaxWork; }
  static constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 33;
  /// Whether no token was accepted yet.
  bool is_at_start() const { return is_at_start_; }

 private:
  static constexpr std::size_t kFewStacks = 4096;

  ConfigurationSet after_bytes(std::string_view bytes);
  void drop_unused_stacks();
  void move_behind(TokenId token);
  void find_forced();

  std::shared_ptr<const CompiledConstraint> constraint_;
  CallStacks stacks_;
  ConfigurationSet set_;
  std::optional<TokenId> previous_ = {};  // the last token, of the answer or before it
  std::vector<TokenId> forced_ = {};
  std::size_t num_forced_taken_ = 0;  // the first of these, which the answer has
  bool drops_space_ = false;
  std::uint64_t work_ = 0;
  bool is_at_start_ = true;
  bool has_ended_ = false;                // an end token was taken
  std::size_t most_stacks_ = kFewStacks;  // the most stacks before unused ones are dropped
};

}  // namespace octavo

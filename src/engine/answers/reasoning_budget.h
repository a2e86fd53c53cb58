// The tokens that close an answer's reasoning when its budget is spent: they replace what would be drawn.
//
// One for each choice. It depends on the answer's own tokens only, so the same tokens are forced whatever runs beside
// it. The thread that drives the engine moves it on; threads that draw read it.
#pragma once

#include <span>

#include "octavo/kv/types.h"

namespace octavo {

class ReasoningBudget {
 public:
  /// The state of an answer before its first token, or after one of them.
  struct State {
    bool is_inside_reasoning = false;
    bool is_inside_character = false;
  };

  /// Begins another answer with at most `most` tokens of reasoning; -1: any number. `closing`: the tokens that end
  /// reasoning, which must outlive this.
  void restart(int most, std::span<const TokenId> closing, State state);
  /// Notes a token that was appended. `was_inside`: it belongs to reasoning.
  void advance(bool was_inside, State state);

  /// The next token, whatever the model says; -1: it is drawn.
  TokenId forced() const { return next_ < closing_.size() ? closing_[next_] : -1; }

 private:
  /// The most tokens that an incomplete character waits for: a token that completes one may begin the next.
  static constexpr int kMaxWaits = 3;

  void decide(State state);

  int most_ = -1;
  std::span<const TokenId> closing_;
  std::size_t next_ = 0;  // an index of `closing_`; its size: nothing is forced
  int num_spent_ = 0;
  int num_waits_ = 0;  // how many tokens have come since the budget was spent, while a character is incomplete
};

}  // namespace octavo

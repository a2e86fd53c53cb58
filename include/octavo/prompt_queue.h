// The prompts that an engine has still to compute, counted by how much of each is left.
//
// A value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace octavo {

struct PromptQueue {
  static constexpr std::size_t kSizes = 32;

  std::array<std::uint64_t, kSizes> tokens = {};  // [i]: left to compute of prompts with 2^i to 2^(i+1) - 1 tokens left
  double token_s = 0;  // the predicted seconds for one of these tokens, beside the answers that run; 0: not predicted

  /// Adds a prompt with so many tokens left, at least 1.
  void add(std::uint64_t num_left);
  std::uint64_t num_tokens() const;
  /// The tokens that are computed before a new prompt of so many tokens begins: those of prompts with no more left, as
  /// the shortest goes first. Prompts of about its own length count too.
  std::uint64_t num_before(std::uint64_t num_tokens) const;
  /// The predicted seconds until a new prompt of so many tokens begins, as far as other prompts keep it waiting.
  double seconds_before(std::uint64_t num_tokens) const {
    return token_s * static_cast<double>(num_before(num_tokens));
  }
};

}  // namespace octavo

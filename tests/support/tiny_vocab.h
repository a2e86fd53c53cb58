// A byte-level vocabulary of a few tokens, for tests that need a Tokenizer and no model.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/memory_source.h"
#include "tokenizer/tokenizer.h"

namespace octavo::test {

inline constexpr TokenId kTinyEos = 0;             // an end of generation
inline constexpr TokenId kTinyControl = 1;         // never shown
inline constexpr TokenId kTinyEuro[] = {2, 3, 4};  // the three bytes of the euro sign
inline constexpr TokenId kTinyA = 5;               // 'A', then the characters that follow it

/// `size` tokens, at least 6 and at most 60.
inline std::unique_ptr<const Tokenizer> tiny_tokenizer(int size) {
  // Bytes E2 82 AC in the byte-level alphabet.
  std::vector<std::string> tokens = {"<eos>", "<s>", "\u00E2", "\u0124", "\u00AC"};
  std::vector<std::int32_t> types = {3, 3, 1, 1, 1};
  while (static_cast<int>(tokens.size()) < size) {
    tokens.emplace_back(1, static_cast<char>('A' + static_cast<int>(tokens.size()) - kTinyA));
    types.push_back(1);
  }
  MemorySource source;
  source.add("general.architecture", "llama").add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "gpt-2");
  source.add_array("tokenizer.ggml.tokens", tokens).add_array("tokenizer.ggml.token_type", types);
  source.add_array("tokenizer.ggml.merges", std::vector<std::string>{});
  source.add("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(kTinyEos));
  Result<Tokenizer> tokenizer = Tokenizer::load(source);
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  return std::make_unique<const Tokenizer>(std::move(*tokenizer));
}

}  // namespace octavo::test

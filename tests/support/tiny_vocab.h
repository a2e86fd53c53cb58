// A byte-level vocabulary of a few tokens, for tests that need a ChatTokenizer and no model.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "chat/chat_tokenizer.h"
#include "support/memory_source.h"

namespace octavo::test {

inline constexpr TokenId kTinyEos = 0;             // an end of generation
inline constexpr TokenId kTinyControl = 1;         // never shown
inline constexpr TokenId kTinyEuro[] = {2, 3, 4};  // the three bytes of the euro sign
inline constexpr TokenId kTinyA = 5;               // 'A', then the characters that follow it

inline constexpr TokenId kTinyThink = 29, kTinyThinkEnd = 30;  // of reasoning_tokenizer()

struct TinyVocab {
  // Bytes E2 82 AC in the byte-level alphabet.
  std::vector<std::string> tokens = {"<eos>", "<s>", "\u00E2", "\u0124", "\u00AC"};
  std::vector<std::int32_t> types = {3, 3, 1, 1, 1};
  std::string chat_template = {};  // empty: none

  explicit TinyVocab(int size) {
    while (static_cast<int>(tokens.size()) < size) {
      tokens.emplace_back(1, static_cast<char>('A' + static_cast<int>(tokens.size()) - kTinyA));
      types.push_back(1);
    }
  }
  /// A token in the place of another.
  void set(TokenId id, std::string text, std::int32_t type) {
    tokens[static_cast<std::size_t>(id)] = std::move(text);
    types[static_cast<std::size_t>(id)] = type;
  }
  /// Adds it to a model's keys. `Keys`: MemorySource or GgufWriter.
  template <class Keys>
  void add_to(Keys& keys) const {
    if (!chat_template.empty()) keys.add("tokenizer.chat_template", chat_template);
    keys.add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "gpt-2");
    keys.add_array("tokenizer.ggml.tokens", tokens).add_array("tokenizer.ggml.token_type", types);
    keys.add_array("tokenizer.ggml.merges", std::vector<std::string>{});
    keys.add("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(kTinyEos));
  }
  std::unique_ptr<const ChatTokenizer> load() const;
};

inline std::unique_ptr<const ChatTokenizer> TinyVocab::load() const {
  MemorySource source;
  source.add("general.architecture", "llama");
  add_to(source);
  Result<ChatTokenizer> tokenizer = ChatTokenizer::load(source);
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  return std::make_unique<const ChatTokenizer>(std::move(*tokenizer));
}

/// `size` tokens, at least 6 and at most 60.
inline std::unique_ptr<const ChatTokenizer> tiny_tokenizer(int size) { return TinyVocab(size).load(); }

/// The same, 31 to 60 tokens, with marks around reasoning that are one token each.
inline std::unique_ptr<const ChatTokenizer> reasoning_tokenizer(int size) {
  constexpr std::int32_t kUserDefined = 4;
  TinyVocab vocab(size);
  vocab.set(kTinyThink, "<think>", kUserDefined);
  vocab.set(kTinyThinkEnd, "</think>", kUserDefined);
  return vocab.load();
}

/// The same with marks that are text: "[THINK]" and "[/THINK]", a token each character.
inline std::unique_ptr<const ChatTokenizer> text_reasoning_tokenizer(int size) {
  TinyVocab vocab(size);
  vocab.set(kTinyThink, "/", 1);
  vocab.set(kTinyThinkEnd, "]", 1);
  vocab.chat_template = "[THINK]{{ messages[0].content }}[/THINK]";
  return vocab.load();
}

}  // namespace octavo::test

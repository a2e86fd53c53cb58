// Vocabularies of a few tokens, written by the test that uses them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "source/open_model.h"
#include "support/gguf_writer.h"
#include "support/temp_file.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/words/byte_level.h"

namespace octavo::test {

inline constexpr std::int32_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kByte = 6;

/// The fields of the file; tests change one and write it.
struct SmallVocab {
  std::string model{};
  std::string pre{};  // empty: no such key
  std::vector<std::string> tokens{};
  std::vector<std::int32_t> types{};
  std::vector<float> scores{};                               // empty: no such key
  std::vector<std::string> merges{};                         // with model "gpt2"
  std::vector<std::pair<std::string, std::uint32_t>> ids{};  // tokenizer.ggml.<first>
  std::vector<std::pair<std::string, bool>> flags{};
  std::string chat_template{};

  TokenId add(std::string text, std::int32_t type = kNormal, float score = 0) {
    tokens.push_back(std::move(text));
    types.push_back(type);
    if (model == "llama" || model == "t5") scores.push_back(score);
    return static_cast<TokenId>(tokens.size()) - 1;
  }

  /// `change` may add to the file or, with a vocabulary that lacks a field, write that field itself.
  template <class Words = Tokenizer, class Change>
  Result<Words> load_with(Change change) const {
    GgufWriter writer;
    if (!model.empty()) writer.add("tokenizer.ggml.model", model);
    if (!pre.empty()) writer.add("tokenizer.ggml.pre", pre);
    if (!tokens.empty()) writer.add_array("tokenizer.ggml.tokens", tokens);
    if (!types.empty()) writer.add_array("tokenizer.ggml.token_type", types);
    if (!scores.empty()) writer.add_array("tokenizer.ggml.scores", scores);
    if (model == "gpt2") writer.add_array("tokenizer.ggml.merges", merges);
    for (const auto& [key, id] : ids) writer.add("tokenizer.ggml." + key, id);
    for (const auto& [key, flag] : flags) writer.add("tokenizer.ggml." + key, flag);
    if (!chat_template.empty()) writer.add("tokenizer.chat_template", chat_template);
    change(writer);
    const TempFile file(writer.bytes(), ".gguf");
    const auto source = open_model(file.path());
    if (!source) return std::unexpected(source.error());
    return Words::load(**source);
  }
  template <class Words = Tokenizer>
  Result<Words> load() const {
    return load_with<Words>([](GgufWriter&) {});
  }
};

/// All 256 bytes as tokens 0 to 255, a few merges, then the control tokens <|endoftext|>, <|im_start|>, <|im_end|>.
inline SmallVocab small_bpe() {
  SmallVocab vocab{.model = "gpt2", .pre = "gpt-2"};
  const ByteAlphabet alphabet;
  for (unsigned byte = 0; byte < 256; ++byte) {
    vocab.add(std::string(alphabet.character(static_cast<std::uint8_t>(byte))));
  }
  const std::vector<std::pair<std::string, std::string>> merges = {
      {"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}, {"\u0120", "w"}, {"\u0120", "\u0120"}, {"\u00C3", "\u00A9"}};
  for (const auto& [left, right] : merges) {
    vocab.add(left + right);
    vocab.merges.push_back(left + " " + right);
  }
  for (const char* text : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) vocab.add(text, kControl);
  return vocab;
}

/// <unk>, <s>, </s>, the bytes, "▁", letters and a few words with scores.
inline SmallVocab small_spm() {
  SmallVocab vocab{.model = "llama"};
  vocab.add("<unk>", kUnknown);
  vocab.add("<s>", kControl);
  vocab.add("</s>", kControl);
  for (unsigned byte = 0; byte < 256; ++byte) vocab.add(fmt::format("<0x{:02X}>", byte), kByte);
  vocab.add("\u2581", kNormal, -10);
  for (char c = 'a'; c <= 'z'; ++c) vocab.add(std::string(1, c), kNormal, -20);
  vocab.add("he", kNormal, -3);
  vocab.add("ll", kNormal, -2);
  vocab.add("hell", kNormal, -4);
  vocab.add("hello", kNormal, -5);
  vocab.add("\u2581hello", kNormal, -6);
  vocab.add("lo", kNormal, -7);
  vocab.ids = {{"bos_token_id", 1}, {"eos_token_id", 2}, {"unknown_token_id", 0}};
  return vocab;
}

/// WordPiece as llama.cpp's converter writes it: U+2581 in front of what begins a word, special ids from 0 on.
inline SmallVocab small_word_piece() {
  SmallVocab vocab{.model = "bert"};
  for (const char* text : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) vocab.add(text, kControl);
  for (const char* text : {"\u2581hello", "s", "\u2581world", "\u2581,", "\u2581!", "\u2581naive", "\u2581\u4E2D",
                           "\u2581a", "a", "\u2581na\u00EFve"})
    vocab.add(text);
  vocab.ids = {{"unknown_token_id", 1}, {"cls_token_id", 2}, {"seperator_token_id", 3}};
  return vocab;
}

/// Unigram as XLM-RoBERTa's files have it, without a charsmap.
inline SmallVocab small_unigram() {
  SmallVocab vocab{.model = "t5"};
  for (const char* text : {"<s>", "<pad>", "</s>"}) vocab.add(text, kControl);
  vocab.add("<unk>", kUnknown);
  vocab.add("\u2581", kNormal, -3.5F);
  vocab.add("\u2581he", kNormal, -4.25F);
  vocab.add("llo", kNormal, -5.5F);
  vocab.add("\u2581hello", kNormal, -10);
  vocab.add("l", kNormal, -6);
  vocab.add("o", kNormal, -6.1F);
  vocab.add("a", kNormal, -7);
  vocab.add("b", kNormal, -7.2F);
  vocab.add("ab", kNormal, -15);
  vocab.add("\u2581ab", kNormal, -12);
  vocab.ids = {{"bos_token_id", 0}, {"eos_token_id", 2}, {"unknown_token_id", 3}, {"seperator_token_id", 2}};
  vocab.flags = {{"add_bos_token", true}, {"add_eos_token", true}};
  return vocab;
}

}  // namespace octavo::test

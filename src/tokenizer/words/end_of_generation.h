// Tokens known by their text, for files that do not name them by key.
//
// Converters often leave out tokenizer.ggml.eot_token_id and its kin or give such a token the wrong type, so llama.cpp
// recognises the texts below (llama-vocab.cpp, "auto-detect special tokens by text") and ids must agree with it.
// Free functions, any thread.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace octavo {

/// Whether a token of this text is a control token, whatever type the file gives it.
bool is_known_control_text(std::string_view text);

/// Whether a token of this text ends an answer. "</s>" does not, though llama.cpp has it: Gemma writes that text as an
/// HTML tag, and files that mean it as the end say so by tokenizer.ggml.eos_token_id.
bool is_known_end_text(std::string_view text);

/// The keys that name a token which ends an answer.
std::span<const std::string_view> end_token_keys();
/// The key of a list of further tokens that end an answer.
inline constexpr std::string_view kEosIdsKey = "tokenizer.ggml.eos_token_ids";

/// A text that ends an answer only in a vocabulary that has other texts too.
struct EndRule {
  std::string_view text;
  std::array<std::string_view, 2> beside;  // "": no other text is needed
  bool is_end;
};
std::span<const EndRule> end_rules();

/// The end in a vocabulary whose keys and texts name no other, because an answer has to end.
inline constexpr std::string_view kLastResortEnd = "</s>";

}  // namespace octavo

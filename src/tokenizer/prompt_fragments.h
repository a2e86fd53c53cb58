// The parts of a prompt, cut into special tokens and the text between them. Free functions; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tokenizer/words/special_tokens.h"

namespace octavo {

/// Consecutive text of a prompt.
struct PromptPart {
  std::string text;
  bool is_template;  // the template's own text, in which control tokens count; otherwise a message's
};

std::size_t prompt_bytes(std::span<const PromptPart> parts);

/// Cuts a prompt. Tokens of `all_special` come from the template's text alone. Text between two of them, be it the
/// template's or a message's, is one piece, so that words form across the seam as in training; tokens of `anywhere` are
/// looked for in it. The fragments point into `text`.
std::vector<Fragment> cut_prompt(std::span<const PromptPart> parts, const SpecialTokens& all_special,
                                 const SpecialTokens& anywhere, std::string& text);

}  // namespace octavo

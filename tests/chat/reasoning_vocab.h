// Tokenizers whose vocabulary and template ask for a family's marks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_tokenizer.h"
#include "chat/reasoning_marks.h"
#include "tokenizer/small_vocab.h"

namespace octavo::test {

/// The <...>, |...| and [...] of a text, each once.
inline std::vector<std::string> control_texts_in(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char open = text[at];
    if (open != '<' && open != '[') continue;
    const std::size_t end = text.find(open == '<' ? '>' : ']', at);
    if (end == std::string_view::npos) continue;
    std::string part(text.substr(at, end + 1 - at));
    if (std::ranges::find(found, part) == found.end()) found.push_back(std::move(part));
  }
  return found;
}

/// The family's texts, one behind another.
inline std::string all_texts_of(const ReasoningFamily& family) {
  std::string text = std::string(family.open) + std::string(family.close) + std::string(family.answer);
  for (const std::string_view silent : family.silent) text += silent;
  return text;
}

/// `as_tokens`: each <...> of the marks is a token of that type; else the template has the marks as text.
inline ChatTokenizer family_tokenizer(const ReasoningFamily& family, bool as_tokens, std::int32_t type = kControl) {
  SmallVocab vocab = small_bpe();
  vocab.chat_template = std::string(family.sign) + std::string(family.open) + std::string(family.close);
  if (as_tokens)
    for (const std::string& text : control_texts_in(all_texts_of(family))) vocab.add(text, type);
  return std::move(*vocab.load<ChatTokenizer>());
}

inline const ReasoningFamily& family_called(std::string_view name) {
  for (const ReasoningFamily& family : reasoning_families())
    if (family.name == name) return family;
  throw std::runtime_error("no family of this name");
}

}  // namespace octavo::test

#include "chat/continued_message.h"

#include <string>

#include "base/error.h"
#include "chat/conversation.h"
#include "template/values/text.h"
#include "template/values/unicode.h"

namespace octavo {

namespace {

/// The length of a text without the spaces at its end, as Python's rstrip() has it.
std::size_t stripped_size(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) --begin;
    if (!jinja::is_space(jinja::code_point_at(text, begin))) return end;
    end = begin;
  }
  return 0;
}

std::string_view strip(std::string_view text) {
  text = text.substr(0, stripped_size(text));
  while (!text.empty() && jinja::is_space(jinja::code_point_at(text, 0)))
    text.remove_prefix(jinja::character_bytes(text.front()));
  return text;
}

}  // namespace

Result<void> cut_at_continue_mark(std::vector<jinja::RenderedSpan>& spans, std::string_view message) {
  std::string text;
  for (const jinja::RenderedSpan& span : spans) text += span.text;
  const std::string_view word = kContinueMark.substr(0, kContinueMark.size() - 1);
  const std::size_t mark = text.rfind(word);
  if (mark == std::string::npos || text.find(strip(message)) == std::string::npos) {
    return fail(
        "continue_final_message: the text of the last message is not in the prompt as it is, so it cannot be "
        "continued: "
        "the chat template leaves it out or changes it");
  }
  const bool keeps_spaces = std::string_view(text).substr(mark).starts_with(kContinueMark);
  std::size_t left = keeps_spaces ? mark : stripped_size(std::string_view(text).substr(0, mark));
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (left >= spans[i].text.size()) {
      left -= spans[i].text.size();
      continue;
    }
    spans[i].text.resize(left);
    spans.resize(left == 0 ? i : i + 1);
    break;
  }
  return {};
}

}  // namespace octavo

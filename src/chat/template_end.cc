#include "chat/template_end.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace octavo {

namespace {

constexpr std::string_view kQuestion = "Is it so?", kAnswer = "It is so.";

/// The control and user-defined tokens that the template writes after the answer, up to the next message's text.
std::vector<TokenId> tokens_behind_answer(std::span<const PromptPart> parts, const SpecialTokens& special) {
  std::vector<TokenId> found;
  std::size_t i = 0;
  while (i < parts.size() && (parts[i].is_template || parts[i].text.find(kAnswer) == std::string::npos)) ++i;
  for (++i; i < parts.size() && parts[i].is_template; ++i)
    for (const Fragment& fragment : special.split(parts[i].text))
      if (fragment.token >= 0) found.push_back(fragment.token);
  return found;
}

}  // namespace

std::optional<TokenId> end_by_template(const ChatTemplate& chat_template, const NamedTokens& tokens,
                                       const SpecialTokens& special, const Vocab& vocab) {
  const auto says = [](std::string_view role, std::string_view text) {
    ChatMessage message;
    message.role = role;
    message.content = text;
    return message;
  };
  const std::array<ChatMessage, 3> messages = {says("user", kQuestion), says("assistant", kAnswer),
                                               says("user", kQuestion)};
  ChatTemplateOptions options;
  options.add_generation_prompt = false;
  const auto behind = [&](std::size_t num_messages) {
    const auto parts = chat_template.render(std::span(messages).first(num_messages), tokens, options, std::tm{});
    return parts ? tokens_behind_answer(*parts, special) : std::vector<TokenId>();
  };
  const std::vector<TokenId> at_end = behind(2), before_next = behind(3);
  const auto ends = [&](TokenId id) { return vocab.is_end_of_generation(id); };
  if (std::ranges::any_of(at_end, ends) || std::ranges::any_of(before_next, ends)) return std::nullopt;
  // Both begin with the end of the turn; after it comes nothing, or the next message's beginning.
  const auto parting = std::ranges::mismatch(at_end, before_next).in2;
  const TokenId end = parting != before_next.begin()           ? *(parting - 1)
                      : at_end.empty() && !before_next.empty() ? before_next.front()
                                                               : -1;
  if (end < 0 || end == vocab.bos()) return std::nullopt;
  return end;
}

}  // namespace octavo

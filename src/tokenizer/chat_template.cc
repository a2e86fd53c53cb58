#include "tokenizer/chat_template.h"

namespace octavo {

namespace {

// The text around the default system prompt.
constexpr std::string_view kLoop = "{% for message in messages %}";
constexpr std::string_view kBeforeDefault =
    "{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n";
constexpr std::string_view kAfterDefault = "<|im_end|>\n' }}{% endif %}";
constexpr std::string_view kMessage =
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}";
constexpr std::string_view kGenerationPrompt =
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// The source with the escape \n of its string literals written as a line break, so that both spellings compare equal.
std::string with_line_breaks(std::string_view jinja) {
  std::string result;
  for (std::size_t i = 0; i < jinja.size(); ++i) {
    const bool is_escape = jinja.substr(i).starts_with("\\n");
    result.push_back(is_escape ? '\n' : jinja[i]);
    i += is_escape ? 1 : 0;
  }
  return result;
}

bool consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::optional<ChatTemplate> ChatTemplate::recognize(std::string_view jinja) {
  const std::string source = with_line_breaks(jinja);
  std::string_view rest = source;
  ChatTemplate result;
  if (!consume(rest, kLoop)) return std::nullopt;
  if (consume(rest, kBeforeDefault)) {
    const std::size_t end = rest.find(kAfterDefault);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view system = rest.substr(0, end);
    // A quote would end the literal and a backslash would begin an escape: then this is more than plain text.
    if (system.find_first_of("'\\") != std::string_view::npos) return std::nullopt;
    result.default_system_ = system;
    rest.remove_prefix(end + kAfterDefault.size());
  }
  if (!consume(rest, kMessage) || !consume(rest, kGenerationPrompt)) return std::nullopt;
  while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
  if (!rest.empty()) return std::nullopt;
  return result;
}

Result<ChatTemplate> ChatTemplate::load(const ModelSource& source) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  constexpr std::string_view kWayRound = "octavo run --raw gives the text to the model as it is";
  const auto jinja = source.get_string(kKey);
  if (!jinja) {
    return fail("{}: {} is missing, so this model has no form for a conversation; {}", source.name(), kKey, kWayRound);
  }
  if (jinja->size() > kMaxBytes) {
    return fail("{}: {} has {} bytes, expected at most {}; {}", source.name(), kKey, jinja->size(), kMaxBytes,
                kWayRound);
  }
  std::optional<ChatTemplate> known = recognize(*jinja);
  if (!known) {
    return fail("{}: {} is not a template that Octavo knows (it knows ChatML); {}", source.name(), kKey, kWayRound);
  }
  return std::move(*known);
}

std::vector<PromptPart> ChatTemplate::render(std::span<const ChatMessage> messages) const {
  std::vector<PromptPart> parts;
  if (default_system_ && !messages.empty() && messages.front().role != "system") {
    parts.push_back({"<|im_start|>system\n" + *default_system_ + "<|im_end|>\n", true});
  }
  for (const ChatMessage& message : messages) {
    parts.push_back({"<|im_start|>", true});
    parts.push_back({message.role + "\n" + message.content, false});
    parts.push_back({"<|im_end|>\n", true});
  }
  parts.push_back({"<|im_start|>assistant\n", true});
  return parts;
}

}  // namespace octavo

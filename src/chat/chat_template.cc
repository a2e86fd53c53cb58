#include "chat/chat_template.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "chat/continued_message.h"
#include "tokenizer/template_tokens.h"

namespace octavo {

namespace {

using jinja::Origin;

// The tokens of every template that is taken are reserved.
static_assert(jinja::Template::kMaxBytes <= kMaxTemplateBytes);

constexpr std::string_view kWayRound = "octavo run --raw gives the text to the model as it is";

/// The text that continue_final_message goes on with, as the template got it.
std::string last_text(const std::vector<ShapedMessage>& turns) {
  std::string text;
  for (const jinja::TextRun& run : turns.back().parts.back().text) text += run.text;
  return text;
}

Result<void> refuse_pictures(std::span<const ChatMessage> messages) {
  const auto found = std::ranges::find_if(messages, has_pictures);
  if (found == messages.end()) return {};
  return fail("messages[{}]: found a picture, expected texts: this model sees no pictures", found - messages.begin());
}

}  // namespace

Result<ChatTemplate> ChatTemplate::load(const ModelSource& source, std::string_view instead,
                                        const PictureMarks& marks) {
  const bool is_own = instead.empty();
  const std::string name =
      is_own ? fmt::format("{}: {}", source.name(), kTemplateKey) : "the chat template given instead";
  std::string_view jinja = instead;
  if (is_own) {
    const auto own = source.get_string(kTemplateKey);
    if (!own) return fail("{} is missing, so this model has no form for a conversation; {}", name, kWayRound);
    jinja = *own;
  }
  if (jinja.size() > jinja::Template::kMaxBytes) {
    return fail("{} has {} bytes, expected at most {}; {}", name, jinja.size(), jinja::Template::kMaxBytes, kWayRound);
  }
  auto compiled = jinja::Template::compile(jinja);
  if (!compiled) return fail("{} is not a template: {}; {}", name, compiled.error().message, kWayRound);
  return ChatTemplate(std::move(*compiled), name, jinja, marks);
}

Result<std::vector<PromptPart>> ChatTemplate::render(std::span<const ChatMessage> messages, const NamedTokens& tokens,
                                                     const ChatTemplateOptions& options, const std::tm& now) const {
  if (caps_.marks.place.empty()) OCTAVO_TRY_VOID(refuse_pictures(messages));
  OCTAVO_TRY(ShapedConversation conversation, shape_conversation(messages, caps_, options));
  thinking_.add_word(options.names, conversation);
  std::optional<ChatTemplateOptions> translated;
  if (auto names = thinking_.translate(options.names)) {
    translated = options;
    translated->names = std::move(*names);
  }
  OCTAVO_TRY(const jinja::TemplateInput input,
             conversation_input(conversation, caps_, tokens, translated ? *translated : options));
  jinja::Budget any{.bytes = SIZE_MAX, .steps = UINT64_MAX, .work = options.work};
  auto spans = template_.render(input, now, any);
  if (!spans && spans.error().kind == ErrorKind::kStopped) return std::unexpected(std::move(spans.error()));
  if (!spans) return fail("{}: {}", name_, spans.error().message);
  if (options.continue_final_message) {
    OCTAVO_TRY_VOID(cut_at_continue_mark(*spans, last_text(conversation.turns)));
  }
  std::vector<PromptPart> parts;
  parts.reserve(spans->size());
  for (jinja::RenderedSpan& span : *spans) parts.push_back({std::move(span.text), span.origin == Origin::kTemplate});
  return parts;
}

}  // namespace octavo

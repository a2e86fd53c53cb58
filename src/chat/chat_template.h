// The prompt of a conversation, by the model's chat template.
//
// A file carries its template as Jinja source (tokenizer.chat_template); src/template renders it, and conversation.h
// brings the conversation into the shape that it takes. The prompt is cut into parts, so that only the template's own
// text can become control tokens. Owned by the ChatTokenizer; immutable, any thread.
#pragma once

#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/conversation.h"
#include "chat/thinking_switch.h"
#include "octavo/chat.h"
#include "source/model_source.h"
#include "template/template.h"
#include "tokenizer/prompt_fragments.h"

namespace octavo {

class ChatTemplate {
 public:
  /// Compiles a file's own template, or the given one where it is not empty. `marks`: of pictures, for a model that
  /// sees them. Errors: no template, one that is too long, or one that is wrong, with the place.
  static Result<ChatTemplate> load(const ModelSource& source, std::string_view instead = {},
                                   const PictureMarks& marks = {});

  const TemplateCaps& caps() const { return caps_; }
  const ThinkingSwitch& thinking() const { return thinking_; }

  /// The prompt of a conversation. `now` is the time that the template may tell. Errors: those of shape_conversation()
  /// and conversation_input(); what the template refuses, with the place; a last message to be continued whose text the
  /// template changes; a picture without marks of pictures.
  Result<std::vector<PromptPart>> render(std::span<const ChatMessage> messages, const NamedTokens& tokens,
                                         const ChatTemplateOptions& options, const std::tm& now) const;

 private:
  ChatTemplate(jinja::Template compiled, std::string name, std::string_view jinja, const PictureMarks& marks)
      : template_(std::move(compiled)),
        name_(std::move(name)),
        caps_(probe_caps(template_, jinja, marks)),
        thinking_(ThinkingSwitch::find(template_, caps_, jinja)) {}

  jinja::Template template_;
  std::string name_;  // the origin of the template, for messages
  TemplateCaps caps_;
  ThinkingSwitch thinking_;
};

}  // namespace octavo

// The prompt of a conversation, by the model's chat template.
//
// A file carries its template as Jinja source (tokenizer.chat_template); src/template renders it. The prompt is cut
// into parts, so that only the template's own text can become control tokens. Owned by the Tokenizer; immutable, any
// thread.
#pragma once

#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octavo/engine.h"
#include "source/model_source.h"
#include "template/template.h"

namespace octavo {

/// Consecutive text of a prompt.
struct PromptPart {
  std::string text;
  bool is_template;  // the template's own text, in which control tokens count; else a message's
};

/// The texts of tokens that templates write by name; nothing for those that the vocabulary lacks.
struct NamedTokens {
  std::optional<std::string_view> bos;
  std::optional<std::string_view> eos;
};

class ChatTemplate {
 public:
  /// A file's own template, or the one given instead, if that is not empty. Errors: none, one that is too long, or one
  /// that is wrong, with the place.
  static Result<ChatTemplate> load(const ModelSource& source, std::string_view instead = {});

  /// The prompt of a conversation, ending where the assistant begins. `names` are further names that the template
  /// finds, `now` is the time that it may tell. Errors: what the template refuses, with the place.
  Result<std::vector<PromptPart>> render(std::span<const ChatMessage> messages, const NamedTokens& tokens,
                                         std::span<const std::pair<std::string, TemplateValue>> names,
                                         const std::tm& now) const;

 private:
  ChatTemplate(jinja::Template compiled, std::string name) : template_(std::move(compiled)), name_(std::move(name)) {}

  jinja::Template template_;
  std::string name_;  // where it comes from, for messages
};

}  // namespace octavo

// The chat templates that Octavo understands without a template engine, recognized by what they say.
//
// A file carries its template as Jinja source (tokenizer.chat_template). The known shape is ChatML: every message is
// "<|im_start|>ROLE\nCONTENT<|im_end|>\n", with or without a default system prompt that is written first when the
// conversation does not begin with a system message. The prompt is built in parts, so that only the template's own text
// can become control tokens. Owned by the Tokenizer; immutable, any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/engine.h"
#include "source/model_source.h"

namespace octavo {

/// A stretch of a prompt.
struct PromptPart {
  std::string text;
  bool is_template;  // the template's own text, in which control tokens count; else a message's
};

class ChatTemplate {
 public:
  /// A template may have so many bytes; real ones have some ten thousand at most.
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

  /// Nothing if the template is none of the known ones.
  static std::optional<ChatTemplate> recognize(std::string_view jinja);
  /// A file's. Errors: it has none, one that is too long, or none of the known ones.
  static Result<ChatTemplate> load(const ModelSource& source);

  /// The prompt of a conversation, ending where the assistant begins.
  std::vector<PromptPart> render(std::span<const ChatMessage> messages) const;

 private:
  std::optional<std::string> default_system_;  // content of the system message for conversations without one
};

}  // namespace octavo

// One rendering of a small conversation, to learn what a chat template does with it.
//
// Owned by whoever asks a template's questions; one thread at a time.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "chat/conversation.h"
#include "chat/template_caps.h"
#include "template/template.h"

namespace octavo {

class TemplateProbe {
 public:
  /// `budget`: the budget of all renderings together.
  TemplateProbe(const jinja::Template& chat_template, const jinja::Budget& budget)
      : template_(chat_template), left_(budget) {}

  /// Whether nothing more is asked: a rendering with too little budget would look like one that the template refuses.
  bool is_over() const;
  /// The text of the conversation, in the shape that `caps` say. None: the template refuses it, or the budget is over.
  std::optional<std::string> render(std::span<const ChatMessage> messages, const TemplateCaps& caps,
                                    const ChatTemplateOptions& options);

 private:
  const jinja::Template& template_;
  jinja::Budget left_;
};

}  // namespace octavo

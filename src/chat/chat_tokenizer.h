// A model's tokenizer with the parts that a chat needs: the chat template, marks around reasoning, the form of calls
// of tools, and the marks around a gap in a text.
//
// The engine owns it; it is immutable after load() and independent of the model's source, so any thread may use it.
#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/chat_template.h"
#include "chat/infill_marks.h"
#include "chat/reasoning_marks.h"
#include "octavo/model_text.h"
#include "source/model_source.h"
#include "tokenizer/tokenizer.h"

namespace octavo {

class ChatTokenizer {
 public:
  /// Loads a model's tokenizer and its templates. A template that is missing or wrong is an error of the calls that use
  /// it. `marks`: of pictures, for a model that sees them; only templates and raw texts write their tokens. Errors:
  /// those of Tokenizer::load(); a key of the marks around a gap that names no token.
  static Result<ChatTokenizer> load(const ModelSource& source, std::string_view chat_template = {},
                                    const TokenizerJson* words = nullptr, const std::stop_token& stop = {},
                                    const PictureMarks& marks = {});

  const Tokenizer& tokenizer() const { return tokenizer_; }

  /// The prompt of a conversation by the chat template, and whether it ends behind a mark that opens reasoning; content
  /// is never parsed for control tokens. Pictures are not read: the n-th one of the conversation is the n-th
  /// placeholder of PictureMarks, unless the template leaves some out. Errors: no message; a template that is missing
  /// or wrong, or refuses the conversation; more tokens than options.max_tokens (kContextOverflow), if that is not 0.
  Result<ChatPrompt> chat_prompt(std::span<const ChatMessage> messages, const ChatTemplateOptions& options = {}) const;
  /// The text of the prompt, without regard to max_tokens.
  Result<std::string> render_chat_template(std::span<const ChatMessage> messages,
                                           const ChatTemplateOptions& options = {}) const;

  /// The marks around reasoning in this model's answers; null: no known marks.
  const ReasoningMarks* reasoning() const { return reasoning_ ? &*reasoning_ : nullptr; }
  /// The form of calls of tools in this model's answers; null: the model has no chat template.
  const ToolFormat* tool_format() const { return template_ ? template_->caps().format : nullptr; }
  /// The names by which the chat template reads about thinking; null: there is no template.
  const ThinkingSwitch* thinking() const { return template_ ? &template_->thinking() : nullptr; }
  /// Whether tools are described in the system message, because the chat template has no place for them.
  bool describes_tools() const { return template_ && !template_->caps().takes_tools; }
  /// The source of the chat template, in Jinja; empty: there is none.
  std::string_view chat_template() const { return template_text_; }
  /// The tokens around a gap in a text; null: the model fills no gaps.
  const InfillMarks* infill_marks() const { return infill_ ? &*infill_ : nullptr; }

 private:
  ChatTokenizer(Tokenizer tokenizer, Result<ChatTemplate> chat_template, std::string text)
      : tokenizer_(std::move(tokenizer)), template_(std::move(chat_template)), template_text_(std::move(text)) {}
  /// Writes in a template's texts what stands for each placeholder of a picture.
  void spell_pictures(std::vector<PromptPart>& parts) const;
  Result<void> find_reasoning();
  void find_end();
  NamedTokens named_tokens() const;
  Result<std::vector<PromptPart>> render(std::span<const ChatMessage> messages,
                                         const ChatTemplateOptions& options) const;
  Result<int> count_generation_prompt(std::span<const PromptPart> parts) const;

  Tokenizer tokenizer_;
  Result<ChatTemplate> template_;  // the reason why there is no template, where none is asked for
  std::string template_text_;
  PictureMarks marks_ = {};
  std::optional<ReasoningMarks> reasoning_ = {};
  std::optional<InfillMarks> infill_ = {};
};

}  // namespace octavo

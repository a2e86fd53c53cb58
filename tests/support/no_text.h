// The texts of a model without words: the base of texts that tests make up.
#pragma once

#include <utility>

#include "base/error.h"
#include "octavo/model_text.h"

namespace octavo::test {

class NoText : public ModelText {
 public:
  explicit NoText(ModelInfo info = {}) : model(std::move(info)) {}

  const ModelInfo& info() const override { return model; }
  Result<std::vector<TokenId>> tokenize(std::string_view, const TokenizeOptions&) const override { return no_words(); }
  std::string detokenize(std::span<const TokenId>) const override { return {}; }
  std::string vocabulary_text(TokenId token) const override { return detokenize({&token, 1}); }
  Result<ChatPrompt> chat_prompt(std::span<const ChatMessage>, const ChatTemplateOptions&) const override {
    return no_words();
  }
  Result<ChatPrompt> picture_prompt(std::span<const ContentPart>, const TokenizeOptions&) const override {
    return no_words();
  }
  Result<std::string> render_chat_template(std::span<const ChatMessage>, const ChatTemplateOptions&) const override {
    return no_words();
  }
  Result<InfillPrompt> infill_prompt(const InfillText&, std::size_t) const override { return no_words(); }
  Result<EmbeddingPrompt> embedding_prompt(std::string_view, const EmbeddingPromptOptions&) const override {
    return no_words();
  }
  Result<EmbeddingPrompt> rank_prompt(std::string_view, std::string_view,
                                      const EmbeddingPromptOptions&) const override {
    return no_words();
  }
  Result<std::shared_ptr<const Constraint>> compile_constraint(const ConstraintSource&,
                                                               const std::stop_token& = {}) const override {
    return no_words();
  }
  std::shared_ptr<const void> find_dry_breakers(const SamplingParams&) const override { return nullptr; }
  SamplingParams default_sampling(SamplingParams defaults) const override { return defaults; }

  ModelInfo model;

 private:
  static std::unexpected<Error> no_words() { return fail_as(ErrorKind::kNoWords, "the model has no words"); }
};

/// A text that lives on the stack of a test.
inline std::shared_ptr<const ModelText> not_owned(const ModelText& text) {
  return {std::shared_ptr<const void>(), &text};
}

}  // namespace octavo::test

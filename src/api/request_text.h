// A model's texts for the reading of one request: all tokenizing and all rendering of templates that the request needs
// count in one RequestWork.
//
// Lives while a body is read, on the thread that reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octavo/model_text.h"

namespace octavo {

/// The most bytes of texts that a request may have tokenized, a text counted each time: kMostTextBytes, plus
/// kMostReadings times its body. Most bodies are read a few times at most; a query is read before each document.
inline constexpr std::uint64_t kMostTextBytes = std::uint64_t{32} << 20, kMostReadings = 4;

class RequestText final : public ModelText {
 public:
  RequestText(const ModelText& words, std::stop_token stop, std::uint64_t body_bytes)
      : words_(words), work_(std::move(stop), kMostTextBytes + kMostReadings * body_bytes) {}

  const RequestWork& work() const { return work_; }

  const ModelInfo& info() const override { return words_.info(); }
  std::string detokenize(std::span<const TokenId> tokens) const override { return words_.detokenize(tokens); }
  std::string vocabulary_text(TokenId token) const override { return words_.vocabulary_text(token); }
  SamplingParams default_sampling(SamplingParams defaults) const override { return words_.default_sampling(defaults); }

  Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const override {
    return words_.tokenize(text, with_work(options));
  }
  Result<ChatPrompt> chat_prompt(std::span<const ChatMessage> messages,
                                 const ChatTemplateOptions& options) const override {
    return words_.chat_prompt(messages, with_work(options));
  }
  Result<ChatPrompt> picture_prompt(std::span<const ContentPart> parts, const TokenizeOptions& options) const override {
    return words_.picture_prompt(parts, with_work(options));
  }
  Result<std::string> render_chat_template(std::span<const ChatMessage> messages,
                                           const ChatTemplateOptions& options) const override {
    return words_.render_chat_template(messages, with_work(options));
  }
  Result<InfillPrompt> infill_prompt(const InfillText& text, std::size_t max_tokens) const override {
    return words_.infill_prompt(with_work(text), max_tokens);
  }
  Result<EmbeddingPrompt> embedding_prompt(std::string_view text,
                                           const EmbeddingPromptOptions& options) const override {
    return words_.embedding_prompt(text, with_work(options));
  }
  Result<EmbeddingPrompt> rank_prompt(std::string_view query, std::string_view document,
                                      const EmbeddingPromptOptions& options) const override {
    return words_.rank_prompt(query, document, with_work(options));
  }
  Result<std::shared_ptr<const Constraint>> compile_constraint(const ConstraintSource& source,
                                                               const std::stop_token& stop = {}) const override {
    return words_.compile_constraint(source, stop);
  }
  std::shared_ptr<const void> find_dry_breakers(const SamplingParams& params) const override {
    return words_.find_dry_breakers(params);
  }

 private:
  /// Options of any kind, with this request's work.
  template <class Options>
  Options with_work(Options options) const {
    options.work = &work_;
    return options;
  }

  const ModelText& words_;
  mutable RequestWork work_;  // const functions count in it, too
};

}  // namespace octavo

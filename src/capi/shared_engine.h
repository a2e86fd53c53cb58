// A model's engine as a server has it, which believes that it drives it: another thread does, for others too.
//
// The server's threads call it; it holds the model.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include "capi/loaded_model.h"

namespace octavo::capi {

class SharedEngine final : public Engine {
 public:
  explicit SharedEngine(std::shared_ptr<LoadedModel> model);
  ~SharedEngine() override;
  SharedEngine(const SharedEngine&) = delete;
  SharedEngine& operator=(const SharedEngine&) = delete;

  const ModelInfo& info() const override { return engine_.info(); }
  EngineStats stats() const override { return engine_.stats(); }
  Result<RequestId> submit(Request request, TokenCallback on_event) override;
  void cancel(RequestId id) override { engine_.cancel(id); }
  bool step() override { return false; }
  /// Waits until a stop is asked for or, after drain(), the server's last request has ended.
  void run_until(std::stop_token stop) override;
  void drain() override;
  void release_memory(bool cached) override { engine_.release_memory(cached); }

  Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const override {
    return engine_.tokenize(text, options);
  }
  std::string detokenize(std::span<const TokenId> tokens) const override { return engine_.detokenize(tokens); }
  std::string vocabulary_text(TokenId token) const override { return engine_.vocabulary_text(token); }
  Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages,
                                                   const ChatTemplateOptions& options) const override {
    return engine_.apply_chat_template(messages, options);
  }
  Result<ChatPrompt> chat_prompt(std::span<const ChatMessage> messages,
                                 const ChatTemplateOptions& options) const override {
    return engine_.chat_prompt(messages, options);
  }
  Result<InfillPrompt> infill_prompt(const InfillText& text, std::size_t max_tokens) const override {
    return engine_.infill_prompt(text, max_tokens);
  }
  Result<EmbeddingPrompt> embedding_prompt(std::string_view text,
                                           const EmbeddingPromptOptions& options) const override {
    return engine_.embedding_prompt(text, options);
  }
  Result<EmbeddingPrompt> rank_prompt(std::string_view query, std::string_view document,
                                      const EmbeddingPromptOptions& options) const override {
    return engine_.rank_prompt(query, document, options);
  }
  Result<std::string> render_chat_template(std::span<const ChatMessage> messages,
                                           const ChatTemplateOptions& options) const override {
    return engine_.render_chat_template(messages, options);
  }
  Result<std::shared_ptr<const Constraint>> compile_constraint(const ConstraintSource& source,
                                                               const std::stop_token& stop = {}) const override {
    return engine_.compile_constraint(source, stop);
  }
  std::shared_ptr<const void> find_dry_breakers(const SamplingParams& params) const override {
    return engine_.find_dry_breakers(params);
  }
  SamplingParams default_sampling(SamplingParams defaults) const override { return engine_.default_sampling(defaults); }

 private:
  /// The open choices, which callbacks count down behind the server's end.
  struct Open {
    std::mutex mutex = {};
    std::condition_variable_any changed = {};
    int num_choices = 0;
    std::map<RequestId, int> choices = {};  // of each request; below 0 where one has ended before submit() did
    bool is_draining = false;
  };

  void cancel_all();

  const std::shared_ptr<LoadedModel> model_;
  Engine& engine_;
  const std::shared_ptr<Open> open_ = std::make_shared<Open>();
};

}  // namespace octavo::capi

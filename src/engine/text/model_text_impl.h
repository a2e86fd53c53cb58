// The texts of a model behind the public interface: its vocabulary, what its file says of prompts and of sampling, and
// the constraints of its answers.
//
// The engine has one, which may outlive it; any thread may use it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "chat/rank_template.h"
#include "engine/text/dry_breakers.h"
#include "engine/text/engine_constraints.h"
#include "engine/text/model_tokenizer.h"
#include "engine/text/prompt_pictures.h"
#include "engine/text/sampling_defaults.h"
#include "octavo/model_text.h"

namespace octavo {

/// The facts about texts in a model's file and in the options beside it.
struct TextParts {
  ModelTokenizer words;
  ModelInfo info;  // max_context: the model's and the options'; the engine lowers it to the KV memory's
  RankTemplate rank_template;
  SamplingDefaults sampling_defaults;
  std::optional<PictureRules> pictures = {};  // none: the model reads texts alone
};

class ModelTextImpl final : public ModelText {
 public:
  /// `vocab_size`: the number of ids that the model knows. `tells_types_apart`: it has token types for the parts of a
  /// pair.
  ModelTextImpl(TextParts parts, int vocab_size, bool tells_types_apart);

  const ModelInfo& info() const override { return parts_.info; }
  Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const override;
  std::string detokenize(std::span<const TokenId> tokens) const override;
  std::string vocabulary_text(TokenId token) const override;
  Result<ChatPrompt> chat_prompt(std::span<const ChatMessage> messages,
                                 const ChatTemplateOptions& options) const override;
  Result<ChatPrompt> picture_prompt(std::span<const ContentPart> parts, const TokenizeOptions& options) const override;
  Result<std::string> render_chat_template(std::span<const ChatMessage> messages,
                                           const ChatTemplateOptions& options) const override;
  Result<InfillPrompt> infill_prompt(const InfillText& text, std::size_t max_tokens) const override;
  Result<EmbeddingPrompt> embedding_prompt(std::string_view text, const EmbeddingPromptOptions& options) const override;
  Result<EmbeddingPrompt> rank_prompt(std::string_view query, std::string_view document,
                                      const EmbeddingPromptOptions& options) const override;
  Result<std::shared_ptr<const Constraint>> compile_constraint(const ConstraintSource& source,
                                                               const std::stop_token& stop = {}) const override;
  std::shared_ptr<const void> find_dry_breakers(const SamplingParams& params) const override {
    return dry_breakers(params);
  }
  SamplingParams default_sampling(SamplingParams defaults) const override;

  const ModelTokenizer& words() const { return parts_.words; }
  /// How many of the first ids may be drawn.
  int num_drawable() const { return num_drawable_; }
  /// The tokens that are never drawn.
  std::span<const TokenId> suppressed() const { return parts_.sampling_defaults.suppressed; }
  /// The tokens with breakers; null where DRY is off.
  std::shared_ptr<const BreakerTokens> dry_breakers(const SamplingParams& params) const;
  const EngineConstraints& constraints() const { return constraints_; }
  /// Null: the model reads texts alone.
  const PromptPictures* pictures() const { return pictures_ ? &*pictures_ : nullptr; }

 private:
  Result<void> check_sees() const;
  /// The options, with the context as the most tokens.
  EmbeddingPromptOptions limited(EmbeddingPromptOptions options) const;

  const TextParts parts_;
  const int num_drawable_;
  const bool tells_types_apart_;
  const DryBreakers dry_breakers_;
  std::optional<PromptPictures> pictures_;
  mutable EngineConstraints constraints_;
};

}  // namespace octavo

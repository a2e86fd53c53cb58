#include "engine/text/model_text_impl.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"
#include "chat/infill_prompt.h"
#include "engine/text/embedding_prompt.h"

namespace octavo {
namespace {

void add_pictures(std::span<const ContentPart> parts, std::vector<const PictureInput*>& pictures) {
  for (const ContentPart& part : parts)
    if (part.kind == ContentPart::Kind::kPicture) pictures.push_back(&part.picture);
}

}  // namespace

ModelTextImpl::ModelTextImpl(TextParts parts, int vocab_size, bool tells_types_apart)
    : parts_(std::move(parts)),
      num_drawable_(parts_.words.num_drawable(vocab_size)),
      tells_types_apart_(tells_types_apart),
      dry_breakers_(parts_.words, num_drawable_),
      constraints_(parts_.words, num_drawable_) {
  if (parts_.pictures) pictures_.emplace(*parts_.pictures);
}

Result<std::vector<TokenId>> ModelTextImpl::tokenize(std::string_view text, const TokenizeOptions& options) const {
  OCTAVO_TRY(const ChatTokenizer* chat, parts_.words.require());
  return chat->tokenizer().encode(text, options);
}

std::string ModelTextImpl::detokenize(std::span<const TokenId> tokens) const {
  const Tokenizer* tokenizer = parts_.words.tokenizer();
  const auto is_known = [&](TokenId id) { return id >= 0 && id < parts_.words.num_tokens(); };
  std::vector<TokenId> known;
  std::ranges::copy_if(tokens, std::back_inserter(known), is_known);
  return tokenizer == nullptr ? std::string() : tokenizer->decode(known);
}

std::string ModelTextImpl::vocabulary_text(TokenId token) const {
  if (token < 0 || token >= parts_.words.num_tokens()) return {};
  return std::string(parts_.words.tokenizer()->vocab().text(token));
}

Result<ChatPrompt> ModelTextImpl::chat_prompt(std::span<const ChatMessage> messages,
                                              const ChatTemplateOptions& options) const {
  OCTAVO_TRY(const ChatTokenizer* chat, parts_.words.require());
  std::vector<const PictureInput*> given;
  for (const ChatMessage& message : messages) add_pictures(message.parts, given);
  if (given.empty()) return chat->chat_prompt(messages, options);
  OCTAVO_TRY_VOID(check_sees());
  OCTAVO_TRY(const std::vector<PromptPictures::Measured> pictures, pictures_->measure(given));
  OCTAVO_TRY(ChatPrompt prompt, chat->chat_prompt(messages, options));
  OCTAVO_TRY_VOID(pictures_->expand(pictures, options.max_tokens, prompt));
  if (options.decodes_pictures) OCTAVO_TRY_VOID(pictures_->decode(pictures, options.work, prompt));
  return prompt;
}

Result<ChatPrompt> ModelTextImpl::picture_prompt(std::span<const ContentPart> parts,
                                                 const TokenizeOptions& options) const {
  OCTAVO_TRY_VOID(check_sees());
  std::vector<const PictureInput*> given;
  add_pictures(parts, given);
  OCTAVO_TRY(const std::vector<PromptPictures::Measured> pictures, pictures_->measure(given));
  const PictureMarkup& markup = pictures_->rules().family->markup;
  const std::string_view place = markup.spelled.empty() ? markup.place : markup.spelled;
  std::string text;
  for (const ContentPart& part : parts) text += part.kind == ContentPart::Kind::kPicture ? place : part.text;
  ChatPrompt prompt;
  OCTAVO_TRY(prompt.tokens, tokenize(text, options));
  OCTAVO_TRY_VOID(pictures_->expand(pictures, options.max_tokens, prompt));
  OCTAVO_TRY_VOID(pictures_->decode(pictures, options.work, prompt));
  return prompt;
}

Result<void> ModelTextImpl::check_sees() const {
  if (pictures_) return {};
  return fail("found a picture, but {} reads texts alone: no encoder of pictures is loaded", info().name);
}

Result<std::string> ModelTextImpl::render_chat_template(std::span<const ChatMessage> messages,
                                                        const ChatTemplateOptions& options) const {
  OCTAVO_TRY(const ChatTokenizer* chat, parts_.words.require());
  return chat->render_chat_template(messages, options);
}

Result<InfillPrompt> ModelTextImpl::infill_prompt(const InfillText& text, std::size_t max_tokens) const {
  OCTAVO_TRY(const ChatTokenizer* chat, parts_.words.require());
  return make_infill_prompt(*chat, text, max_tokens);
}

Result<EmbeddingPrompt> ModelTextImpl::embedding_prompt(std::string_view text,
                                                        const EmbeddingPromptOptions& options) const {
  OCTAVO_TRY(const ChatTokenizer* chat, parts_.words.require());
  const auto words = parts_.info.embedding.prompt_text(options.prompt_name);
  if (!words) return fail("prompt_name: {}", words.error().message);
  if (words->empty()) return make_embedding_prompt(chat->tokenizer(), text, limited(options));
  return make_embedding_prompt(chat->tokenizer(), std::string(*words) + std::string(text), limited(options));
}

Result<EmbeddingPrompt> ModelTextImpl::rank_prompt(std::string_view query, std::string_view document,
                                                   const EmbeddingPromptOptions& options) const {
  OCTAVO_TRY(const ChatTokenizer* chat, parts_.words.require());
  if (parts_.info.embedding.labels.empty())
    return fail("{} has no ranking head: it scores no documents", parts_.info.name);
  OCTAVO_TRY(EmbeddingPrompt prompt,
             make_rank_prompt(chat->tokenizer(), parts_.rank_template, query, document, limited(options)));
  if (!tells_types_apart_) prompt.token_types.clear();
  return prompt;
}

EmbeddingPromptOptions ModelTextImpl::limited(EmbeddingPromptOptions options) const {
  const auto context = to_size(parts_.info.max_context);
  options.max_tokens = options.max_tokens == 0 ? context : std::min(options.max_tokens, context);
  return options;
}

Result<std::shared_ptr<const Constraint>> ModelTextImpl::compile_constraint(const ConstraintSource& source,
                                                                            const std::stop_token& stop) const {
  return constraints_.compile(source, stop);
}

std::shared_ptr<const BreakerTokens> ModelTextImpl::dry_breakers(const SamplingParams& params) const {
  return params.dry.multiplier > 0 ? dry_breakers_.tokens_of(params.dry.breakers) : nullptr;
}

SamplingParams ModelTextImpl::default_sampling(SamplingParams defaults) const {
  return parts_.sampling_defaults.over(defaults);
}

}  // namespace octavo

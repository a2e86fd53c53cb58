#include "api/prepare/prepare_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "api/call/answer_size.h"
#include "api/call/api_error.h"
#include "api/call/context_full.h"
#include "api/call/picture_errors.h"
#include "api/call/vector_call.h"
#include "api/prepare/relevance.h"
#include "api/prepare/shorter_vectors.h"
#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::size_t kMostCounted = 1 << 16;  // how far tokens are counted where the context is smaller
constexpr std::uint64_t kNumberBytes = 13;     // a usual float of a vector of length 1 is "-0.034567892,"

ApiError unsupported_model(std::string message) {
  return {.status = 400, .message = std::move(message), .param = "model", .code = "unsupported_model"};
}

/// Whether the model makes vectors or scores for any client: it does nothing else, its file says so, or the server.
bool is_for_vectors(const ModelInfo& info, const RequestPolicy& policy) {
  return !info.embedding.generates || info.embedding.names_pooling || policy.embeds;
}

/// The reason why the model makes no vectors for this call, if it does not.
std::optional<ApiError> lacks_vectors(const ModelInfo& info, const ServedModel& model) {
  if (!is_for_vectors(info, model.policy))
    return unsupported_model(fmt::format(
        "model: {} writes text: a server that is started with --embedding makes vectors with it too", model.id));
  if (info.embedding.pooling == Pooling::kRank)
    return unsupported_model(
        fmt::format("model: {} ranks documents (/v1/rerank): it has vectors where the server is started with --pooling "
                    "mean, cls or last",
                    model.id));
  return std::nullopt;
}

std::optional<ApiError> lacks_ranks(const ModelInfo& info, const ServedModel& model) {
  const std::size_t num_labels = info.embedding.labels.size();
  if (can_rank(num_labels)) return std::nullopt;
  if (num_labels == 0)
    return unsupported_model(fmt::format(
        "model: {} has no ranking head, expected a model for reranking; /v1/score compares vectors", model.id));
  return unsupported_model(fmt::format(
      "model: the head of {} has {} labels, expected one or two of a model for reranking", model.id, num_labels));
}

bool is_base64(const VectorForm& form) { return form.kinds == std::vector{VectorKind::kBase64}; }

/// The bytes of a vector in an answer.
std::uint64_t shown_bytes(const VectorForm& form, int width) {
  const auto num_floats = static_cast<std::uint64_t>(form.dimensions > 0 ? form.dimensions : width);
  if (is_base64(form)) return (num_floats * sizeof(float) + 2) / 3 * 4;
  return std::max<std::uint64_t>(form.kinds.size(), 1) * num_floats * kNumberBytes;
}

class VectorPreparation {
 public:
  VectorPreparation(ApiRequest request, const ModelText& words, const ServedModel& model)
      : asked_(std::move(request)),
        words_(words),
        model_(model),
        info_(words.info()),
        options_{.prompt_name = asked().prompt_name},
        vectors_(std::make_shared<VectorCall>()) {}

  ApiResult<CompletionCall> prepare() {
    OCTAVO_TRY_VOID(settle_task());
    OCTAVO_TRY_VOID(settle_length());
    OCTAVO_TRY_VOID(settle_form());
    OCTAVO_TRY_VOID(is_of_pairs() ? add_pairs() : add_all());
    OCTAVO_TRY_VOID(check_size());
    call_.vectors = vectors_;
    call_.user_cache_salt = std::move(asked_.cache_salt);
    call_.keep_alive = asked_.keep_alive;
    call_.warnings = std::move(asked_.warnings);
    return std::move(call_);
  }

 private:
  bool is_of_pairs() const { return vectors_->task == VectorTask::kRanks || vectors_->task == VectorTask::kScores; }
  const AskedVectors& asked() const { return std::get<AskedVectors>(asked_.prompt); }

  ApiResult<void> settle_task() {
    vectors_->task = asked().task;
    if (vectors_->task == VectorTask::kScores && info_.embedding.labels.empty())
      vectors_->task = VectorTask::kComparisons;
    if (auto lacking = is_of_pairs() ? lacks_ranks(info_, model_) : lacks_vectors(info_, model_))
      return std::unexpected(std::move(*lacking));
    const bool pools_nothing = asked().pools_nothing || (!is_of_pairs() && info_.embedding.pooling == Pooling::kNone);
    vectors_->has_rows_of_tokens = pools_nothing;
    if (pools_nothing && (!asked().takes_rows_of_tokens || vectors_->task == VectorTask::kComparisons))
      return std::unexpected(
          unsupported_model(fmt::format("model: {} was loaded with --pooling none, which makes a vector of each token: "
                                        "/embedding gives them",
                                        model_.id)));
    vectors_->bits = info_.bits;
    vectors_->width = is_of_pairs() ? static_cast<int>(info_.embedding.labels.size()) : info_.embedding.width;
    return {};
  }

  /// Settles the most tokens of a prompt, and whether a longer text is cut.
  ApiResult<void> settle_length() {
    const int context = info_.max_context;
    options_.max_tokens = to_size(context);
    options_.cuts = asked().cuts;
    options_.add_special = asked().add_special;
    const auto& asked_most = asked().max_tokens;
    if (!asked_most) return {};
    options_.cuts = true;
    if (asked_most->tokens == AskedVectors::kToTheContext) return {};
    if (asked_most->tokens > context)
      return std::unexpected(
          invalid_value(std::string(asked_most->field), fmt::format("{}: found {}, expected at most {}, the context",
                                                                    asked_most->field, asked_most->tokens, context)));
    options_.max_tokens = to_size(asked_most->tokens);
    return {};
  }

  ApiResult<void> settle_form() {
    vectors_->form = asked().form;
    vectors_->field = asked().texts.field;
    vectors_->norm = asked().form.norm.value_or(vectors_->has_rows_of_tokens ? -1 : model_.policy.norm);
    const std::string_view field = asked().dimensions_field;
    const int asked_width = asked().form.dimensions, width = vectors_->width;
    if (asked_width == 0 || asked_width == width) return {};
    const std::optional<int> fewest = fewest_dimensions(info_);
    if (fewest && asked_width >= *fewest && asked_width < width) return {};
    return std::unexpected(invalid_value(
        std::string(field), fewest ? fmt::format("{}: found {}, expected {} to {}", field, asked_width, *fewest, width)
                                   : fmt::format("{}: found {}, expected none, or {}: {} is not known to be trained so "
                                                 "that its vectors can be cut",
                                                 field, asked_width, width, model_.id)));
  }

  static std::string place_of(const AskedVectors::Texts& texts, std::size_t index) {
    return texts.are_listed ? fmt::format("{}[{}]", texts.field, index) : std::string(texts.field);
  }

  /// The tokens of `words` alone; where there are more than are counted, one more than that.
  std::size_t count(std::string_view words) const {
    const std::size_t most = std::max(kMostCounted, to_size(info_.max_context));
    const auto ids = words_.tokenize(words, {.add_special = false, .parse_special = false, .max_tokens = most});
    return ids ? ids->size() : most + 1;
  }
  ContextFull full_by(std::size_t num_tokens) const {
    return {.prompt_tokens = static_cast<std::int64_t>(num_tokens),
            .context = info_.max_context,
            .is_counted = num_tokens <= std::max(kMostCounted, to_size(info_.max_context))};
  }

  /// The error of a text that has no room, with the tokens that its prompt would have. A text that may be cut has no
  /// room only where the client's bound is less than the `num_around` tokens that cannot be cut.
  ApiError has_no_room(const std::string& place, std::size_t num_tokens, std::size_t num_around) const {
    const auto& most = asked().max_tokens;
    if (!options_.cuts || !most || most->tokens == AskedVectors::kToTheContext ||
        num_around > to_size(info_.max_context))
      return context_overflow(full_by(num_tokens), place);
    return invalid_value(std::string(most->field),
                         fmt::format("{}: found {}, expected at least {}: so many tokens of {} are not cut",
                                     most->field, most->tokens, num_around, place));
  }

  static std::size_t size_of(const Result<EmbeddingPrompt>& prompt) { return prompt ? prompt->tokens.size() : 0; }
  /// Options without a bound of tokens but the context.
  EmbeddingPromptOptions whole() const { return {.add_special = options_.add_special, .prompt_name = ""}; }

  ApiError not_taken(const Error& error, std::string_view text, const std::string& place) const {
    if (error.kind != ErrorKind::kContextOverflow)
      return invalid_value(place, fmt::format("{}: {}", place, error.message));
    const std::size_t num_around = size_of(words_.embedding_prompt("", whole()));
    const auto words = info_.embedding.prompt_text(options_.prompt_name);
    return has_no_room(place, num_around + count(std::string(words.value_or("")) + std::string(text)), num_around);
  }

  /// The error of a pair that the engine does not take. It is about the query, where that alone has no room.
  ApiError pair_not_taken(const Error& error, std::string_view query, std::string_view document,
                          const std::string& query_place, const std::string& place) const {
    if (error.kind != ErrorKind::kContextOverflow)
      return invalid_value(place, fmt::format("{}: {}", place, error.message));
    const std::size_t num_around = size_of(words_.rank_prompt("", "", whole()));
    const std::size_t of_query = num_around + count(query);
    if (of_query > options_.max_tokens) return has_no_room(query_place, of_query, of_query);
    const std::size_t num_tokens = of_query + count(document);
    return context_overflow(full_by(num_tokens), place, fmt::format(", {} of them of {}", of_query, query_place));
  }

  static ApiResult<void> check_not_empty(const TextPrompt& text, const std::string& place) {
    const auto* words = std::get_if<std::string_view>(&text);
    if (words == nullptr || !words->empty()) return {};
    return std::unexpected(invalid_value(place, place + ": found an empty text, expected at least one character"));
  }

  /// The prompt of a text. An empty text may be compared: lists of documents have such.
  ApiResult<EmbeddingPrompt> prompt_of(const AskedVectors::Texts& texts, std::size_t index) {
    const TextPrompt& text = texts.texts[index];
    const std::string place = place_of(texts, index);
    const bool may_be_empty = vectors_->task == VectorTask::kComparisons && &texts == &asked().texts;
    if (!may_be_empty) OCTAVO_TRY_VOID(check_not_empty(text, place));
    if (const auto* ids = std::get_if<std::vector<TokenId>>(&text)) {
      if (!asked().prompt_name.value_or("").empty())
        return std::unexpected(
            invalid_value(place, fmt::format("{}: found token ids, expected a text: {} asks for words in front of it",
                                             place, asked().prompt_field)));
      EmbeddingPrompt prompt{.tokens = *ids};
      if (ids->size() <= options_.max_tokens) return prompt;
      if (!options_.cuts)
        return std::unexpected(context_overflow(
            {.prompt_tokens = static_cast<std::int64_t>(ids->size()), .context = info_.max_context}, place));
      prompt.tokens.resize(options_.max_tokens);
      prompt.is_cut = true;
      return prompt;
    }
    if (const auto* pictured = std::get_if<PictureText>(&text)) return prompt_with_pictures(*pictured, place);
    const auto words = std::get<std::string_view>(text);
    auto prompt = words_.embedding_prompt(words, options_);
    if (!prompt) return std::unexpected(not_taken(prompt.error(), words, place));
    return std::move(*prompt);
  }

  /// The prompt of a text with pictures, which is never cut: a picture has no end that could be cut off.
  ApiResult<EmbeddingPrompt> prompt_with_pictures(const PictureText& text, const std::string& place) {
    const auto words = info_.embedding.prompt_text(options_.prompt_name);
    if (!words) return std::unexpected(invalid_value(place, fmt::format("{}: {}", place, words.error().message)));
    std::vector<ContentPart> parts = text.parts;
    if (!words->empty()) parts.insert(parts.begin(), ContentPart{.text = std::string(*words)});
    const std::size_t most = std::max(kMostCounted, to_size(info_.max_context));
    auto prompt = words_.picture_prompt(parts, {.add_special = options_.add_special, .max_tokens = most});
    if (!prompt && is_of_picture(prompt.error()))
      return std::unexpected(picture_error(prompt.error(), text.parts, place));
    if (!prompt && prompt.error().kind != ErrorKind::kContextOverflow)
      return std::unexpected(invalid_value(place, fmt::format("{}: {}", place, prompt.error().message)));
    const std::size_t num_tokens = prompt ? prompt->tokens.size() : most + 1;
    if (num_tokens > options_.max_tokens) return std::unexpected(has_no_room(place, num_tokens, num_tokens));
    for (std::string& warning : prompt->warnings) asked_.warnings.push_back(std::move(warning));
    return EmbeddingPrompt{.tokens = std::move(prompt->tokens), .pictures = std::move(prompt->pictures)};
  }

  ApiResult<EmbeddingPrompt> pair_of(std::size_t query_index, std::size_t index) {
    const AskedVectors::Texts &queries = asked().queries, &texts = asked().texts;
    const std::string place = place_of(texts, index), query_place = place_of(queries, query_index);
    OCTAVO_TRY_VOID(check_not_empty(queries.texts[query_index], query_place));
    const auto query = std::get<std::string_view>(queries.texts[query_index]);
    const auto document = std::get<std::string_view>(texts.texts[index]);
    EmbeddingPromptOptions options = options_;
    if (query_index == 0) options.query = &query_tokens_;
    if (asked().max_document_tokens > 0) {
      auto frame = words_.rank_prompt(query, "", options);
      if (!frame) return std::unexpected(pair_not_taken(frame.error(), query, document, query_place, place));
      options.cuts = true;
      options.max_tokens = std::min(options.max_tokens, frame->tokens.size() + to_size(asked().max_document_tokens));
    }
    auto prompt = words_.rank_prompt(query, document, options);
    if (!prompt) return std::unexpected(pair_not_taken(prompt.error(), query, document, query_place, place));
    return std::move(*prompt);
  }

  ApiResult<void> add_pairs() {
    const std::size_t num_queries = asked().queries.texts.size();
    for (std::size_t i = 0; i < asked().texts.texts.size(); ++i) {
      OCTAVO_TRY(EmbeddingPrompt prompt, pair_of(num_queries == 1 ? 0 : i, i));
      OCTAVO_TRY_VOID(add(std::move(prompt), place_of(asked().texts, i)));
      if (vectors_->form.shows_documents)
        vectors_->documents.emplace_back(std::get<std::string_view>(asked().texts.texts[i]));
    }
    return {};
  }

  ApiResult<void> add_all() {
    vectors_->num_queries = asked().queries.texts.size();
    for (const AskedVectors::Texts* texts : {&asked().queries, &asked().texts}) {
      for (std::size_t i = 0; i < texts->texts.size(); ++i) {
        OCTAVO_TRY(EmbeddingPrompt prompt, prompt_of(*texts, i));
        OCTAVO_TRY_VOID(add(std::move(prompt), place_of(*texts, i)));
        if (vectors_->form.shows_documents)
          vectors_->documents.emplace_back(std::get<std::string_view>(texts->texts[i]));
      }
    }
    return {};
  }

  ApiResult<void> check_pairs_of_tokens(std::int64_t num_tokens, const std::string& place) {
    vectors_->num_pairs += num_tokens * num_tokens;
    if (vectors_->num_pairs <= kMaxPairsOfTokens || call_.requests.empty()) return {};
    return std::unexpected(invalid_value(
        place, fmt::format("{}: found {} pairs of tokens up to this text, each text's tokens times themselves, "
                           "expected at most {} in a request of several texts",
                           place, vectors_->num_pairs, kMaxPairsOfTokens)));
  }

  ApiResult<void> add(EmbeddingPrompt prompt, const std::string& place) {
    if (prompt.tokens.empty())
      return std::unexpected(invalid_value(place, place + ": found a text without tokens, expected at least one"));
    vectors_->num_tokens += static_cast<std::int64_t>(prompt.tokens.size());
    if (vectors_->num_tokens > static_cast<std::int64_t>(kMaxTokensOfTexts))
      return std::unexpected(
          invalid_value(place, fmt::format("{}: found {} tokens up to this text, expected at most {} in a request",
                                           place, vectors_->num_tokens, kMaxTokensOfTexts)));
    OCTAVO_TRY_VOID(check_pairs_of_tokens(static_cast<std::int64_t>(prompt.tokens.size()), place));
    Request request = asked_.settings;
    request.max_tokens = -1;
    request.tokens = std::move(prompt.tokens);
    request.token_types = std::move(prompt.token_types);
    request.pictures = std::move(prompt.pictures);
    if (is_of_pairs()) request.embedding.pooling = Pooling::kRank;
    if (asked().pools_nothing) request.embedding.pooling = Pooling::kNone;
    const std::size_t num_rows = vectors_->has_rows_of_tokens ? request.tokens.size() : 1;
    auto rows = std::make_shared<TextRows>(num_rows * to_size(vectors_->width));
    request.embedding.on_rows = [rows](int, int, std::span<const float> floats) { rows->add(floats); };
    vectors_->rows.push_back(std::move(rows));
    call_.requests.push_back(std::move(request));
    return {};
  }

  ApiResult<void> check_size() const {
    if (is_of_pairs()) return {};
    const std::uint64_t num_rows =
        vectors_->has_rows_of_tokens ? static_cast<std::uint64_t>(vectors_->num_tokens) : call_.requests.size();
    const std::uint64_t of_row = vectors_->task == VectorTask::kComparisons
                                     ? to_size(vectors_->width) * sizeof(float)
                                     : shown_bytes(vectors_->form, vectors_->width);
    const std::string_view advice = asked().takes_base64 && !is_base64(vectors_->form)
                                        ? "send fewer texts in a call, or ask for an encoding_format of base64"
                                        : "send fewer texts in a call";
    if (auto error = check_answer_size(num_rows * of_row, model_.policy.max_answer_bytes, advice))
      return std::unexpected(std::move(*error));
    return {};
  }

  ApiRequest asked_;
  const ModelText& words_;
  const ServedModel& model_;
  const ModelInfo& info_;
  EmbeddingPromptOptions options_;
  QueryTokens query_tokens_ = {};  // the tokens of the first query, which all documents share where it is the only one
  std::shared_ptr<VectorCall> vectors_;
  CompletionCall call_ = {};
};

}  // namespace

ApiResult<CompletionCall> prepare_vectors(ApiRequest request, const ModelText& words, const ServedModel& model) {
  return VectorPreparation(std::move(request), words, model).prepare();
}

std::optional<ApiError> writes_nothing(const ModelInfo& info, std::string_view model) {
  if (info.embedding.generates) return std::nullopt;
  return unsupported_model(fmt::format(
      "model: {} is an encoder, which writes no text: {}", model,
      info.embedding.labels.empty() ? "/v1/embeddings makes vectors with it" : "/v1/rerank ranks documents with it"));
}

bool writes_text(const ModelInfo& info, const RequestPolicy& /*policy*/) { return info.embedding.generates; }

bool ranks(const ModelInfo& info, const RequestPolicy& /*policy*/) { return can_rank(info.embedding.labels.size()); }

bool scores_pairs(const ModelInfo& info, const RequestPolicy& policy) {
  return info.embedding.labels.empty() ? makes_vectors(info, policy) : ranks(info, policy);
}

bool makes_vectors(const ModelInfo& info, const RequestPolicy& policy) {
  return is_for_vectors(info, policy) && info.embedding.pooling != Pooling::kRank;
}

}  // namespace octavo

#include "server/route_rows.h"

#include <array>

#include "api/openai/openai_chat.h"
#include "api/tokenize_handler.h"

namespace octavo::server {
namespace {

using boost::beast::http::verb;

constexpr int kNotFound[] = {404};
constexpr int kTokenStatuses[] = {404, 429};
constexpr int kLoadStatuses[] = {404, 409, 429};
constexpr int kPullStatuses[] = {429, 502, 507};

constexpr ApiField kModelQuery[] = {field::string(
    "model", "the only one, or the first; of /info the first that makes vectors or ranks", "a model's name")};
constexpr ApiField kResponseQuery[] = {
    field::refused("stream", "a response that is kept has ended, and is told whole")};
constexpr ApiField kPageQuery[] = {
    field::string("order", "desc", "asc or desc"),
    field::integer("limit", 1, 100, "20", "the most items"),
    field::string("after", "from the beginning", "the id of an item"),
};

ApiFields named_model_fields() {
  static constexpr ApiField kRows[] = {field::needed(field::string("model", "", "the name of a model"))};
  static constexpr FieldTable kTables[] = {kRows};
  return kTables;
}

ApiFields show_fields() {
  static constexpr ApiField kRows[] = {
      field::string("model", "the only one, or the first", "the name of a model; \":latest\" behind it says nothing"),
      field::string("name", "", "an older name of model")};
  static constexpr FieldTable kTables[] = {kRows};
  return kTables;
}

ApiFields pull_fields() {
  static constexpr ApiField kRows[] = {field::string("model", "", "the name of a model at the hub"),
                                       field::string("name", "", "an older name of model"),
                                       field::boolean("stream", "true", "tells how far it is"),
                                       field::refused("insecure", "the server knows its own hub")};
  static constexpr FieldTable kTables[] = {kRows};
  return kTables;
}

constexpr RouteText refused_change(std::string_view summary) { return {.summary = summary, .content_type = {}}; }

constexpr RouteRow kRows[] = {
    {.route = Route::kChatPage,
     .path = "/",
     .text = {.summary = "A page to chat on", .content_type = "text/html; charset=utf-8", .statuses = kNotFound}},
    {.route = Route::kHealth,
     .path = "/health",
     .text = {.summary = "Whether the process answers", .has_own_errors = true}},
    {.route = Route::kReady, .path = "/ready", .text = {.summary = "Whether a request would be served now"}},
    {.route = Route::kMetrics,
     .path = "/metrics",
     .needs_key = true,
     .text = {.summary = "Prometheus' text of the metrics", .content_type = "text/plain", .statuses = kNotFound}},
    {.route = Route::kVersion, .path = "/version", .text = {.summary = "The server's version"}},
    {.route = Route::kOpenApi, .path = "/openapi.json", .text = {.summary = "This description"}},
    {.route = Route::kModels,
     .path = "/v1/models",
     .needs_key = true,
     .text = {.summary = "The models that are served"}},
    {.route = Route::kModels, .path = "/models", .needs_key = true, .text = {.summary = "The models that are served"}},
    {.route = Route::kLoadModel,
     .path = "/models/load",
     .method = verb::post,
     .needs_key = true,
     .text = {.summary = "Loads a model", .fields = named_model_fields, .statuses = kLoadStatuses}},
    {.route = Route::kUnloadModel,
     .path = "/models/unload",
     .method = verb::post,
     .needs_key = true,
     .text = {.summary = "Lets a model go", .fields = named_model_fields, .statuses = kLoadStatuses}},
    {.route = Route::kTokenize,
     .path = "/tokenize",
     .method = verb::post,
     .needs_key = true,
     .text = {.summary = "The tokens of a text or a conversation",
              .fields = tokenize_fields,
              .statuses = kTokenStatuses}},
    {.route = Route::kDetokenize,
     .path = "/detokenize",
     .method = verb::post,
     .needs_key = true,
     .text = {.summary = "The text of tokens", .fields = detokenize_fields, .statuses = kTokenStatuses}},
    {.route = Route::kApplyTemplate,
     .path = "/apply-template",
     .method = verb::post,
     .needs_key = true,
     .text = {.summary = "The text that the chat template makes of a conversation",
              .fields = openai_conversation_fields,
              .statuses = kTokenStatuses}},
    {.route = Route::kResponse,
     .path = "/v1/responses/{id}",
     .needs_key = true,
     .text = {.summary = "A response that is kept", .query = kResponseQuery, .statuses = kNotFound}},
    {.route = Route::kDeleteResponse,
     .path = "/v1/responses/{id}",
     .method = verb::delete_,
     .needs_key = true,
     .text = {.summary = "Forgets a response that is kept", .statuses = kNotFound}},
    {.route = Route::kResponseInput,
     .path = "/v1/responses/{id}/input_items",
     .needs_key = true,
     .text = {.summary = "The items that a kept response was asked with", .query = kPageQuery, .statuses = kNotFound}},
    {.route = Route::kLlamaProps,
     .path = "/props",
     .needs_key = true,
     .text = {.summary = "What a model is, as llama.cpp has it", .query = kModelQuery, .statuses = kNotFound}},
    {.route = Route::kLlamaSlots,
     .path = "/slots",
     .needs_key = true,
     .text = {.summary = "The answers that are being made, as llama.cpp has them",
              .query = kModelQuery,
              .statuses = kNotFound}},
    {.route = Route::kTeiInfo,
     .path = "/info",
     .needs_key = true,
     .text = {.summary = "What a model is, as Hugging Face's server of embeddings has it",
              .query = kModelQuery,
              .statuses = kNotFound}},
    {.route = Route::kOllamaTags,
     .path = "/api/tags",
     .needs_key = true,
     .text = {.summary = "The models that are served, as ollama has them"}},
    {.route = Route::kOllamaRunning,
     .path = "/api/ps",
     .needs_key = true,
     .text = {.summary = "The models that are in memory"}},
    {.route = Route::kOllamaShow,
     .path = "/api/show",
     .method = verb::post,
     .needs_key = true,
     .text = {.summary = "What a model is, as ollama has it", .fields = show_fields, .statuses = kTokenStatuses}},
    {.route = Route::kOllamaVersion,
     .path = "/api/version",
     .text = {.summary = "The version of ollama's API, and the server's"}},
    {.route = Route::kOllamaPull,
     .path = "/api/pull",
     .method = verb::post,
     .needs_key = true,
     .text = {.summary = "Fetches a model, where the server was started with --allow-pull",
              .fields = pull_fields,
              .stream_type = "application/x-ndjson",
              .statuses = kPullStatuses}},
    {.route = Route::kOllamaChange,
     .path = "/api/delete",
     .method = verb::delete_,
     .needs_key = true,
     .text = refused_change("Removes no model: the error says what to type")},
    {.route = Route::kOllamaChange,
     .path = "/api/copy",
     .method = verb::post,
     .needs_key = true,
     .text = refused_change("Copies no model: the error says what to do")},
    {.route = Route::kOllamaChange,
     .path = "/api/create",
     .method = verb::post,
     .needs_key = true,
     .text = refused_change("Makes no model: the error says what to type")},
    {.route = Route::kOllamaChange,
     .path = "/api/push",
     .method = verb::post,
     .needs_key = true,
     .text = refused_change("Sends no model: the error says what to type")},
    {.route = Route::kModel,
     .path = "/v1/models/{id}",
     .needs_key = true,
     .takes_slashes = true,
     .text = {.summary = "A model that is served", .statuses = kNotFound}},
};

}  // namespace

std::span<const RouteRow> own_routes() { return kRows; }

}  // namespace octavo::server

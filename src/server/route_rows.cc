#include "server/route_rows.h"

#include "api/openai/openai_chat.h"
#include "api/tokenize_handler.h"
#include "server/api_routes.h"
#include "server/model_routes.h"
#include "server/pull_handler.h"
#include "server/response_routes.h"
#include "server/router_routes.h"
#include "server/server_routes.h"
#include "server/service_parts.h"
#include "server/slot_actions.h"

namespace octavo::server {
namespace {

using boost::beast::http::verb;

constexpr int kNotFound[] = {404};
constexpr int kTokenStatuses[] = {404, 429};
constexpr int kLoadStatuses[] = {404, 409, 429};
constexpr int kPullStatuses[] = {429, 502, 507};

constexpr ApiField kModelQuery[] = {field::string(
    "model", "the only one, or the first; of /info the first that makes vectors or ranks", "a model's name")};
constexpr ApiField kLoadQuery[] = {
    kModelQuery[0],
    field::integer("prompt_tokens", 1, 2147483647, "128, 1024, 8192 and 65536",
                   "the length of the prompt whose wait is predicted"),
};
constexpr ApiField kResponseQuery[] = {
    field::refused("stream", "a response that is kept has ended, and is told whole")};
constexpr ApiField kPageQuery[] = {
    field::string("order", "desc", "asc or desc"),
    field::integer("limit", 1, 100, "20", "the most items"),
    field::string("after", "from the beginning", "the id of an item"),
};

constexpr std::string_view kSlotActions[] = {"save", "restore", "erase"};
constexpr ApiField kSlotQuery[] = {
    field::needed(field::one_of("action", kSlotActions, "", "save, restore or erase, none of which is needed"))};

ApiFields slot_fields() {
  static constexpr ApiField kRows[] = {field::string("filename", "", "a name that the answer repeats")};
  static constexpr FieldTable kTables[] = {kRows};
  return kTables;
}

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

/// Answers with a function that waits for nothing.
template <HttpResponse (*kAnswer)(const RouteCall&)>
asio::awaitable<void> at_once(RouteCall call) {
  HttpResponse response = kAnswer(call);
  co_await call.parts.responder.send(call.exchange, response);
}

constexpr RouteText no_change(std::string_view summary) { return {.summary = summary, .content_type = {}}; }

constexpr RouteRow kRows[] = {
    {.path = "/",
     .answer = at_once<show_chat_page>,
     .text = {.summary = "A page to chat on", .content_type = "text/html; charset=utf-8", .statuses = kNotFound}},
    {.path = "/health",
     .answer = at_once<show_health>,
     .is_probe = true,
     .text = {.summary = "Whether the process answers", .has_own_errors = true}},
    {.path = "/ready",
     .answer = at_once<show_readiness>,
     .is_probe = true,
     .text = {.summary = "Whether a request would be served now"}},
    {.path = "/metrics",
     .answer = at_once<show_metrics>,
     .needs_key = true,
     .is_metrics = true,
     .text = {.summary = "Prometheus' text of the metrics", .content_type = "text/plain", .statuses = kNotFound}},
    {.path = "/version", .answer = at_once<show_version>, .text = {.summary = "The server's version"}},
    {.path = "/openapi.json", .answer = at_once<show_description>, .text = {.summary = "This description"}},
    {.path = "/v1/models",
     .answer = at_once<list_models>,
     .needs_key = true,
     .needs_models = true,
     .text = {.summary = "The models that are served"}},
    {.path = "/models",
     .answer = at_once<list_models>,
     .needs_key = true,
     .needs_models = true,
     .text = {.summary = "The models that are served"}},
    {.path = "/models/load",
     .method = verb::post,
     .answer = load_model,
     .needs_key = true,
     .needs_models = true,
     .text = {.summary = "Loads a model", .fields = named_model_fields, .statuses = kLoadStatuses}},
    {.path = "/models/unload",
     .method = verb::post,
     .answer = unload_model,
     .needs_key = true,
     .needs_models = true,
     .text = {.summary = "Lets a model go", .fields = named_model_fields, .statuses = kLoadStatuses}},
    {.path = "/tokenize",
     .method = verb::post,
     .answer = tokenize,
     .needs_key = true,
     .needs_models = true,
     .text = {.summary = "The tokens of a text or a conversation",
              .fields = tokenize_fields,
              .statuses = kTokenStatuses}},
    {.path = "/detokenize",
     .method = verb::post,
     .answer = detokenize,
     .needs_key = true,
     .needs_models = true,
     .text = {.summary = "The text of tokens", .fields = detokenize_fields, .statuses = kTokenStatuses}},
    {.path = "/apply-template",
     .method = verb::post,
     .answer = apply_template,
     .needs_key = true,
     .needs_models = true,
     .text = {.summary = "The text that the chat template makes of a conversation",
              .fields = openai_conversation_fields,
              .statuses = kTokenStatuses}},
    {.path = "/v1/responses/{id}",
     .answer = at_once<show_response>,
     .needs_key = true,
     .text = {.summary = "A response that is kept", .query = kResponseQuery, .statuses = kNotFound}},
    {.path = "/v1/responses/{id}",
     .method = verb::delete_,
     .answer = at_once<delete_response>,
     .needs_key = true,
     .text = {.summary = "Forgets a response that is kept", .statuses = kNotFound}},
    {.path = "/v1/responses/{id}/input_items",
     .answer = at_once<list_response_input>,
     .needs_key = true,
     .text = {.summary = "The items that a kept response was asked with", .query = kPageQuery, .statuses = kNotFound}},
    {.path = "/props",
     .answer = at_once<show_llama_props>,
     .needs_key = true,
     .needs_models = true,
     .is_queried = true,
     .text = {.summary = "What a model is, as llama.cpp has it", .query = kModelQuery, .statuses = kNotFound}},
    {.path = "/slots",
     .answer = at_once<show_slots>,
     .needs_key = true,
     .needs_models = true,
     .is_queried = true,
     .is_metrics = true,
     .text = {.summary = "The answers that are being made, as llama.cpp has them",
              .query = kModelQuery,
              .statuses = kNotFound}},
    {.path = "/slots/{id}",
     .method = verb::post,
     .answer = at_once<act_on_slot>,
     .needs_key = true,
     .needs_models = true,
     .text = {.summary = "What programs do that keep the cache of a slot of llama.cpp's by hand",
              .fields = slot_fields,
              .query = kSlotQuery,
              .statuses = kNotFound}},
    {.path = "/info",
     .answer = at_once<show_tei_info>,
     .needs_key = true,
     .needs_models = true,
     .is_queried = true,
     .text = {.summary = "What a model is, as Hugging Face's server of embeddings has it",
              .query = kModelQuery,
              .statuses = kNotFound}},
    {.path = "/server_info",
     .answer = at_once<show_server_info>,
     .needs_key = true,
     .needs_models = true,
     .is_queried = true,
     .text = {.summary = "What the server is, as routers ask for it", .query = kModelQuery, .statuses = kNotFound}},
    {.path = "/get_server_info",
     .answer = at_once<show_server_info>,
     .needs_key = true,
     .needs_models = true,
     .is_queried = true,
     .text = {.summary = "The older path of /server_info", .query = kModelQuery, .statuses = kNotFound}},
    {.path = "/model_info",
     .answer = at_once<show_model_info>,
     .needs_key = true,
     .needs_models = true,
     .is_queried = true,
     .text = {.summary = "What a model is, as routers ask for it", .query = kModelQuery, .statuses = kNotFound}},
    {.path = "/get_model_info",
     .answer = at_once<show_model_info>,
     .needs_key = true,
     .needs_models = true,
     .is_queried = true,
     .text = {.summary = "The older path of /model_info", .query = kModelQuery, .statuses = kNotFound}},
    {.path = "/v1/loads",
     .answer = at_once<show_loads>,
     .needs_key = true,
     .needs_models = true,
     .is_queried = true,
     .text = {.summary = "How much a model has to do, and how long new prompts will wait",
              .query = kLoadQuery,
              .statuses = kNotFound}},
    {.path = "/api/tags",
     .answer = at_once<list_ollama_models>,
     .needs_key = true,
     .needs_models = true,
     .text = {.summary = "The models that are served, as ollama has them"}},
    {.path = "/api/ps",
     .answer = at_once<list_running_models>,
     .needs_key = true,
     .needs_models = true,
     .text = {.summary = "The models that are in memory"}},
    {.path = "/api/show",
     .method = verb::post,
     .answer = show_ollama_model,
     .needs_key = true,
     .needs_models = true,
     .text = {.summary = "What a model is, as ollama has it", .fields = show_fields, .statuses = kTokenStatuses}},
    {.path = "/api/version",
     .answer = at_once<show_ollama_version>,
     .text = {.summary = "The version of ollama's API, and the server's"}},
    {.path = "/api/pull",
     .method = verb::post,
     .answer = pull_model,
     .needs_key = true,
     .needs_models = true,
     .text = {.summary = "Fetches a model, where the server was started with --allow-pull",
              .fields = pull_fields,
              .stream_type = "application/x-ndjson",
              .statuses = kPullStatuses}},
    {.path = "/api/delete",
     .method = verb::delete_,
     .answer = refuse_change,
     .needs_key = true,
     .text = no_change("Removes no model: the error says what to type")},
    {.path = "/api/copy",
     .method = verb::post,
     .answer = refuse_change,
     .needs_key = true,
     .text = no_change("Copies no model: the error says what to do")},
    {.path = "/api/create",
     .method = verb::post,
     .answer = refuse_change,
     .needs_key = true,
     .text = no_change("Makes no model: the error says what to type")},
    {.path = "/api/push",
     .method = verb::post,
     .answer = refuse_change,
     .needs_key = true,
     .text = no_change("Sends no model: the error says what to type")},
    {.path = "/v1/models/{id}",
     .answer = at_once<show_model>,
     .needs_key = true,
     .needs_models = true,
     .takes_slashes = true,
     .text = {.summary = "A model that is served", .statuses = kNotFound}},
};

}  // namespace

std::span<const RouteRow> own_routes() { return kRows; }

}  // namespace octavo::server

#include "server/model_routes.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <variant>

#include "api/llama/llama_props.h"
#include "api/vectors/tei_info.h"
#include "base/error.h"
#include "server/ollama_models.h"
#include "server/openai_models.h"
#include "server/service_parts.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

bool is_running(const ModelSlot& slot) {
  return slot.state() == ModelSlot::State::kServing || slot.state() == ModelSlot::State::kLoading;
}

HttpResponse told(const ApiResult<json::object>& answered) {
  return answered ? HttpResponse{.body = json::serialize(*answered)} : to_response(answered.error());
}

ApiResult<json::object> props(const ModelSlot& slot) {
  if (!slot.model()) return std::unexpected(unavailable("the model is not loaded", "loading"));
  return llama_props(*slot.model(), *slot.info());
}

/// Answers with what `tell` gives about the model that the path or its query names. `serves`: for a query that names
/// none.
template <class Tell>
HttpResponse about_model(const RouteCall& call, Serves serves, const Tell& tell) {
  const ModelSlot* slot = call.parts.models.find(call.match.argument, serves);
  if (slot == nullptr) return to_response(call.parts.models.not_found(call.match.argument));
  return told(tell(*slot));
}

/// Makes an answer. `owner`: the client. `body`: of a client that is still there.
using AnswerBody = ApiResult<json::object> (*)(const BodyResult& body, ModelTable& models, const std::string& owner);

ApiResult<json::object> load(const BodyResult& body, ModelTable& models, const std::string& owner) {
  OCTAVO_TRY_VOID(models.preload(*std::get<NothingToCompute>(body).slot, owner, Clock::now()));
  return json::object{{"success", true}};
}

ApiResult<json::object> unload(const BodyResult& body, ModelTable& models, const std::string& owner) {
  ModelSlot& slot = *std::get<NothingToCompute>(body).slot;
  if (!is_running(slot))
    return std::unexpected(invalid_value("model", fmt::format("the model '{}' is not running", slot.id())));
  OCTAVO_TRY(const bool goes, models.unload(slot, owner, Clock::now()));
  if (goes) return json::object{{"success", true}};
  return std::unexpected(
      ApiError{.status = 409, .message = model_stays(slot.id()), .param = "model", .code = "model_in_use"});
}

ApiResult<json::object> show(const BodyResult& body, ModelTable& /*models*/, const std::string& /*owner*/) {
  const auto& read = std::get<AddressedBody>(body);
  return ollama_show(read.object, read.model.model(), read.model.engine().info());
}

asio::awaitable<void> answer_body(RouteCall call, AnswerBody answer, BodyReader::Addressing how) {
  auto& [parts, exchange, match] = call;
  ApiResult<json::object> answered;
  const std::size_t num_bytes = exchange.request.body().size();
  if (num_bytes > kMaxModelBodyBytes) {
    answered = std::unexpected(model_body_too_large(num_bytes));
  } else {
    const ApiResult<BodyResult> read = co_await parts.bodies.read(exchange, how);
    if (is_client_gone(read)) {
      exchange.record.status = 499;
      co_return;
    }
    answered = read ? answer(*read, parts.models, client_of(exchange)) : std::unexpected(read.error());
  }
  if (!answered) {
    co_await parts.responder.refuse(exchange, answered.error());
    co_return;
  }
  HttpResponse response = told(answered);
  co_await parts.responder.send(exchange, response);
}

}  // namespace

HttpResponse list_models(const RouteCall& call) {
  return told(openai_models(call.parts.models.slots(), call.parts.models.policy()));
}

HttpResponse list_ollama_models(const RouteCall& call) {
  return told(ollama_tags(call.parts.models.slots(), call.parts.models.policy()));
}

HttpResponse list_running_models(const RouteCall& call) {
  return told(ollama_running(call.parts.models, Clock::now()));
}

HttpResponse show_model(const RouteCall& call) {
  return about_model(call, nullptr, [&](const ModelSlot& slot) -> ApiResult<json::object> {
    return openai_model(slot, call.parts.models.policy());
  });
}

HttpResponse show_tei_info(const RouteCall& call) {
  return about_model(call, has_tei_type, [&](const ModelSlot& slot) -> ApiResult<json::object> {
    if (slot.known() == nullptr) return props(slot);
    return tei_info(slot.id(), *slot.known(), call.parts.models.policy());
  });
}

HttpResponse show_llama_props(const RouteCall& call) { return about_model(call, nullptr, props); }

asio::awaitable<void> load_model(RouteCall call) { return answer_body(call, load, {.is_about_slot = true}); }

asio::awaitable<void> unload_model(RouteCall call) { return answer_body(call, unload, {.is_about_slot = true}); }

asio::awaitable<void> show_ollama_model(RouteCall call) { return answer_body(call, show, {.has_tags = true}); }

std::string model_stays(std::string_view id) {
  return fmt::format(
      "the model '{}' stays in memory, as other clients have used it within the time that they want it "
      "kept; it is no longer kept for this one",
      id);
}

ApiError model_body_too_large(std::size_t num_bytes) {
  return {.status = 413,
          .message =
              fmt::format("found {} bytes, expected at most {}: the name of a model", num_bytes, kMaxModelBodyBytes)};
}

}  // namespace octavo::server

#include "server/api_routes.h"

#include <utility>

#include "api/prepare/prepare_vectors.h"
#include "api/render_handler.h"
#include "api/tokenize_handler.h"
#include "server/completion_handler.h"
#include "server/run_on.h"
#include "server/service_parts.h"

namespace octavo::server {
namespace {

asio::awaitable<void> answer_about_tokens(RouteCall call, AnswerTokens answer, BodyReader::Addressing how) {
  auto& [parts, exchange, match] = call;
  HttpResponse response{.held = BufferedAnswer(parts.held, client_of(exchange))};
  ApiResult<std::string> text;
  {
    ApiResult<BodyResult> read = co_await parts.bodies.read(exchange, how);
    if (is_client_gone(read)) {
      exchange.record.status = 499;
      co_return;
    }
    if (!read) {
      text = std::unexpected(read.error());
    } else if (auto* body = std::get_if<AddressedBody>(&*read)) {
      const StoppableWork::Part part(parts.counting, exchange, Clock::now());
      auto unfetched = co_await parts.pictures.fetch(exchange, *body, part.stop());
      TokenizeCall asked{.answer = answer,
                         .body = std::move(body->object),
                         .api = match.row->api,
                         .id = parts.make_id(),
                         .responses = parts.responses_of(exchange, body->num_bytes)};
      if (unfetched) asked.unfetched = std::move(*unfetched);
      auto work = [&]() -> ApiResult<std::string> {
        if (!unfetched) return std::unexpected(unfetched.error());
        return answer_by(std::move(asked), *body->model.engine().text(), body->model.model(), response.held,
                         part.stop());
      };
      text = co_await run_on(parts.bodies.threads(), work);
      if (part.error()) text = std::unexpected(*part.error());
    }
  }
  if (!text) {
    response.held.set(0);
    co_await parts.responder.refuse(exchange, text.error());
    co_return;
  }
  response.body = std::move(*text);
  co_await parts.responder.send(exchange, response);
}

}  // namespace

asio::awaitable<void> answer_of_api(RouteCall call) {
  ServiceParts& parts = call.parts;
  CompletionHandler handler({.options = parts.options,
                             .responder = parts.responder,
                             .bodies = parts.bodies,
                             .pictures = parts.pictures,
                             .compiling = parts.compiling,
                             .models = parts.models,
                             .responses = parts.responses,
                             .active = parts.active,
                             .mailbox = parts.mailbox,
                             .held = parts.held,
                             .metrics = parts.metrics},
                            call.exchange);
  const Api& api = *call.match.row->api;
  const BodyReader::Addressing how{
      .has_tags = api.has_tags, .can_unload = api.unloaded != nullptr, .ends_with_hang_up = true, .serves = api.serves};
  std::string id = parts.make_id();
  co_await handler.run(api, how, std::move(id));
}

asio::awaitable<void> count_of_api(RouteCall call) {
  const Api& api = *call.match.row->api;
  return answer_about_tokens(call, answer_count, {.has_tags = api.has_tags, .serves = api.serves});
}

asio::awaitable<void> render_of_api(RouteCall call) {
  const Api& api = *call.match.row->api;
  return answer_about_tokens(call, answer_render, {.has_tags = api.has_tags, .serves = api.serves});
}

asio::awaitable<void> tokenize(RouteCall call) { return answer_about_tokens(call, answer_tokenize, {}); }

asio::awaitable<void> detokenize(RouteCall call) { return answer_about_tokens(call, answer_detokenize, {}); }

asio::awaitable<void> apply_template(RouteCall call) {
  return answer_about_tokens(call, answer_apply_template, {.serves = writes_text});
}

}  // namespace octavo::server

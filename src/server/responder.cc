#include "server/responder.h"

#include <optional>
#include <string>

namespace octavo::server {

HttpResponse Responder::error_response(std::string_view target, const ApiError& error) const {
  HttpResponse response = to_response(error);
  response.body = routes_.error_body(target, error);
  return response;
}

void Responder::hold(const Exchange& exchange, HttpResponse& response) const {
  std::optional<ApiError> error;
  if (response.held) {
    error = response.held.hold(response.body.size());
  } else {
    response.held = BufferedAnswer(held_, client_of(exchange));
    error = response.held.hold_own(response.body.size());
  }
  if (!error || response.body.size() <= BufferBudget::kAlwaysHeld) return;
  response = error_response(exchange.request.target(), *error);
  response.held = BufferedAnswer(held_, client_of(exchange));
  response.held.set(response.body.size());
}

void Responder::add_fields(const Exchange& exchange, HttpResponse& response) const {
  add_headers(exchange.request, routes_, exchange.record.id, origins_, response);
  if (!exchange.load.empty()) response.headers.emplace_back("endpoint-load-metrics", exchange.load);
}

// GCC 12 evaluates both branches of a conditional expression in co_await's operand, and destroys some of its
// temporaries twice: so, here and elsewhere, functions to await are called with named values.
asio::awaitable<void> Responder::send(Exchange& exchange, HttpResponse& response) const {
  hold(exchange, response);
  add_fields(exchange, response);
  exchange.record.status = response.status;
  const bool head_only = exchange.request.method() == http::verb::head;
  const bool sent = co_await exchange.connection.respond(response, head_only);
  if (!sent) exchange.record.status = 499;
}

asio::awaitable<void> Responder::refuse(Exchange& exchange, const ApiError& error) const {
  HttpResponse response = error_response(exchange.request.target(), error);
  co_await send(exchange, response);
}

asio::awaitable<bool> Responder::begin_stream(Exchange& exchange, std::string_view content_type) const {
  HttpResponse head{.content_type = std::string(content_type)};
  head.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  add_fields(exchange, head);
  exchange.record.status = 200;
  const bool is_open = co_await exchange.connection.begin_stream(head);
  co_return is_open;
}

}  // namespace octavo::server

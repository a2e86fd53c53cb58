// Sends all answers to requests: their bodies count as held until they are written, their heads get the fields that
// every answer has, and the record gets their status.
//
// Owned by the Service; the I/O thread.
#pragma once

#include <string_view>

#include "api/buffered_answer.h"
#include "api/call/api_error.h"
#include "server/exchange.h"
#include "server/request_head.h"
#include "server/routes.h"

namespace octavo::server {

class Responder {
 public:
  /// All references must outlive it.
  Responder(const Routes& routes, const CorsOrigins& origins, BufferBudget& held)
      : routes_(routes), origins_(origins), held_(held) {}

  /// An error in the form of the API to which this target belongs.
  HttpResponse error_response(std::string_view target, const ApiError& error) const;
  /// Sends an answer, or an error instead where the body is too large to hold.
  asio::awaitable<void> send(Exchange& exchange, HttpResponse& response) const;
  asio::awaitable<void> refuse(Exchange& exchange, const ApiError& error) const;
  /// Sends the head of a stream of this type; the text must stay valid. False: the connection is closed.
  asio::awaitable<bool> begin_stream(Exchange& exchange, std::string_view content_type) const;

 private:
  void hold(const Exchange& exchange, HttpResponse& response) const;
  /// Adds the fields that every answer's head has, and those that this request asked for.
  void add_fields(const Exchange& exchange, HttpResponse& response) const;

  const Routes& routes_;
  const CorsOrigins& origins_;
  BufferBudget& held_;
};

}  // namespace octavo::server

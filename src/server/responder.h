// The answers to requests, as they all leave: their bodies are counted as held until they are written, their heads have
// the fields that every answer has, and the record knows their status.
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
  /// All must outlive it.
  Responder(const Routes& routes, const CorsOrigins& origins, BufferBudget& held)
      : routes_(routes), origins_(origins), held_(held) {}

  /// An error in the form of the API that has this target.
  HttpResponse error_response(std::string_view target, const ApiError& error) const;
  /// A body that is too much to hold gives way to an error.
  asio::awaitable<void> send(Exchange& exchange, HttpResponse& response) const;
  asio::awaitable<void> refuse(Exchange& exchange, const ApiError& error) const;
  /// The head of a stream of this type, a text that stays. False: the connection is closed.
  asio::awaitable<bool> begin_stream(Exchange& exchange, std::string_view content_type) const;

 private:
  void hold(const Exchange& exchange, HttpResponse& response) const;

  const Routes& routes_;
  const CorsOrigins& origins_;
  BufferBudget& held_;
};

}  // namespace octavo::server

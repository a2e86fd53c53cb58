// The routes about the models of the server: lists of them, facts about one, and llama.cpp's loading and unloading.
//
// Free functions without state; the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "api/call/api_error.h"
#include "http/http_connection.h"
#include "server/routes.h"

namespace octavo::server {

inline constexpr std::size_t kMaxModelBodyBytes = 65536;  // the most bytes of a body with a model's name
ApiError model_body_too_large(std::size_t num_bytes);
/// The notice to a client that unloads a model which others still use.
std::string model_stays(std::string_view id);

HttpResponse list_models(const RouteCall& call);
HttpResponse list_ollama_models(const RouteCall& call);
HttpResponse list_running_models(const RouteCall& call);
HttpResponse show_model(const RouteCall& call);
/// Answers GET /props; 503 where the model is not loaded.
HttpResponse show_llama_props(const RouteCall& call);
HttpResponse show_tei_info(const RouteCall& call);
boost::asio::awaitable<void> show_ollama_model(RouteCall call);
/// Begins to load a model without waiting for it, as llama.cpp does. Errors: the model is loaded already, or cannot be.
/// The second function unloads one; 409: others still use it.
boost::asio::awaitable<void> load_model(RouteCall call);
boost::asio::awaitable<void> unload_model(RouteCall call);

}  // namespace octavo::server

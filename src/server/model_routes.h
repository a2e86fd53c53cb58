// The routes about the models of the server: lists of them, what is known of one, and llama.cpp's loading and
// unloading. https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
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

inline constexpr std::size_t kMaxModelBodyBytes = 65536;  // of a body with the name of a model
ApiError model_body_too_large(std::size_t num_bytes);
/// What a client is told that wanted a model no more, where others do.
std::string model_stays(std::string_view id);

HttpResponse list_models(const RouteCall& call);
HttpResponse list_ollama_models(const RouteCall& call);
HttpResponse list_running_models(const RouteCall& call);
HttpResponse show_model(const RouteCall& call);
/// 503 where the model is not loaded; it knows more of it than the others.
HttpResponse show_llama_props(const RouteCall& call);
HttpResponse show_tei_info(const RouteCall& call);
boost::asio::awaitable<void> show_ollama_model(RouteCall call);
/// Loading is begun, not waited for, as llama.cpp does it. Errors: a model that is loaded already, or not at all; a
/// 409: it stays for others.
boost::asio::awaitable<void> load_model(RouteCall call);
boost::asio::awaitable<void> unload_model(RouteCall call);

}  // namespace octavo::server

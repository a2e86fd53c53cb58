// The routes about the models of the server: lists of them, what is known of one, and llama.cpp's loading and
// unloading. https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
//
// Free functions without state; the I/O thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "api/call/api_error.h"
#include "server/body_reader.h"
#include "server/model_table.h"
#include "server/routes.h"

namespace octavo::server {

/// GET of a list, of one model, or of llama.cpp's /props. Errors: 404; 503 where that is known of loaded ones alone.
ApiResult<boost::json::object> answer_model_get(const RouteMatch& match, ModelTable& models,
                                                ModelTable::Clock::time_point now);

/// A POST with the name of a model.
constexpr bool is_about_model(Route route) {
  return route == Route::kOllamaShow || route == Route::kLoadModel || route == Route::kUnloadModel;
}
inline constexpr std::size_t kMaxModelBodyBytes = 65536;  // of its body
/// What a client is told that wanted a model no more, where others do.
std::string model_stays(std::string_view id);
ApiError model_body_too_large(std::size_t num_bytes);
/// `owner`: the client. Loading is begun, not waited for, as llama.cpp does it. Errors: fields of a wrong type; another
/// model; one that is loaded already, or not at all; a 409: it stays for others. `body`: of a client who is there.
ApiResult<boost::json::object> answer_model_post(Route route, const BodyResult& body, ModelTable& models,
                                                 const std::string& owner, ModelTable::Clock::time_point now);

}  // namespace octavo::server

// The routes of the APIs, and those that count the tokens of a body.
//
// Coroutines without state; the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "server/routes.h"

namespace octavo::server {

/// Answers by the row's API.
boost::asio::awaitable<void> answer_of_api(RouteCall call);
/// Answers with the number of tokens that the row's API would compute.
boost::asio::awaitable<void> count_of_api(RouteCall call);
/// Answers with the tokens of the prompts that the row's API would compute.
boost::asio::awaitable<void> render_of_api(RouteCall call);
boost::asio::awaitable<void> tokenize(RouteCall call);
boost::asio::awaitable<void> detokenize(RouteCall call);
boost::asio::awaitable<void> apply_template(RouteCall call);

}  // namespace octavo::server

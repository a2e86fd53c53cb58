// The routes of the APIs, and those about the tokens of a body.
//
// Coroutines without state; the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "server/routes.h"

namespace octavo::server {

/// An answer of the row's API.
boost::asio::awaitable<void> answer_of_api(RouteCall call);
/// The number of tokens of what the row's API would be asked.
boost::asio::awaitable<void> count_of_api(RouteCall call);
boost::asio::awaitable<void> tokenize(RouteCall call);
boost::asio::awaitable<void> detokenize(RouteCall call);
boost::asio::awaitable<void> apply_template(RouteCall call);

}  // namespace octavo::server

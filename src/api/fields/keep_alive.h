// How long a model is to stay in memory after a request: `keep_alive` of ollama's API.
// https://github.com/ollama/ollama/blob/main/docs/faq.md
//
// Free functions without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <optional>

#include "api/call/api_error.h"

namespace octavo {

inline constexpr std::chrono::milliseconds kKeptForever = std::chrono::milliseconds::max();

/// The duration that `keep_alive` gives: a number of seconds, or a text such as "5m" or "1h30m" (Go's durations); less
/// than 0 means kKeptForever. Nothing: the body does not say. Errors: another type or form.
ApiResult<std::optional<std::chrono::milliseconds>> keep_alive_of(const boost::json::object& body);

/// Whether a body unloads its model: it has no prompt and no messages, and keep_alive is 0.
bool asks_to_unload(const boost::json::object& body);

}  // namespace octavo

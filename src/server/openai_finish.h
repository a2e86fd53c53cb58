// How OpenAI's API says why an answer has ended, and which ends are errors.
//
// Free functions without state; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "octavo/request.h"
#include "server/api_error.h"

namespace octavo::server {

/// The only ends that clients know: "stop", "length", and in place of the former "tool_calls" where the answer calls.
std::string_view finish_name(FinishReason finish, bool calls);

/// The error that the call is answered with; nothing for an end that is none. `stats`: of the choice.
std::optional<ApiError> error_of(FinishReason finish, const RequestStats& stats = {});

}  // namespace octavo::server

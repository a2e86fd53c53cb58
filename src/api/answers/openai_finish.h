// How OpenAI's API says why an answer has ended, and which ends are errors.
//
// Free functions without state; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "api/call/api_error.h"
#include "octavo/request.h"

namespace octavo {

/// The finish reasons that clients know: "stop" and "length". An answer that calls tools has another name for "stop".
std::string_view finish_name(FinishReason finish);

/// The error that the call is answered with; none where this end is no error. `stats`: those of the choice.
std::optional<ApiError> error_of(FinishReason finish, const RequestStats& stats = {});

}  // namespace octavo

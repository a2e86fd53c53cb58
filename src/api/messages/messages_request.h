// Bodies of Anthropic's Messages API.
// https://docs.anthropic.com/en/api/messages
//
// Free functions without state; they run on any thread.
#pragma once

#include <boost/json/object.hpp>

#include "api/call/api_field.h"

namespace octavo {

/// POST /v1/messages.
ApiFields messages_fields();
/// Errors: fields of a wrong type, and what a text model cannot do.
ApiResult<ApiRequest> read_messages(const boost::json::object& body, const ApiContext& context);
/// The fields of POST /v1/messages/count_tokens, where there is no answer that max_tokens would bound.
ApiFields counted_messages_fields();
ApiResult<ApiRequest> read_counted_messages(const boost::json::object& body, const ApiContext& context);

}  // namespace octavo

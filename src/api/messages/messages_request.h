// The bodies of Anthropic's Messages API.
// https://docs.anthropic.com/en/api/messages
//
// Free functions without state; they run on any thread.
#pragma once

#include <boost/json/object.hpp>

#include "api/call/api_field.h"

namespace octavo {

/// The fields of POST /v1/messages.
ApiFields messages_fields();
/// Reads a body. Errors: fields of a wrong type, and wishes that a text model cannot meet.
ApiResult<ApiRequest> read_messages(const boost::json::object& body, const ApiContext& context);
/// The fields of POST /v1/messages/count_tokens: max_tokens is not among them, as there is no answer.
ApiFields counted_messages_fields();
ApiResult<ApiRequest> read_counted_messages(const boost::json::object& body, const ApiContext& context);

}  // namespace octavo

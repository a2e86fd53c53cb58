// The bodies of OpenAI's Responses API.
// https://platform.openai.com/docs/api-reference/responses/create
//
// Free functions without state; they run on any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/call/api_error.h"
#include "api/call/api_field.h"
#include "api/call/completion.h"
#include "api/responses/response_store.h"
#include "octavo/model_text.h"

namespace octavo {

/// The part of a call that belongs to its response.
struct ResponseCall {
  std::string id = {};           // "resp_" and 32 hexadecimal digits that nobody can guess
  std::string previous_id = {};  // the id of the response that it continues; empty: none
  std::string echo = {};         // the members of the response's JSON that repeat the request, with a comma before each
  std::vector<ResponseItem> input = {};
  OwnResponses kept = {};  // where the response will be kept; without a store it is not kept
};

/// The id of an item: its kind (such as "msg"), the digits of its response's id, and a number. The item is found by it.
std::string response_item_id(std::string_view kind, std::string_view response_id, std::string_view number);

/// The fields of POST /v1/responses. The call has CompletionCall::response. Errors: what the server does not do; a
/// response or an item that is not in ApiContext::responses (404).
ApiFields responses_fields();
ApiResult<CompletionCall> parse_response_call(const boost::json::object& body, const ApiContext& context);

/// Reads a body of POST /v1/responses/input_tokens, whose tokens are counted and not answered.
ApiResult<ApiRequest> read_counted_response(const boost::json::object& body, const ApiContext& context);

}  // namespace octavo

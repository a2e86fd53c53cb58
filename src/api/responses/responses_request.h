// Bodies of OpenAI's Responses API.
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

/// The part of a call that is a response's alone.
struct ResponseCall {
  std::string id = {};           // "resp_" and 32 hexadecimal digits that nobody can guess
  std::string previous_id = {};  // of the response that it goes on with; empty: of none
  std::string echo = {};         // members of the response's JSON that repeat the request, with a comma before each
  std::vector<ResponseItem> input = {};
  OwnResponses kept = {};  // the response will be kept there; without a store it will not
};

/// The id of an item: "msg_", the digits of its response, and its number, by which it is found again.
std::string response_item_id(std::string_view kind, std::string_view response_id, std::string_view number);

/// POST /v1/responses. The call has CompletionCall::response. Errors: what the server does not do; 404, a response or
/// an item that is not among ApiContext::responses.
ApiFields responses_fields();
ApiResult<CompletionCall> parse_response_call(const boost::json::object& body, const ApiContext& context);

/// Reads POST /v1/responses/input_tokens, which asks what a prompt is made of.
ApiResult<ApiRequest> read_counted_response(const boost::json::object& body, const ApiContext& context);

}  // namespace octavo

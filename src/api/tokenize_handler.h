// POST /tokenize and POST /detokenize in the forms of vLLM and llama.cpp, and POST /apply-template in llama.cpp's form.
// Pure; on a worker thread.
#pragma once

#include <boost/json/object.hpp>
#include <stop_token>
#include <string>

#include "api/api.h"
#include "api/buffered_answer.h"
#include "api/call/api_error.h"
#include "api/call/completion.h"
#include "api/responses/response_store.h"
#include "octavo/model_text.h"

namespace octavo {

struct TokenizeCall;
/// Makes the body of an answer; `held` counts its bytes as they are made.
using AnswerTokens = ApiResult<std::string> (*)(const TokenizeCall& call, const ApiContext& context,
                                                BufferedAnswer& held);

struct TokenizeCall {
  AnswerTokens answer = nullptr;  // one of the functions below
  boost::json::object body = {};
  const Api* api = nullptr;          // for answer_count() and answer_render(): the API whose path was asked for
  std::string id = {};               // for answer_render(): 16 hexadecimal digits, different for each call
  OwnResponses responses = {};       // responses that a body of /v1/responses may continue
  UnfetchedPictures unfetched = {};  // see ApiContext
};

/// {"prompt": TEXT, "add_special_tokens": true}, {"messages": [...]} or a body of the Responses API, which has `input`
/// -> {"count", "max_model_len", "tokens"};
/// {"content": TEXT, "with_pieces": true} -> {"tokens": [{"id", "piece"}, ...]}
ApiResult<std::string> answer_tokenize(const TokenizeCall& call, const ApiContext& context, BufferedAnswer& held);
/// {"model": NAME, "tokens": [...]} -> {"prompt": TEXT}, without a model {"prompt": TEXT, "content": TEXT}
ApiResult<std::string> answer_detokenize(const TokenizeCall& call, const ApiContext& context, BufferedAnswer& held);
/// {"messages": [...]} -> {"prompt": TEXT}, the text that the chat template makes of them.
ApiResult<std::string> answer_apply_template(const TokenizeCall& call, const ApiContext& context, BufferedAnswer& held);
/// A body of Anthropic's Messages API or OpenAI's Responses API -> {"input_tokens"}
ApiResult<std::string> answer_count(const TokenizeCall& call, const ApiContext& context, BufferedAnswer& held);

/// Answers a call by its function. Errors: `model` names another model (404); the answer is too large to hold; more
/// than kMaxCountedTokens tokens (context_full.h), where the context has no room for more either. It ends soon, with an
/// error, once the stop is asked for.
ApiResult<std::string> answer_by(TokenizeCall call, const ModelText& words, const ServedModel& model,
                                 BufferedAnswer& held, const std::stop_token& stop = {});

/// The fields of bodies of /tokenize and /detokenize.
ApiFields tokenize_fields();
ApiFields detokenize_fields();

}  // namespace octavo

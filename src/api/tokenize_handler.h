// POST /tokenize and POST /detokenize, in vLLM's shapes and llama.cpp's, and POST /apply-template, in llama.cpp's.
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
/// The body of an answer, whose bytes `held` counts as they are made.
using AnswerTokens = ApiResult<std::string> (*)(const TokenizeCall& call, const ApiContext& context,
                                                BufferedAnswer& held);

struct TokenizeCall {
  AnswerTokens answer = nullptr;  // one of those below
  boost::json::object body = {};
  const CountedPath* counted = nullptr;  // the path of answer_count()
  OwnResponses responses = {};           // that a counted body of /v1/responses may go on with
  UnfetchedPictures unfetched = {};      // ApiContext's
};

/// {"prompt": TEXT, "add_special_tokens": true} or {"messages": [...]} -> {"count", "max_model_len", "tokens"};
/// {"content": TEXT, "with_pieces": true} -> {"tokens": [{"id", "piece"}, ...]}
ApiResult<std::string> answer_tokenize(const TokenizeCall& call, const ApiContext& context, BufferedAnswer& held);
/// {"model": NAME, "tokens": [...]} -> {"prompt": TEXT}, without a model {"prompt": TEXT, "content": TEXT}
ApiResult<std::string> answer_detokenize(const TokenizeCall& call, const ApiContext& context, BufferedAnswer& held);
/// {"messages": [...]} -> {"prompt": TEXT}, the text that the chat template makes of them.
ApiResult<std::string> answer_apply_template(const TokenizeCall& call, const ApiContext& context, BufferedAnswer& held);
/// A body of Anthropic's Messages API or OpenAI's Responses API -> {"input_tokens"}
ApiResult<std::string> answer_count(const TokenizeCall& call, const ApiContext& context, BufferedAnswer& held);

/// Answers a call by its function. Errors: 404, `model` names another one; the answer is too large to hold; more than
/// kMaxCountedTokens tokens (context_full.h), where the context holds no more either. It ends soon, with an error, once
/// the stop is asked for.
ApiResult<std::string> answer_by(TokenizeCall call, const ModelText& words, const ServedModel& model,
                                 BufferedAnswer& held, const std::stop_token& stop = {});

/// The fields of bodies of /tokenize and of /detokenize.
ApiFields tokenize_fields();
ApiFields detokenize_fields();

}  // namespace octavo

// POST /tokenize and POST /detokenize, in vLLM's shapes and llama.cpp's, and POST /apply-template, in llama.cpp's.
// Pure; on a worker thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <stop_token>
#include <string>

#include "api/api.h"
#include "api/buffered_answer.h"
#include "api/call/api_error.h"
#include "api/call/completion.h"
#include "api/responses/response_store.h"
#include "octavo/model_text.h"

namespace octavo {

struct TokenizeCall {
  enum class Kind : std::uint8_t { kTokenize, kDetokenize, kApplyTemplate, kCount };

  Kind kind = Kind::kTokenize;
  boost::json::object body = {};
  const CountedPath* counted = nullptr;  // the path of kCount
  OwnResponses responses = {};           // that a counted body of /v1/responses may go on with
};

/// {"prompt": TEXT, "add_special_tokens": true} or {"messages": [...]} -> {"count", "max_model_len", "tokens"};
/// {"content": TEXT, "with_pieces": true} -> {"tokens": [{"id", "piece"}, ...]}; {"model": NAME, "tokens": [...]} ->
/// {"prompt": TEXT}, without a model {"prompt": TEXT, "content": TEXT}; {"messages": [...]} -> {"prompt": TEXT}, the
/// text that the chat template makes of them. A body of Anthropic's Messages API or OpenAI's Responses API ->
/// {"input_tokens"}. The body of the answer, whose bytes `held` counts as they are made. Errors: 404, `model` names
/// another one; the answer is too large to hold; more than kMaxCountedTokens tokens (context_full.h), where the
/// context holds no more either. It ends soon, with an error, once the stop is asked for.
ApiResult<std::string> answer_tokenize(TokenizeCall call, const ModelText& words, const ServedModel& model,
                                       BufferedAnswer& held, const std::stop_token& stop = {});

/// The fields of bodies of /tokenize and of /detokenize.
ApiFields tokenize_fields();
ApiFields detokenize_fields();

}  // namespace octavo

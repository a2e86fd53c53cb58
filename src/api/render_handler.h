// POST /v1/chat/completions/render and its like (RenderedPath) in vLLM's form: routers ask for the tokens of a prompt
// before they choose who answers it.
//
// Pure; on a worker thread.
#pragma once

#include "api/tokenize_handler.h"

namespace octavo {

/// A body of TokenizeCall::api -> {"request_id", "token_ids", "sampling_params", "model", ...}, or a list of these, one
/// for each prompt. The body is read as the API itself reads it, with the same errors. Pictures have the model's
/// placeholders among the tokens, and `features` is null.
ApiResult<std::string> answer_render(const TokenizeCall& call, const ApiContext& context, BufferedAnswer& held);

}  // namespace octavo

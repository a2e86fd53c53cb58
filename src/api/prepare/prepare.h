// How a request becomes what the engine is asked for: the chat template is applied, texts are tokenized, and all is
// checked against the context, the memory of answers and what the model can do.
//
// Free functions without state; they run on any thread and take as long as tokenizing does.
#pragma once

#include "api/call/api_request.h"
#include "api/call/completion.h"

namespace octavo {

inline constexpr std::size_t kMaxRepeatedBytes = std::size_t{16} << 20;  // the most of settings, in all of a call

/// Errors name the request's fields: a prompt without room, a limit that cannot be met, an answer that is too large to
/// hold; 501 where the model fills no gaps.
ApiResult<CompletionCall> prepare(ApiRequest request, const ModelText& words, const ServedModel& model);

}  // namespace octavo

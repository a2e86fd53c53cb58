// A call that was read, with its constraints compiled as the server does between reading and submitting.
#pragma once

#include <utility>

#include "api/call/completion.h"

namespace octavo {

inline ApiResult<CompletionCall> compiled(ApiResult<CompletionCall> call, const ModelText& words) {
  if (!call) return call;
  if (auto done = compile_constraint(*call, words, {}); !done) return std::unexpected(std::move(done.error()));
  return call;
}

}  // namespace octavo

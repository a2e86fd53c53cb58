// A call that was read, with its constraints compiled as the server does between reading and submitting.
#pragma once

#include <utility>

#include "api/call/completion.h"

namespace octavo {

inline ApiResult<CompletionCall> compiled(ApiResult<CompletionCall> call, const Engine& engine) {
  if (!call) return call;
  if (auto done = compile_constraint(*call, engine, {}); !done) return std::unexpected(std::move(done.error()));
  return call;
}

}  // namespace octavo

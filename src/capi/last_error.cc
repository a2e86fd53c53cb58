#include "capi/last_error.h"

#include <utility>

#include "capi/sized.h"

namespace octavo::capi {
namespace {

thread_local CallError last = {.status = OCTAVO_OK};

octavo_status status_of(const ApiError& error) {
  if (error.code == "context_length_exceeded") return OCTAVO_TOO_LONG;
  switch (error.status) {
    case 429: return OCTAVO_BUSY;
    case 507: return OCTAVO_NO_MEMORY;
    case 408:
    case 499:
    case 504: return OCTAVO_STOPPED;
    case 503: return error.code == "shutting_down" ? OCTAVO_STOPPED : OCTAVO_NO_MEMORY;
    default: return error.status >= 400 && error.status < 500 ? OCTAVO_INVALID : OCTAVO_FAILED;
  }
}

octavo_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kContextOverflow: return OCTAVO_TOO_LONG;
    case ErrorKind::kQueueFull: return OCTAVO_BUSY;
    case ErrorKind::kOutOfMemory:
    case ErrorKind::kOutOfBlocks: return OCTAVO_NO_MEMORY;
    case ErrorKind::kStopped:
    case ErrorKind::kDraining: return OCTAVO_STOPPED;
    case ErrorKind::kOther:
    case ErrorKind::kInvalidPicture:
    case ErrorKind::kPictureTooLarge:
    case ErrorKind::kNoWords: return OCTAVO_INVALID;
  }
  return OCTAVO_FAILED;
}

}  // namespace

CallError CallError::of(octavo_status status, std::string message) {
  return {.status = status, .told = {.status = 0, .message = std::move(message)}};
}

CallError CallError::of(const Error& error) { return of(status_of(error.kind), error.message); }

CallError CallError::of(ApiError error) {
  const octavo_status status = status_of(error);
  return {.status = status, .told = std::move(error)};
}

octavo_status remember(const CallError& error) noexcept {
  try {
    last = error;
  } catch (const std::exception&) {
    last.status = OCTAVO_NO_MEMORY;
    last.told.message.clear();
  }
  return last.status;
}

void tell_last_error(octavo_error& error) noexcept {
  fill(error, octavo_error{.size = 0,
                           .status = last.status,
                           .http = last.told.status,
                           .message = last.told.message.c_str(),
                           .field = last.told.param.c_str(),
                           .code = last.told.code.c_str()});
}

}  // namespace octavo::capi

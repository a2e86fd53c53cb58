// The last error of each thread, as octavo_last_error() gives it. Any thread.
#pragma once

#include <string>

#include "api/call/api_error.h"
#include "octavo.h"
#include "octavo/result.h"

namespace octavo::capi {

/// An error as the C interface tells it.
struct CallError {
  octavo_status status = OCTAVO_FAILED;
  ApiError told = {.status = 0};  // a status of 0: it is no error of a request

  static CallError of(octavo_status status, std::string message);
  /// An engine's error, or one of loading.
  static CallError of(const Error& error);
  /// A request's.
  static CallError of(ApiError error);
};

/// Keeps the error for the calling thread; gives its status. Without memory for it the status says so.
octavo_status remember(const CallError& error) noexcept;
/// Fills in the fields that `error.size` has room for.
void tell_last_error(octavo_error& error) noexcept;

}  // namespace octavo::capi

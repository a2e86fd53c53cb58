// The last error of each thread, as octavo_last_error() gives it. Any thread.
#pragma once

#include <string>

#include "api/call/api_error.h"
#include "octavo.h"
#include "octavo/result.h"

namespace octavo::capi {

/// An error in the terms of the C interface.
struct CallError {
  octavo_status status = OCTAVO_FAILED;
  ApiError told = {.status = 0};  // the error of a request; a status of 0: this is none

  static CallError of(octavo_status status, std::string message);
  /// The error for one of the engine or of loading.
  static CallError of(const Error& error);
  /// The error for one of a request.
  static CallError of(ApiError error);
};

/// Keeps the error for the calling thread and gives its status, OCTAVO_NO_MEMORY where it cannot be kept.
octavo_status remember(const CallError& error) noexcept;
/// Fills in the fields that `error.size` has room for.
void tell_last_error(octavo_error& error) noexcept;

}  // namespace octavo::capi

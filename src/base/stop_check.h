// Long work asks here between its parts whether it is still wanted. Free functions; any thread.
#pragma once

#include <chrono>
#include <stop_token>
#include <string_view>

#include "base/error.h"

namespace octavo {

/// The error (kStopped) of work that was asked to stop; `work` names it, such as "loading".
Error stopped(std::string_view work);

/// Asks whether the work must stop. Error: a stop was asked for; `work` names the work.
Result<void> check_stop(const std::stop_token& stop, std::string_view work);

/// Waits for `time`, or until a stop is asked for.
void wait_unless_stopped(const std::stop_token& stop, std::chrono::milliseconds time);

}  // namespace octavo

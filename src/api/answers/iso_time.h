// Times in the form of logs. Pure; any thread.
#pragma once

#include <chrono>
#include <string>

namespace octavo {

/// A time as ISO 8601 writes it, as in "2025-01-31T12:00:00.123Z".
std::string iso_time(std::chrono::system_clock::time_point time);

}  // namespace octavo

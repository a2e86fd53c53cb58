#include "base/stop_check.h"

#include <condition_variable>
#include <mutex>

namespace octavo {

Error stopped(std::string_view work) {
  return {.message = fmt::format("{} was stopped", work), .kind = ErrorKind::kStopped};
}

Result<void> check_stop(const std::stop_token& stop, std::string_view work) {
  if (stop.stop_requested()) return std::unexpected(stopped(work));
  return {};
}

void wait_unless_stopped(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace octavo

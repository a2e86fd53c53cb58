#include "cli/terminal/standard_input.h"

#include <poll.h>
#include <sys/stat.h>

namespace octavo::cli {

PipedInput await_piped_input(int descriptor, std::chrono::milliseconds patience) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return PipedInput::kNone;
  if (S_ISREG(status.st_mode)) return PipedInput::kThere;
  if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)) return PipedInput::kNone;
  pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
  // A pipe whose writer has left is ready, too: it is at its end.
  return ::poll(&waiting, 1, static_cast<int>(patience.count())) > 0 ? PipedInput::kThere : PipedInput::kSilent;
}

}  // namespace octavo::cli

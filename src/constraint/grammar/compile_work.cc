#include "constraint/grammar/compile_work.h"

#include <algorithm>

#include "base/stop_check.h"

namespace octavo {

bool CompileWork::look() {
  has_ended_ = has_ended_ || num_steps_ > max_steps_ || stop_.stop_requested();
  next_look_ = std::min(num_steps_ + kStepsBetweenLooks, max_steps_ + 1);
  return !has_ended_;
}

Error CompileWork::error() const {
  if (num_steps_ <= max_steps_) return stopped(kCompiling);
  return {.message =
              fmt::format("found a constraint whose compiling takes more than {} steps of work, expected at most "
                          "as many: it has too many parts, or they multiply",
                          max_steps_)};
}

}  // namespace octavo

// When an idle engine gives KV memory back to the system: first that of blocks without contents worth keeping, much
// later that of the prefix cache, too. Used by the thread that is in run_until().
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace octavo {

class IdleRelease {
 public:
  using Clock = std::chrono::steady_clock;
  /// How long the engine is idle before each release.
  struct Times {
    std::chrono::duration<double> free{30};  // soon enough for other programs, late enough to disturb nobody
    std::chrono::duration<double> all{600};  // 0: never
  };
  enum class Due { kNothing, kFree, kAll };

  explicit IdleRelease(Times times) : times_(times) {
    if (times_.all.count() > 0) times_.free = std::min(times_.free, times_.all);
  }

  /// Notes that there was work.
  void restart() { idle_since_.reset(); }

  /// Notes that there is no work. The result is what to give back now; each comes once.
  Due due(Clock::time_point now) {
    if (!idle_since_) {
      idle_since_ = now;
      last_ = Due::kNothing;
    }
    const auto idle = now - *idle_since_;
    if (times_.all.count() > 0 && last_ != Due::kAll && idle >= times_.all) return last_ = Due::kAll;
    if (last_ == Due::kNothing && idle >= times_.free) return last_ = Due::kFree;
    return Due::kNothing;
  }

  /// When due() will have something again, if nothing happens; none: never.
  std::optional<Clock::time_point> next() const {
    if (!idle_since_ || last_ == Due::kAll) return std::nullopt;
    if (last_ == Due::kFree && times_.all.count() <= 0) return std::nullopt;
    const auto wait = last_ == Due::kNothing ? times_.free : times_.all;
    return *idle_since_ + std::chrono::ceil<Clock::duration>(wait);
  }

 private:
  Times times_;
  std::optional<Clock::time_point> idle_since_;
  Due last_ = Due::kNothing;
};

}  // namespace octavo

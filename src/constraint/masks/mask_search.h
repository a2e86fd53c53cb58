// The bounds of the search for a mask, and its end.
//
// Plain values. The thread and the moment of a search may depend on time; the mask, and the work that counts for it,
// do not.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace octavo {

struct MaskSearch {
  using Clock = std::chrono::steady_clock;

  bool waits = true;                            // whether to wait for a walk of another thread over the same constraint
  bool walks = true;                            // false: only kept masks are looked up
  std::optional<Clock::time_point> until = {};  // the time at which the search is given up
  const std::atomic<bool>* stop = nullptr;      // the search is given up once this is true

  /// Whether the search is given up. A walk asks this every few hundred nodes.
  bool is_over() const {
    return (stop != nullptr && stop->load(std::memory_order_relaxed)) || (until && Clock::now() >= *until);
  }
};

struct FoundMask {
  enum class Outcome : std::uint8_t {
    kFound,
    kNotReady,  // the search was given up
    kTooLarge,  // the mask takes more than the constraint may
  };
  Outcome outcome = Outcome::kFound;
  /// The steps of the mask where nothing is kept, whatever was kept this time.
  std::uint64_t work = 0;

  explicit operator bool() const { return outcome == Outcome::kFound; }
};

}  // namespace octavo

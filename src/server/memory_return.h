// When the memory that large bodies have left behind is given back to the system. An allocator keeps what was freed for
// the threads that took it: bodies of some megabytes, refused or not, leave hundreds for good.
//
// Owned by the reader of bodies; the I/O thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace octavo::server {

class MemoryReturn {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kWorthwhile = std::uint64_t{1} << 20;  // bytes of bodies, each of which took several

  /// `interval`: between the end of the first body that left something and the return, which so comes rarely.
  explicit MemoryReturn(std::chrono::milliseconds interval) : interval_(interval) {}

  /// Whether it is time. `num_bytes`: of all large bodies that are done with, since the start.
  bool is_due(std::uint64_t num_bytes, Clock::time_point now);

 private:
  const std::chrono::milliseconds interval_;
  std::uint64_t num_returned_ = 0;               // of the bytes, those that something was given back after
  std::optional<Clock::time_point> begin_ = {};  // when there was enough to give back
};

}  // namespace octavo::server

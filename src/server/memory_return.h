// When the memory that large bodies leave behind is given back to the system. An allocator keeps freed memory for the
// threads that took it: bodies of some megabytes, refused or not, would leave hundreds of megabytes for good.
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
  static constexpr std::uint64_t kWorthwhile = std::uint64_t{1} << 20;  // bytes of bodies; each took several of memory

  /// `interval`: from the end of the first body that left memory until the return, so that returns are rare.
  explicit MemoryReturn(std::chrono::milliseconds interval) : interval_(interval) {}

  /// Whether memory is to be returned. `num_bytes`: of all large bodies since the start that are done with.
  bool is_due(std::uint64_t num_bytes, Clock::time_point now);

 private:
  const std::chrono::milliseconds interval_;
  std::uint64_t num_returned_ = 0;               // how many bytes of bodies were done with at the last return
  std::optional<Clock::time_point> begin_ = {};  // when there was first enough to return
};

}  // namespace octavo::server

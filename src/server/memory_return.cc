#include "server/memory_return.h"

namespace octavo::server {

bool MemoryReturn::is_due(std::uint64_t num_bytes, Clock::time_point now) {
  if (num_bytes - num_returned_ < kWorthwhile) return false;
  if (!begin_) begin_ = now;
  if (now - *begin_ < interval_) return false;
  num_returned_ = num_bytes;
  begin_.reset();
  return true;
}

}  // namespace octavo::server

// A budget of bytes, and leases on it, which give their bytes back when they end.
//
// The engines of a process share it; any thread may take and give back. The budget only counts: it allocates nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace octavo {

class MemoryBudget {
 public:
  /// A lease on bytes of the budget, which must outlive it.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept { *this = std::move(other); }
    Lease& operator=(Lease&& other) noexcept {
      shrink(0);
      budget_ = std::exchange(other.budget_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
      return *this;
    }
    ~Lease() { shrink(0); }

    std::uint64_t bytes() const { return bytes_; }
    /// Gives back all but `bytes`, if the lease has more.
    void shrink(std::uint64_t bytes) {
      if (budget_ == nullptr || bytes >= bytes_) return;
      const std::lock_guard lock(budget_->mutex_);
      budget_->taken_ -= bytes_ - bytes;
      bytes_ = bytes;
    }

   private:
    friend class MemoryBudget;
    Lease(MemoryBudget& budget, std::uint64_t bytes) : budget_(&budget), bytes_(bytes) {}

    MemoryBudget* budget_ = nullptr;
    std::uint64_t bytes_ = 0;
  };

  /// `total`: the bytes in all; 0: any number of bytes can be taken.
  explicit MemoryBudget(std::uint64_t total) : total_(total) {}

  std::uint64_t total() const { return total_; }
  std::uint64_t taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

  /// Takes a lease. Error: fewer bytes are left.
  Result<Lease> take(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (total_ != 0 && bytes > total_ - taken_) return too_little(bytes);
    taken_ += bytes;
    return Lease(*this, bytes);
  }
  /// Takes a lease on all that is left of a budget that has a total. Error: nothing is left.
  Result<Lease> take_rest() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t bytes = total_ - std::min(total_, taken_);
    if (bytes == 0) return too_little(1);
    taken_ += bytes;
    return Lease(*this, bytes);
  }

 private:
  std::unexpected<Error> too_little(std::uint64_t wanted) const {
    return fail("KV memory: found {} bytes left of the {} that engines share, expected at least {}", total_ - taken_,
                total_, wanted);
  }

  const std::uint64_t total_;
  mutable std::mutex mutex_;
  std::uint64_t taken_ = 0;
};

}  // namespace octavo

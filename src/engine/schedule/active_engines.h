// How many of the engines that share threads have work: the steps of each get an equal part of the time between tokens.
//
// Owned by Resources; any thread. An engine counts by its Membership, which one thread at a time may change.
#pragma once

#include <atomic>

namespace octavo {

class ActiveEngines {
 public:
  int count() const { return count_.load(std::memory_order_relaxed); }

  /// The membership of one engine, which has no work at first. The count must outlive it.
  class Membership {
   public:
    explicit Membership(ActiveEngines& engines) : engines_(engines) {}
    ~Membership() { set_active(false); }
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;

    void set_active(bool is_active) {
      if (is_active != is_active_) engines_.count_.fetch_add(is_active ? 1 : -1, std::memory_order_relaxed);
      is_active_ = is_active;
    }

   private:
    ActiveEngines& engines_;
    bool is_active_ = false;
  };

 private:
  std::atomic<int> count_ = 0;
};

}  // namespace octavo

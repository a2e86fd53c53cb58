// Orders of other threads to an engine that some thread drives: requests to take in, requests to end.
//
// put() may be called from any thread; take() by the thread that drives the engine. Owned by the engine.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "engine/answers/active_request.h"

namespace octavo {

class Inbox {
 public:
  struct Contents {
    std::vector<std::unique_ptr<ActiveRequest>> requests;
    std::vector<RequestId> cancels;
    bool empty() const { return requests.empty() && cancels.empty(); }
  };

  /// Puts a request in. False: the inbox is closed, and the request stays with the caller.
  bool put(std::unique_ptr<ActiveRequest>& request) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return false;
      contents_.requests.push_back(std::move(request));
    }
    filled_.notify_all();
    return true;
  }
  void put_cancel(RequestId id) {
    {
      const std::lock_guard lock(mutex_);
      contents_.cancels.push_back(id);
    }
    filled_.notify_all();
  }
  bool has_cancels() const {
    const std::lock_guard lock(mutex_);
    return !contents_.cancels.empty();
  }
  /// Whether an order to end this request has come since the last take().
  bool has_cancel(RequestId id) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(contents_.cancels, id) != contents_.cancels.end();
  }
  /// Closes the inbox: it takes no further requests, but still cancels.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    filled_.notify_all();
  }
  bool is_closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  /// Whether it is closed, and all that came before was taken.
  bool is_drained() const {
    const std::lock_guard lock(mutex_);
    return closed_ && contents_.requests.empty();
  }

  /// Moves everything into `taken`, which is empty.
  void take(Contents& taken) {
    const std::lock_guard lock(mutex_);
    std::swap(contents_, taken);
  }

  /// Ends one wait(), the current or the next.
  void wake() {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    filled_.notify_all();
  }
  /// Sleeps until there is something, it is closed, somebody wakes it, `stop` is asked for, or `until`, if given.
  void wait(const std::stop_token& stop, std::optional<std::chrono::steady_clock::time_point> until) {
    std::unique_lock lock(mutex_);
    const auto is_over = [&] { return !contents_.empty() || closed_ || woken_; };
    if (until) {
      filled_.wait_until(lock, stop, *until, is_over);
    } else {
      filled_.wait(lock, stop, is_over);
    }
    woken_ = false;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any filled_;
  Contents contents_;
  bool closed_ = false, woken_ = false;
};

}  // namespace octavo

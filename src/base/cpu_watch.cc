#include "base/cpu_watch.h"

#include <utility>

#include "base/started_thread.h"

namespace octavo {

CpuWatch::CpuWatch(ThreadPool& pool, Count count, std::chrono::milliseconds interval)
    : pool_(pool), count_(std::move(count)), interval_(interval), at_first_(count_()) {
  if (pool_.num_threads() == 1) return;
  thread_ = start_thread(
      [this](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!woken_.wait_for(lock, stop, interval_, [&stop] { return stop.stop_requested(); })) look();
      },
      [this](const Error&) { pool_.set_width(pool_.num_threads()); });  // there was no memory to look
}

CpuWatch::~CpuWatch() = default;

void CpuWatch::look() {
  const int now = count_();
  pool_.set_width(now < at_first_ ? now : pool_.num_threads());
}

}  // namespace octavo

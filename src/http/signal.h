// Wakes a coroutine of the I/O thread. The coroutine finds out why it was woken: it checks its conditions, and waits
// again only if none of them holds. One thread; one coroutine waits at a time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace octavo {

namespace asio = boost::asio;

class Signal {
 public:
  explicit Signal(const asio::any_io_executor& executor) : timer_(executor, asio::steady_timer::time_point::max()) {}

  void notify() {
    notified_ = true;
    timer_.cancel();
  }

  /// Waits for notify(). Returns at once if that was called since the last wait.
  asio::awaitable<void> wait() {
    boost::system::error_code ignored;  // a cancelled wait means a notification
    while (!notified_) co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    notified_ = false;
  }

 private:
  asio::steady_timer timer_;  // never expires; a wait on it ends with cancel()
  bool notified_ = false;
};

}  // namespace octavo

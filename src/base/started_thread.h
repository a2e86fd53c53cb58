// Starts threads whose work may throw. An exception that escapes from a thread ends the process: here it is told to
// whoever waits for the work, as an error of that work.
//
// All threads of Octavo are started here, but for those of std::async and of Asio's pools, which hand an exception to
// whoever waits. Free functions without state; any thread.
#pragma once

#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace octavo {

/// The error for the current exception, in its own words; to be called within a catch clause.
Error error_of_exception();

/// Starts a thread that does `work(stop)`. An exception of it is told to `failed(error)`, on that thread and as the
/// last thing that it does; an exception of `failed` is dropped. Throws std::system_error: no thread.
template <class Work, class Failed>
[[nodiscard]] std::jthread start_thread(Work work, Failed failed) {
  static_assert(std::is_invocable_v<Work&, const std::stop_token&> && std::is_invocable_v<Failed&, Error>);
  return std::jthread([work = std::move(work), failed = std::move(failed)](const std::stop_token& stop) mutable {
    try {
      work(stop);
    } catch (...) {
      try {
        failed(error_of_exception());
      } catch (...) {
        return;  // there is no memory for the message
      }
    }
  });
}

}  // namespace octavo

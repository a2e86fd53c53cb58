// The start of a thread whose work may throw. An exception that escapes from a thread ends the process: here it is
// told to whoever waits for the work, as an error of that work.
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

/// The error that the exception at hand tells of, in its own words; within a catch clause.
Error error_of_exception();

/// A thread that does `work(stop)`. What escapes from it is told to `failed(error)`, on that thread and after all else
/// that it does; what escapes from that is dropped. Throws std::system_error where the system refuses a thread.
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
        return;  // there is no memory to say so
      }
    }
  });
}

}  // namespace octavo

// The table of handles: the object of each number that callers have. A number is never used twice, so one that was
// closed is known as such, and so is one of the process that this one was forked from.
//
// A process has one table, which lives as long as the process; any thread. Whoever has found an object holds it, so
// that a call ends in peace when another thread closes what it works on.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/error.h"
#include "capi/last_error.h"
#include "octavo.h"

namespace octavo::capi {

template <class T>
using CallResult = std::expected<T, CallError>;

/// An object that a handle stands for.
class Handled {
 public:
  Handled() = default;
  virtual ~Handled() = default;
  Handled(const Handled&) = delete;
  Handled& operator=(const Handled&) = delete;

  /// Ends the object's work; it cannot be found any more. Called once.
  virtual void close() = 0;
  /// False: close() may wait for the callback that the calling thread is inside of.
  virtual bool is_closable() const { return true; }
  /// Called where the process exits and is_closable() is false: asks the object to end and does not wait.
  virtual void abandon() {}
};

class Handles {
 public:
  /// The process's table. Its first use sees to it that all is closed when the process exits.
  static Handles& instance();

  octavo_handle add(std::shared_ptr<Handled> object);
  /// The object of type T. Errors: the handle is closed, is of another kind (`kind` names the one that is wanted), or
  /// belongs to the parent process.
  template <class T>
  CallResult<std::shared_ptr<T>> find(octavo_handle handle, std::string_view kind) {
    OCTAVO_TRY(auto object, find_any(handle, kind));
    if (auto found = std::dynamic_pointer_cast<T>(std::move(object))) return found;
    return std::unexpected(wrong_kind(handle, kind));
  }
  CallResult<void> close(octavo_handle handle);

 private:
  Handles();
  CallResult<std::shared_ptr<Handled>> find_any(octavo_handle handle, std::string_view kind);
  static CallError wrong_kind(octavo_handle handle, std::string_view kind);
  CallResult<void> check_is_own(octavo_handle handle) const;
  void begin_in_child() noexcept;
  void close_all();

  std::mutex mutex_;
  octavo_handle next_ = 1;
  std::map<octavo_handle, std::shared_ptr<Handled>> objects_;
  std::map<octavo_handle, std::shared_ptr<Handled>> of_parents_;  // never closed: their threads are in the parent
};

}  // namespace octavo::capi

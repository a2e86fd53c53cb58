#include "capi/handles.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>
#include <utility>

namespace octavo::capi {

// It is never destroyed: a thread may be inside a call while the process ends.
Handles& Handles::instance() {
  static auto* const handles = new Handles();
  return *handles;
}

Handles::Handles() : process_(::getpid()) {
  std::atexit([] {
    if (::getpid() == instance().process_) instance().close_all();
  });
}

CallResult<void> Handles::check_process() const {
  if (::getpid() == process_) return {};
  return std::unexpected(
      CallError::of(OCTAVO_FORKED,
                    "found a process that was forked, expected the one that first called the library: threads do not "
                    "cross a fork, so load the model behind it, or start the other process anew"));
}

octavo_handle Handles::add(std::shared_ptr<Handled> object) {
  const std::lock_guard lock(mutex_);
  objects_.emplace(next_, std::move(object));
  return next_++;
}

CallError Handles::wrong_kind(octavo_handle handle, std::string_view kind) {
  return CallError::of(OCTAVO_CLOSED, fmt::format("handle {}: found another kind, expected a {}", handle, kind));
}

CallResult<std::shared_ptr<Handled>> Handles::find_any(octavo_handle handle, std::string_view kind) {
  OCTAVO_TRY_VOID(check_process());
  const std::lock_guard lock(mutex_);
  if (const auto found = objects_.find(handle); found != objects_.end()) return found->second;
  const bool was_one = handle > 0 && handle < next_;
  return std::unexpected(CallError::of(
      OCTAVO_CLOSED, was_one ? fmt::format("handle {}: found a {} that is closed, expected an open one", handle, kind)
                             : fmt::format("handle {}: there is none of this number, expected a {}", handle, kind)));
}

CallResult<void> Handles::close(octavo_handle handle) {
  OCTAVO_TRY_VOID(check_process());
  std::shared_ptr<Handled> object;
  {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    if (found != objects_.end()) {
      if (!found->second->is_closable())
        return std::unexpected(
            CallError::of(OCTAVO_INVALID,
                          "found a call in a callback of the model, expected one of another thread: it would wait "
                          "for itself"));
      object = std::move(found->second);
      objects_.erase(found);
    }
  }
  if (!object)
    return std::unexpected(
        CallError::of(OCTAVO_CLOSED, fmt::format("handle {}: found one that is closed, or never was", handle)));
  object->close();
  return {};
}

void Handles::close_all() {
  for (;;) {
    std::shared_ptr<Handled> object;
    {
      const std::lock_guard lock(mutex_);
      if (objects_.empty()) return;
      object = std::move(objects_.begin()->second);  // models before their servers, which would wait for requests
      objects_.erase(objects_.begin());
    }
    if (object->is_closable())
      object->close();
    else
      new std::shared_ptr<Handled>(std::move(object));  // exit() in its callback: the thread that it would wait for
  }
}

}  // namespace octavo::capi

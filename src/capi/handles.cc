#include "capi/handles.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cstdlib>
#include <utility>

namespace octavo::capi {

// The table is never destroyed: a thread may be inside a call while the process ends.
Handles& Handles::instance() {
  static auto* const handles = new Handles();
  return *handles;
}

// The lock is held during a fork, so that the child finds the table whole.
Handles::Handles() {
  std::atexit([] { instance().close_all(); });
  ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().begin_in_child(); });
}

// This allocates nothing: other threads of the forking process may hold the allocator's locks.
void Handles::begin_in_child() noexcept {
  of_parents_.merge(objects_);
  mutex_.unlock();
}

CallResult<void> Handles::check_is_own(octavo_handle handle) const {
  if (!of_parents_.contains(handle)) return {};
  return std::unexpected(CallError::of(
      OCTAVO_FORKED, fmt::format("handle {}: found one of the process that this one was forked from, expected one of "
                                 "its own: threads do not cross a fork, so load the model after it",
                                 handle)));
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
  const std::lock_guard lock(mutex_);
  OCTAVO_TRY_VOID(check_is_own(handle));
  if (const auto found = objects_.find(handle); found != objects_.end()) return found->second;
  const bool was_one = handle > 0 && handle < next_;
  return std::unexpected(CallError::of(
      OCTAVO_CLOSED, was_one ? fmt::format("handle {}: found a {} that is closed, expected an open one", handle, kind)
                             : fmt::format("handle {}: there is none of this number, expected a {}", handle, kind)));
}

CallResult<void> Handles::close(octavo_handle handle) {
  std::shared_ptr<Handled> object;
  {
    const std::lock_guard lock(mutex_);
    OCTAVO_TRY_VOID(check_is_own(handle));
    const auto found = objects_.find(handle);
    if (found != objects_.end()) {
      if (!found->second->is_closable())
        return std::unexpected(CallError::of(
            OCTAVO_INVALID, fmt::format("handle {}: found a close in a callback, expected one outside of callbacks: "
                                        "it waits for those of the model",
                                        handle)));
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
      object = std::move(objects_.begin()->second);  // models, made first, before their servers, which would wait
      objects_.erase(objects_.begin());
    }
    if (object->is_closable()) {
      object->close();
    } else {
      object->abandon();
      new std::shared_ptr<Handled>(std::move(object));  // leaked: exit() in a callback, perhaps inside the object
    }
  }
}

}  // namespace octavo::capi

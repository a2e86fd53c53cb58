// The time that a thread is inside a queue's callback: what would wait for that to return is refused in it.
//
// A scope lives on the stack of the thread that calls back.
#pragma once

namespace octavo::capi {

class CallbackScope {
 public:
  CallbackScope() noexcept;
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

  /// Whether the calling thread is inside of one, of whatever queue.
  static bool is_inside() noexcept;
};

}  // namespace octavo::capi

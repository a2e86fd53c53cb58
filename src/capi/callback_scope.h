// The time that a thread is inside a queue's callback: functions that would wait for the callback's return refuse then.
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

  /// Whether the calling thread is inside a callback of any queue.
  static bool is_inside() noexcept;
};

}  // namespace octavo::capi

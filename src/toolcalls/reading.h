// The coroutines that tool calls are read by: straight code that asks for one byte after another and waits where none
// has come yet. So how an answer is cut into pieces cannot change what is read.
//
// A Reading begins when it is resumed or awaited, and is destroyed with its owner, finished or not. One thread.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace octavo {

/// Reads a part of a call and gives a T.
template <class T>
class [[nodiscard]] Reading {
 public:
  // NOLINTNEXTLINE(readability-identifier-naming): the language wants this name
  struct promise_type {
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
        return ended.promise().awaiting ? ended.promise().awaiting : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Reading get_return_object() { return Reading(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
    void unhandled_exception() { failure = std::current_exception(); }
    void return_value(T given) { value.emplace(std::move(given)); }

    std::optional<T> value = {};
    std::exception_ptr failure = {};
    std::coroutine_handle<> awaiting = {};  // the coroutine that goes on after this one
  };

  Reading() = default;
  Reading(Reading&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Reading& operator=(Reading&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Reading() {
    if (handle_) handle_.destroy();
  }

  explicit operator bool() const { return static_cast<bool>(handle_); }
  void start() { handle_.resume(); }
  bool done() const { return handle_.done(); }
  /// The result of a reading that is done, or its exception.
  T take() {
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
    return std::move(*handle_.promise().value);
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().awaiting = awaiting;
    return handle_;
  }
  T await_resume() { return take(); }

 private:
  explicit Reading(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

}  // namespace octavo

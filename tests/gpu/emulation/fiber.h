// A stack of its own for a function that another one may leave and come back to. Sanitizers are told of each change.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define OCTAVO_FIBERS_OF_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#define OCTAVO_FIBERS_OF_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif

namespace octavo::simt {

/// Where the function of a fiber, or that of a thread of the system, goes on.
class Fiber {
 public:
  /// A place to come back to: the caller's own stack.
  Fiber() = default;
  /// Runs function(), which never returns, once it is switched to. Number: which of several fibers this is; their
  /// stacks begin at different lines of a cache.
  Fiber(void (*function)(), int number) : memory_(allocator().allocate()), function_(function), number_(number) {
    restart();
#if OCTAVO_FIBERS_OF_TSAN
    sanitizer_ = __tsan_create_fiber(0);
#endif
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() {
    if (function_ == nullptr) return;
#if OCTAVO_FIBERS_OF_TSAN
    __tsan_destroy_fiber(sanitizer_);
#endif
    allocator().deallocate(memory_);
  }

  /// Forgets what the stack has: the function begins anew.
  void restart() {
    const std::size_t away = static_cast<std::size_t>(number_ % kColours) * kColourBytes;
    char* const top = static_cast<char*>(memory_.sp) - away;
#if OCTAVO_FIBERS_OF_ASAN
    bottom_ = static_cast<char*>(memory_.sp) - memory_.size;
    bytes_ = memory_.size;
    __asan_unpoison_memory_region(bottom_, bytes_);
    fake_stack_ = nullptr;
#endif
    context_ = boost::context::detail::make_fcontext(top, memory_.size - away - kGuardBytes, &Fiber::enter);
  }

  /// Leaves this fiber, which runs, for another one; returns when somebody switches back.
  [[gnu::always_inline]] void switch_to(Fiber& other) {
#if OCTAVO_FIBERS_OF_ASAN
    __sanitizer_start_switch_fiber(&fake_stack_, other.bottom_, other.bytes_);
#elif OCTAVO_FIBERS_OF_TSAN
    if (function_ == nullptr) sanitizer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(other.sanitizer_, 0);
#endif
    Change change{this, &other};
    arrive(boost::context::detail::jump_fcontext(other.context_, &change));
  }

 private:
  struct Change {
    Fiber *from, *to;
  };
  static constexpr int kColours = 61;
  static constexpr std::size_t kColourBytes = 832, kGuardBytes = 4096;
  // Frames of code that is not optimized, or that a sanitizer has widened, are large.
  static constexpr std::size_t kStackBytes = std::size_t{256} << 10;

  static boost::context::protected_fixedsize_stack allocator() {
    return boost::context::protected_fixedsize_stack(kStackBytes);
  }
  [[gnu::always_inline]] static Fiber* arrive(boost::context::detail::transfer_t transfer) {
    const Change change = *static_cast<Change*>(transfer.data);
    change.from->context_ = transfer.fctx;
#if OCTAVO_FIBERS_OF_ASAN
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(change.to->fake_stack_, &bottom, &bytes);
    if (change.from->function_ == nullptr) {
      change.from->bottom_ = bottom;
      change.from->bytes_ = bytes;
    }
#endif
    return change.to;
  }
  static void enter(boost::context::detail::transfer_t transfer) { arrive(transfer)->function_(); }

  boost::context::detail::fcontext_t context_ = nullptr;
  boost::context::stack_context memory_;
  void (*function_)() = nullptr;
  int number_ = 0;
#if OCTAVO_FIBERS_OF_ASAN
  void* fake_stack_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
#elif OCTAVO_FIBERS_OF_TSAN
  void* sanitizer_ = nullptr;
#endif
};

}  // namespace octavo::simt

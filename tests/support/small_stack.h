// Runs something on a thread with a small stack, so that recursion without a bound ends the test.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>
#include <stdexcept>

namespace octavo::test {

inline constexpr std::size_t kSmallStackBytes = std::size_t{1} << 20;

inline void run_on_small_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kSmallStackBytes);
  pthread_t thread = {};
  const auto run = [](void* it) -> void* {
    (*static_cast<const std::function<void()>*>(it))();
    return nullptr;
  };
  const int error = pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work));
  pthread_attr_destroy(&attributes);
  if (error != 0) throw std::runtime_error("no thread could be started");
  pthread_join(thread, nullptr);
}

}  // namespace octavo::test

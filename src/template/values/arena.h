// The memory and the steps that one template, one input or one rendering may use.
//
// Objects are never freed one by one: they refer to each other in any way (a macro knows its scope, which knows the
// macro), and all of them end together. The bounds count every object that is built, also those that nothing refers to.
// All objects are trivially destructible. One thread at a time uses an arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "octavo/request_work.h"

namespace octavo::jinja {

struct Budget {
  std::size_t bytes = 0;
  std::uint64_t steps = 0;
  const RequestWork* work = nullptr;  // its stop ends the evaluation; null: it is never stopped
};

class Arena {
 public:
  explicit Arena(Budget budget) : left_(budget), given_(budget) {}

  /// `bytes` of memory, aligned to 16. Throws a Failure beyond the budget, before anything is allocated.
  void* allocate(std::size_t bytes);
  /// Counts bytes that are built outside of the arena.
  void charge_bytes(std::size_t bytes);
  /// Counts steps of work.
  void charge_steps(std::uint64_t steps) {
    if (steps > left_.steps) fail_for_steps();
    left_.steps -= steps;
    if (left_.steps < next_look_) look();
  }

  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T))) T(std::forward<Args>(args)...);
  }
  template <class T>
  std::span<T> array(std::size_t size) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (size == 0) return {};
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer, and then it is pointers that are stored
    T* items = static_cast<T*>(allocate(checked_bytes(size, sizeof(T))));
    std::uninitialized_value_construct_n(items, size);
    return {items, size};
  }
  template <class T>
  std::span<const T> copy(std::span<const T> items) {
    const std::span<T> copied = array<T>(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) copied[i] = items[i];
    return copied;
  }
  template <class T>
  std::span<const T> copy(const std::vector<T>& items) {
    return copy(std::span<const T>(items));
  }
  std::string_view copy(std::string_view text);

  std::uint64_t steps_taken() const { return given_.steps - left_.steps; }
  std::size_t bytes_built() const { return given_.bytes - left_.bytes; }

 private:
  std::size_t checked_bytes(std::size_t size, std::size_t item_bytes) const;
  [[noreturn]] void fail_for_steps() const;
  /// Throws a Failure where the work was stopped.
  void look();

  Budget left_;
  Budget given_;
  std::uint64_t next_look_ = UINT64_MAX;  // looks once so few steps are left
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* next_ = nullptr;
  std::size_t chunk_left_ = 0;
};

}  // namespace octavo::jinja

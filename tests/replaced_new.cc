#include "replaced_new.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace octavo::test {

std::atomic<long> num_allocations{0};
std::atomic<long> num_allocated_bytes{0};
std::atomic<long> allocations_left{-1};
std::atomic<bool> out_of_memory{false};

namespace {

void* allocate(std::size_t bytes, std::size_t alignment) {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  num_allocated_bytes.fetch_add(static_cast<long>(bytes), std::memory_order_relaxed);
  if (out_of_memory.load(std::memory_order_relaxed)) throw std::bad_alloc();
  if (allocations_left.load(std::memory_order_relaxed) >= 0 &&
      allocations_left.fetch_sub(1, std::memory_order_relaxed) == 0)
    throw std::bad_alloc();
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* memory = alignment <= alignof(std::max_align_t) ? std::malloc(rounded) : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace
}  // namespace octavo::test

using octavo::test::allocate;

void* operator new(std::size_t bytes) { return allocate(bytes, 1); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
// AddressSanitizer has these of its own, whose memory is not for std::free().
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept try {
  return allocate(bytes, 1);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept try {
  return allocate(bytes, 1);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

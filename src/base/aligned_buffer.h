// An owning array of trivial elements, aligned to a cache line; only zeroed() initializes its elements.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace octavo {

inline constexpr std::size_t kCacheLineBytes = 64;
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// Asks the system for huge pages; where it has none, the memory stays as it is.
void advise_huge_pages(void* data, std::size_t bytes);

template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  AlignedBuffer() = default;
  /// Takes room for `count` elements, which are not initialized. Throws std::bad_alloc when there is no memory.
  explicit AlignedBuffer(std::size_t count) : AlignedBuffer(count, kCacheLineBytes) {}
  /// Makes a large array that is used as a whole and kept: it gets pages of 2 MiB if the system has them, which are
  /// quicker to allocate and cause fewer TLB misses.
  static AlignedBuffer with_huge_pages(std::size_t count) {
    AlignedBuffer buffer(count, kHugePageBytes);
    advise_huge_pages(buffer.data(), buffer.size_bytes());
    return buffer;
  }
  static AlignedBuffer zeroed(std::size_t count) {
    AlignedBuffer buffer(count);
    if (count != 0) std::memset(static_cast<void*>(buffer.data()), 0, count * sizeof(T));
    return buffer;
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::size_t size_bytes() const { return size_ * sizeof(T); }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }
  std::span<T> span() { return {data(), size_}; }
  std::span<const T> span() const { return {data(), size_}; }

 private:
  AlignedBuffer(std::size_t count, std::size_t alignment) : size_(count) {
    if (count == 0) return;
    if (count > (SIZE_MAX - alignment) / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = (count * sizeof(T) + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
    void* memory = nullptr;  // std::aligned_alloc wants whole multiples of the alignment
    if (::posix_memalign(&memory, alignment, bytes) != 0) throw std::bad_alloc();
    data_.reset(static_cast<T*>(memory));
  }

  struct Free {
    void operator()(T* p) const { std::free(static_cast<void*>(p)); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace octavo

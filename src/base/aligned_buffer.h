// Owning array of trivial elements, aligned to a cache line and not initialized unless asked.
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

template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  AlignedBuffer() = default;
  /// Room for `count` elements, not initialized. Throws std::bad_alloc when there is no memory.
  explicit AlignedBuffer(std::size_t count) : size_(count) {
    if (count == 0) return;
    if (count > (SIZE_MAX - kCacheLineBytes) / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = (count * sizeof(T) + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
    data_.reset(static_cast<T*>(std::aligned_alloc(kCacheLineBytes, bytes)));
    if (!data_) throw std::bad_alloc();
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
  struct Free {
    void operator()(T* p) const { std::free(static_cast<void*>(p)); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace octavo

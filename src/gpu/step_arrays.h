// The small arrays of a step, which go to the card in one copy.
//
// Owned by CardStep. Memory grows with the largest step; where the card has no more, the step ends with a DeviceError.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

#include "gpu/cuda_device.h"

namespace octavo::gpu {

class StepArrays {
 public:
  explicit StepArrays(CudaDevice& device) : device_(device) {}

  void clear() { bytes_ = 0; }
  /// Makes room for `count` elements. The span is valid until the next call; the number is the array's place.
  template <class T>
  std::pair<std::size_t, std::span<T>> add(std::size_t count) {
    const std::size_t place = reserve(count * sizeof(T));
    return {place, {reinterpret_cast<T*>(host_.data() + place), count}};
  }
  template <class T>
  std::size_t add(std::span<const T> values) {
    const auto [place, to] = add<T>(values.size());
    if (!values.empty()) std::memcpy(to.data(), values.data(), values.size_bytes());
    return place;
  }
  /// Adds an array with room to grow behind it, so that later arrays keep their places in most steps.
  template <class T>
  std::size_t add_growing(std::span<const T> values) {
    const auto [place, to] = add<T>(std::bit_ceil(std::max(values.size(), kLeastRoom)));
    std::ranges::copy(values, to.begin());
    return place;
  }
  /// Begins to copy all arrays to the card.
  void upload();
  /// An array's address on the card. Called after upload().
  template <class T>
  const T* at(std::size_t place) const {
    return card_.as<const T>(place);
  }

 private:
  static constexpr std::size_t kLeastRoom = 64;

  std::size_t reserve(std::size_t bytes);

  CudaDevice& device_;
  PinnedMemory host_;
  CardMemory card_;
  std::size_t bytes_ = 0;
};

}  // namespace octavo::gpu

// Small arrays of a step that go to the card in one copy.
//
// Owned by CardStep. Memory grows with the largest step; what it cannot get ends the step with a DeviceError.
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
  /// The place of room for `count` elements, which are valid until the next call.
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
  /// The same, with room to grow behind it, so that places of later arrays stay as they are in most steps.
  template <class T>
  std::size_t add_growing(std::span<const T> values) {
    const auto [place, to] = add<T>(std::bit_ceil(std::max(values.size(), kLeastRoom)));
    std::ranges::copy(values, to.begin());
    return place;
  }
  /// Begins the copy of all of them.
  void upload();
  /// An array on the card. Behind upload().
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

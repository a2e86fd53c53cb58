#include "gpu/step_arrays.h"

#include <utility>

namespace octavo::gpu {
namespace {

template <class Memory>
Memory value_or_throw(Result<Memory> memory) {
  if (!memory) throw DeviceError(memory.error().message);
  return std::move(*memory);
}

}  // namespace

std::size_t StepArrays::reserve(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64, kFirst = std::size_t{64} << 10;
  const std::size_t place = (bytes_ + kAlignment - 1) / kAlignment * kAlignment;
  bytes_ = place + bytes;
  if (bytes_ <= host_.bytes()) return place;
  PinnedMemory larger = value_or_throw(device_.allocate_pinned(std::max({kFirst, 2 * host_.bytes(), bytes_})));
  if (place > 0) std::memcpy(larger.data(), host_.data(), place);
  host_ = std::move(larger);
  return place;
}

void StepArrays::upload() {
  if (card_.bytes() < bytes_) {
    card_ = CardMemory();
    card_ = value_or_throw(device_.allocate(host_.bytes()));
  }
  device_.copy_to_card(card_.pointer(), host_.data(), bytes_);
}

}  // namespace octavo::gpu

// Where a model's layers are computed.
#pragma once

#include <cstdint>
#include <string_view>

namespace octavo {

/// kCpu: by the processor. kCuda: the first ones by an NVIDIA card, without which loading fails. kAuto: as kCuda where
/// such a card is and can compute some, else as kCpu.
enum class Device : std::uint8_t { kAuto, kCpu, kCuda };

/// "auto", "cpu", "cuda".
constexpr std::string_view device_name(Device device) {
  return device == Device::kCpu ? "cpu" : device == Device::kCuda ? "cuda" : "auto";
}

}  // namespace octavo

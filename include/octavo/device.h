// The devices that compute a model's layers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octavo {

/// kCpu: by the processor. kCuda: the first ones by an NVIDIA card, without which loading fails. kAuto: as kCuda where
/// such a card is and can compute some, else as kCpu.
enum class Device : std::uint8_t { kAuto, kCpu, kCuda };

/// "auto", "cpu", "cuda".
constexpr std::string_view device_name(Device device) {
  return device == Device::kCpu ? "cpu" : device == Device::kCuda ? "cuda" : "auto";
}

/// A device beside the processor.
struct DeviceInfo {
  std::string id;  // CUDA0
  std::string name;
  std::uint64_t total_bytes = 0, free_bytes = 0;
};

/// The devices that layers can be computed by; empty without a driver, or without a card that is new enough.
std::vector<DeviceInfo> list_devices();

}  // namespace octavo

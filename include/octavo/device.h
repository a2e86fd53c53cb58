// The devices that compute a model's layers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/result.h"

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

/// Rates of a device's memory.
struct DeviceRates {
  double read_bytes_per_s = 0;  // by all threads, of memory larger than the caches
  double copy_bytes_per_s = 0;  // from there to there: bytes read and written
};
/// Measures the device of list_devices(), with memory that is free there; medians of several runs. Errors: there is no
/// device, or it fails.
Result<DeviceRates> measure_device();

/// The devices that layers can be computed by; empty without a driver, or without a card that is new enough.
std::vector<DeviceInfo> list_devices();

}  // namespace octavo

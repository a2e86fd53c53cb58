// The devices that compute a model's layers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/result.h"

namespace octavo {

/// kCpu: the processor computes all layers. kCuda: an NVIDIA GPU computes the first layers, and loading fails without
/// one. kAuto: as kCuda if there is a GPU that can compute some layers, otherwise as kCpu.
enum class Device : std::uint8_t { kAuto, kCpu, kCuda };

/// The name of the device: "auto", "cpu" or "cuda".
constexpr std::string_view device_name(Device device) {
  return device == Device::kCpu ? "cpu" : device == Device::kCuda ? "cuda" : "auto";
}

/// A device beside the processor.
struct DeviceInfo {
  std::string id;  // such as CUDA0
  std::string name;
  std::uint64_t total_bytes = 0, free_bytes = 0;
};

/// Rates of a device's memory.
struct DeviceRates {
  double read_bytes_per_s = 0;  // by all threads, from memory larger than the caches
  double copy_bytes_per_s = 0;  // within the memory: bytes read plus bytes written
};
/// Measures the device of list_devices(), in its free memory; medians of several runs. Errors: there is no device, or
/// it fails.
Result<DeviceRates> measure_device();

/// The devices that can compute layers; empty without a driver, or without a GPU that is new enough.
std::vector<DeviceInfo> list_devices();

}  // namespace octavo

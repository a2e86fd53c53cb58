#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "base/to_size.h"
#include "gpu/cuda_device.h"
#include "gpu/kernels/arguments.h"
#include "octavo/device.h"

namespace octavo {
namespace {

using gpu::CardMemory;
using gpu::CudaDevice;

constexpr int kRuns = 5, kTimes = 4;  // how many runs, and how often each repeats the work
/// The blocks of threads that a multiprocessor has at once.
constexpr int kBlocks = 8;
/// Far more than a card's caches, and little of its memory.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30, kPartOfFree = 32;

/// The bytes per second of work that begin() starts and that moves `bytes`: the median of some runs, after one to warm
/// up.
template <class Begin>
double rate_of(CudaDevice& device, std::uint64_t bytes, Begin&& begin) {
  using Clock = std::chrono::steady_clock;
  std::array<double, kRuns> rates = {};
  begin();
  device.wait();
  for (double& rate : rates) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kTimes; ++i) begin();
    device.wait();
    rate = kTimes * static_cast<double>(bytes) / std::chrono::duration<double>(Clock::now() - start).count();
  }
  std::ranges::nth_element(rates, rates.begin() + kRuns / 2);
  return rates[kRuns / 2];
}

DeviceRates rates_of(CudaDevice& device, const CardMemory& memory, const CardMemory& sums, int blocks) {
  const std::uint64_t half = memory.bytes() / 2;
  const double read = rate_of(device, memory.bytes(), [&] {
    device.launch({.kernel = "octavo_read_words", .grid_x = blocks, .threads = gpu::kRowThreads},
                  gpu::ReadWordsArguments{.from = memory.as<std::uint32_t>(),
                                          .num_words = static_cast<std::int64_t>(memory.bytes() / 4),
                                          .sums = sums.as<std::uint32_t>()});
  });
  const double copy =
      rate_of(device, 2 * half, [&] { device.copy_on_card(memory.pointer() + half, memory.pointer(), half); });
  return {.read_bytes_per_s = read, .copy_bytes_per_s = copy};
}

}  // namespace

Result<DeviceRates> measure_device() try {
  OCTAVO_TRY(const std::unique_ptr<CudaDevice> device, CudaDevice::open());
  constexpr std::array<std::string_view, 1> kKernel = {"octavo_read_words"};
  OCTAVO_TRY_VOID(device->load_kernels(kKernel));
  const int blocks = kBlocks * device->info().num_multiprocessors;
  const std::uint64_t bytes = std::min(kMostBytes, device->free_bytes() / kPartOfFree) / 32 * 32;
  OCTAVO_TRY(const CardMemory memory, device->allocate(bytes));
  OCTAVO_TRY(const CardMemory sums, device->allocate(to_size(blocks) * gpu::kRowThreads * sizeof(std::uint32_t)));
  return rates_of(*device, memory, sums, blocks);
} catch (const DeviceError& error) {
  return fail("{}", error.what());
}

}  // namespace octavo

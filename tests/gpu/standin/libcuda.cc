// A libcuda.so.1 for tests: a card that is emulated on the processor. Kernels are found by their names and run at once;
// memory of the card is memory of the process, within a bound.
//
// Its environment: OCTAVO_CARD_MEMORY, bytes (1 GiB); OCTAVO_CARD_MAJOR, the compute capability (9);
// OCTAVO_CARD_DRIVER, the version (12080); OCTAVO_CARD_HIDDEN, bytes that seem free and are not (0);
// OCTAVO_CARD_FAILS=FUNCTION:N lets the N-th call of a function, and all later ones, fail.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/emulation/emulated_kernels.h"
#include "gpu/kernels/kernel_list.h"

namespace {

constexpr int kSuccess = 0, kInvalid = 1, kOutOfMemory = 2, kLaunchFailed = 719, kDeviceLost = 46;
constexpr std::size_t kAlignment = 256;

std::string setting(const char* name, const char* usual) {
  const char* given = std::getenv(name);
  return given != nullptr ? given : usual;
}
std::size_t number(const char* name, const char* usual) {
  return std::strtoull(setting(name, usual).c_str(), nullptr, 10);
}

/// The memory of the card, by addresses.
class Memory {
 public:
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes + hidden_ > total() - taken_) return nullptr;
    void* const place = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (place == nullptr) return nullptr;
    std::memset(place, 0xCD, bytes);  // nothing is there from the start
    taken_ += bytes;
    bytes_[place] = bytes;
    return place;
  }
  bool give_back(void* place) {
    const std::lock_guard lock(mutex_);
    const auto found = bytes_.find(place);
    if (found == bytes_.end()) return false;
    taken_ -= found->second;
    bytes_.erase(found);
    std::free(place);
    return true;
  }
  /// Whether all of a range lies in one piece of memory.
  bool holds(const void* place, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto behind = bytes_.upper_bound(const_cast<void*>(place));
    if (behind == bytes_.begin()) return false;
    --behind;
    const auto* begin = static_cast<const char*>(behind->first);
    return static_cast<const char*>(place) + bytes <= begin + behind->second;
  }
  std::size_t total() const { return number("OCTAVO_CARD_MEMORY", "1073741824"); }
  std::size_t taken() const { return taken_; }

 private:
  std::mutex mutex_;
  std::map<void*, std::size_t> bytes_;
  std::size_t taken_ = 0;
  const std::size_t hidden_ = number("OCTAVO_CARD_HIDDEN", "0");
};
Memory& memory() {
  static Memory of_card;
  return of_card;
}

/// Whether this call of a function is to fail.
bool fails(std::string_view function) {
  static const std::string rule = setting("OCTAVO_CARD_FAILS", "");
  static std::mutex mutex;
  static std::size_t calls = 0;
  const std::size_t colon = rule.find(':');
  if (colon == std::string::npos || rule.substr(0, colon) != function) return false;
  const std::lock_guard lock(mutex);
  return ++calls >= std::strtoull(rule.c_str() + colon + 1, nullptr, 10);
}

/// The kernels' names, and the bytes of the argument of each.
const std::map<std::string, std::size_t, std::less<>>& kernels() {
#define OCTAVO_NAME(kernel, Argument) {#kernel, sizeof(Argument)},
  static const std::map<std::string, std::size_t, std::less<>> all = {OCTAVO_GPU_KERNELS(OCTAVO_NAME)};
#undef OCTAVO_NAME
  return all;
}

/// Work of a stream, which runs at once or is captured as a part of a graph.
using Work = std::function<int()>;
using Graph = std::vector<Work>;
Graph* captured = nullptr;  // null: work runs at once

int submit(Work work) {
  if (captured == nullptr) return work();
  captured->push_back(std::move(work));
  return kSuccess;
}

int some_context = 0, some_module = 0, some_stream = 0;

}  // namespace

#define OCTAVO_CARD(name, ...) extern "C" __attribute__((visibility("default"))) int name(__VA_ARGS__)

OCTAVO_CARD(cuInit, unsigned) { return fails("cuInit") ? 100 : kSuccess; }
OCTAVO_CARD(cuDriverGetVersion, int* version) {
  *version = static_cast<int>(number("OCTAVO_CARD_DRIVER", "12080"));
  return kSuccess;
}
OCTAVO_CARD(cuDeviceGetCount, int* count) {
  *count = fails("cuDeviceGetCount") ? 0 : 1;
  return kSuccess;
}
OCTAVO_CARD(cuDeviceGet, int* device, int) {
  *device = 0;
  return fails("cuDeviceGet") ? kInvalid : kSuccess;
}
OCTAVO_CARD(cuDeviceGetName, char* name, int bytes, int) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "Emulated card");
  return kSuccess;
}
OCTAVO_CARD(cuDeviceGetAttribute, int* value, int attribute, int) {
  if (fails("cuDeviceGetAttribute")) return kInvalid;
  switch (attribute) {
    case 16: *value = 2; return kSuccess;
    case 75: *value = static_cast<int>(number("OCTAVO_CARD_MAJOR", "9")); return kSuccess;
    case 76: *value = 0; return kSuccess;
    case 97: *value = 99 << 10; return kSuccess;
    default: return kInvalid;
  }
}
OCTAVO_CARD(cuDevicePrimaryCtxRetain, void** context, int) {
  *context = &some_context;
  return fails("cuDevicePrimaryCtxRetain") ? kOutOfMemory : kSuccess;
}
OCTAVO_CARD(cuDevicePrimaryCtxRelease_v2, int) { return kSuccess; }
OCTAVO_CARD(cuCtxSetCurrent, void*) { return fails("cuCtxSetCurrent") ? kDeviceLost : kSuccess; }
OCTAVO_CARD(cuMemGetInfo_v2, std::size_t* free, std::size_t* total) {
  *total = memory().total();
  *free = *total - memory().taken();
  return fails("cuMemGetInfo_v2") ? kInvalid : kSuccess;
}
OCTAVO_CARD(cuMemAlloc_v2, void** pointer, std::size_t bytes) {
  *pointer = fails("cuMemAlloc_v2") ? nullptr : memory().take(bytes);
  return *pointer == nullptr ? kOutOfMemory : kSuccess;
}
OCTAVO_CARD(cuMemFree_v2, void* pointer) { return memory().give_back(pointer) ? kSuccess : kInvalid; }
OCTAVO_CARD(cuMemAllocHost_v2, void** pointer, std::size_t bytes) {
  *pointer = fails("cuMemAllocHost_v2") ? nullptr : std::malloc(bytes);
  return *pointer == nullptr ? kOutOfMemory : kSuccess;
}
OCTAVO_CARD(cuMemFreeHost, void* pointer) {
  std::free(pointer);
  return kSuccess;
}
OCTAVO_CARD(cuMemcpyHtoDAsync_v2, void* to, const void* from, std::size_t bytes, void*) {
  if (fails("cuMemcpyHtoDAsync_v2")) return kDeviceLost;
  return submit([=] {
    if (!memory().holds(to, bytes)) return kInvalid;
    std::memcpy(to, from, bytes);
    return kSuccess;
  });
}
OCTAVO_CARD(cuMemcpyDtoHAsync_v2, void* to, const void* from, std::size_t bytes, void*) {
  if (fails("cuMemcpyDtoHAsync_v2")) return kDeviceLost;
  return submit([=] {
    if (!memory().holds(from, bytes)) return kInvalid;
    std::memcpy(to, from, bytes);
    return kSuccess;
  });
}
OCTAVO_CARD(cuMemcpyDtoDAsync_v2, void* to, const void* from, std::size_t bytes, void*) {
  if (fails("cuMemcpyDtoDAsync_v2")) return kDeviceLost;
  return submit([=] {
    if (!memory().holds(to, bytes) || !memory().holds(from, bytes)) return kInvalid;
    std::memmove(to, from, bytes);
    return kSuccess;
  });
}
OCTAVO_CARD(cuStreamCreate, void** stream, unsigned) {
  *stream = &some_stream;
  return fails("cuStreamCreate") ? kOutOfMemory : kSuccess;
}
OCTAVO_CARD(cuStreamDestroy_v2, void*) { return kSuccess; }
OCTAVO_CARD(cuStreamSynchronize, void*) { return fails("cuStreamSynchronize") ? kLaunchFailed : kSuccess; }
OCTAVO_CARD(cuModuleLoadData, void** module, const void*) {
  *module = &some_module;
  return fails("cuModuleLoadData") ? 218 : kSuccess;
}
OCTAVO_CARD(cuModuleUnload, void*) { return kSuccess; }
OCTAVO_CARD(cuModuleGetFunction, const void** function, void*, const char* name) {
  const auto found = kernels().find(std::string_view(name));
  if (found == kernels().end() || fails("cuModuleGetFunction")) return 500;
  *function = &*found;
  return kSuccess;
}
OCTAVO_CARD(cuFuncSetAttribute, void*, int, int) { return kSuccess; }
OCTAVO_CARD(cuLaunchKernel, const std::pair<const std::string, std::size_t>* kernel, unsigned grid_x, unsigned grid_y,
            unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, void*,
            void** parameters, void**) {
  if (fails("cuLaunchKernel")) return kLaunchFailed;
  if (grid_x == 0 || grid_y == 0 || grid_z != 1 || block_x > 1024 || block_y != 1 || block_z != 1) return kInvalid;
  const octavo::simt::EmulatedLaunch shape = {.grid_x = static_cast<int>(grid_x),
                                              .grid_y = static_cast<int>(grid_y),
                                              .threads = static_cast<int>(block_x),
                                              .shared_bytes = shared_bytes};
  const auto* argument = static_cast<const std::max_align_t*>(parameters[0]);
  std::vector<std::max_align_t> copy((kernel->second + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  std::memcpy(copy.data(), argument, kernel->second);
  return submit([kernel, shape, copy] {
    try {
      octavo::simt::run_emulated_kernel(kernel->first, shape, copy.data());
      return kSuccess;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "emulated card: %s: %s\n", kernel->first.c_str(), error.what());
      return kLaunchFailed;
    }
  });
}
OCTAVO_CARD(cuStreamBeginCapture_v2, void*, int) {
  if (fails("cuStreamBeginCapture_v2") || captured != nullptr) return kInvalid;
  captured = new Graph;
  return kSuccess;
}
OCTAVO_CARD(cuStreamEndCapture, void*, void** graph) {
  *graph = std::exchange(captured, nullptr);
  return fails("cuStreamEndCapture") || *graph == nullptr ? kInvalid : kSuccess;
}
OCTAVO_CARD(cuGraphInstantiateWithFlags, void** executable, const void* graph, unsigned long long) {
  if (fails("cuGraphInstantiateWithFlags")) return kOutOfMemory;
  *executable = new Graph(*static_cast<const Graph*>(graph));
  return kSuccess;
}
OCTAVO_CARD(cuGraphLaunch, const void* executable, void*) {
  if (fails("cuGraphLaunch")) return kLaunchFailed;
  for (const Work& work : *static_cast<const Graph*>(executable))
    if (const int result = work(); result != kSuccess) return result;
  return kSuccess;
}
OCTAVO_CARD(cuGraphDestroy, void* graph) {
  delete static_cast<Graph*>(graph);
  return kSuccess;
}
OCTAVO_CARD(cuGraphExecDestroy, void* executable) {
  delete static_cast<Graph*>(executable);
  return kSuccess;
}
OCTAVO_CARD(cuGetErrorName, int error, const char** name) {
  switch (error) {
    case kInvalid: *name = "CUDA_ERROR_INVALID_VALUE"; return kSuccess;
    case kOutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; return kSuccess;
    case kDeviceLost: *name = "CUDA_ERROR_DEVICE_UNAVAILABLE"; return kSuccess;
    case 100: *name = "CUDA_ERROR_NO_DEVICE"; return kSuccess;
    case 218: *name = "CUDA_ERROR_INVALID_PTX"; return kSuccess;
    case 500: *name = "CUDA_ERROR_NOT_FOUND"; return kSuccess;
    case kLaunchFailed: *name = "CUDA_ERROR_LAUNCH_FAILED"; return kSuccess;
    default: return kInvalid;
  }
}

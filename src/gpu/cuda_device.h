// A card: its context, memory, stream and kernels, each released by its owner.
//
// Owned by the runner. One thread at a time uses it, and calls enter() first. An error while loading is a Result; an
// error in a step throws DeviceError, which ends the step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gpu/cuda_driver.h"
#include "gpu/product_launch.h"
#include "gpu/step_graphs.h"
#include "gpu/stream_work.h"
#include "stage/stage.h"

namespace octavo::gpu {

struct CardInfo {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int num_multiprocessors = 0;
  int shared_bytes = 0;  // the most shared memory of a block
  std::uint64_t free_bytes = 0, total_bytes = 0;
};

class CudaDevice;

/// Memory of a card. Empty where it was not allocated.
class CardMemory {
 public:
  CardMemory() = default;
  CardMemory(const CudaDevice& device, CuPointer pointer, std::size_t bytes)
      : device_(&device), pointer_(pointer), bytes_(bytes) {}
  CardMemory(CardMemory&& other) noexcept { swap(other); }
  CardMemory& operator=(CardMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~CardMemory();

  CuPointer pointer() const { return pointer_; }
  std::size_t bytes() const { return bytes_; }
  /// The address in the form that kernels take. The host never reads through it.
  template <class T>
  T* as(std::size_t offset = 0) const {
    return reinterpret_cast<T*>(pointer_ + offset);  // NOLINT: an address of the card
  }

 private:
  void swap(CardMemory& other) noexcept;

  const CudaDevice* device_ = nullptr;
  CuPointer pointer_ = 0;
  std::size_t bytes_ = 0;
};

/// Memory of the host that the card can copy from and to directly.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(const CudaDevice& device, std::byte* data, std::size_t bytes)
      : device_(&device), data_(data), bytes_(bytes) {}
  PinnedMemory(PinnedMemory&& other) noexcept { swap(other); }
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~PinnedMemory();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(PinnedMemory& other) noexcept;

  const CudaDevice* device_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The shape of a launch.
struct Launch {
  std::string_view kernel = {};
  int grid_x = 1, grid_y = 1;
  int threads = 1;
  int shared_bytes = 0;
};

class CudaDevice {
 public:
  /// The first card. Errors: no driver, no card, one older than compute capability 8.0.
  static Result<std::unique_ptr<CudaDevice>> open();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice();

  /// Lets the driver compile the kernels of these names, which replace earlier ones. Error: it does not accept them.
  Result<void> load_kernels(std::span<const std::string_view> names);
  /// Makes this the calling thread's current card.
  void enter() const;
  const CardInfo& info() const { return info_; }
  /// The bytes of the card that are free now.
  std::uint64_t free_bytes() const;

  /// Error: the card has not enough memory.
  Result<CardMemory> allocate(std::size_t bytes) const;
  Result<PinnedMemory> allocate_pinned(std::size_t bytes) const;

  // Work of the stream, done in order. Memory of the host in `from` and `to` must stay as it is until wait().
  void copy_to_card(CuPointer to, const void* from, std::size_t bytes);
  void copy_to_host(void* to, CuPointer from, std::size_t bytes);
  void copy_on_card(CuPointer to, CuPointer from, std::size_t bytes);
  template <class Arguments>
  void launch(const Launch& shape, const Arguments& arguments) {
    Arguments copy = arguments;
    clear_padding(copy);
    launch_with(shape, std::as_bytes(std::span(&copy, 1)));
  }
  void launch(const KernelLaunch& launch) {
    launch_with({launch.kernel, launch.grid_x, launch.grid_y, launch.threads, launch.shared_bytes}, launch.argument);
  }
  /// From here on work is only collected; run_step() runs it. Where an earlier step had the same work, with the same
  /// addresses, it runs as one graph.
  void begin_step();
  void run_step();
  /// Waits until all of that is done.
  void wait();

 private:
  friend class CardMemory;
  friend class PinnedMemory;
  explicit CudaDevice(const CudaDriver& driver) : driver_(driver), graphs_(driver) {}
  Result<void> start();
  Result<void> read_info();
  void launch_with(const Launch& shape, std::span<const std::byte> argument);
  void submit(const StreamItem& item, std::span<const std::byte> argument);
  void run(const StreamItem& item, const std::byte* argument);
  void run_collected();
  /// The graph of the collected work; null: the driver makes none.
  CuGraphExec capture();
  /// Throws DeviceError where the driver failed to do `what`.
  void check(CuResult result, const char* what) const;

  const CudaDriver& driver_;
  CuDevice device_ = 0;
  CuContext context_ = nullptr;
  CuModule module_ = nullptr;
  CuStream stream_ = nullptr;
  CardInfo info_;
  struct Kernel {
    std::string name;
    CuFunction function = nullptr;
  };
  std::vector<Kernel> kernels_;  // sorted by name
  StreamWork work_;              // the work of the step that is collected
  StepGraphs graphs_;
  bool is_collecting_ = false;
};

}  // namespace octavo::gpu

#include "gpu/cuda_device.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gpu/kernels_ptx.h"
#include "gpu/ptx_text.h"

namespace octavo::gpu {
namespace {

/// The least compute capability: from it on, cards have the asynchronous copies and integer products that kernels use.
constexpr int kLeastMajor = 8;

}  // namespace

CardMemory::~CardMemory() {
  if (pointer_ == 0) return;
  device_->driver_.context_set(device_->context_);
  device_->driver_.memory_free(pointer_);
}

void CardMemory::swap(CardMemory& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(pointer_, other.pointer_);
  std::swap(bytes_, other.bytes_);
}

PinnedMemory::~PinnedMemory() {
  if (data_ == nullptr) return;
  device_->driver_.context_set(device_->context_);
  device_->driver_.host_free(data_);
}

void PinnedMemory::swap(PinnedMemory& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open() {
  if (kernels_ptx().empty())
    return fail("this program was built without kernels for NVIDIA cards (clang-19 makes them)");
  const Result<CudaDriver>& driver = CudaDriver::get();
  if (!driver) return std::unexpected(driver.error());
  std::unique_ptr<CudaDevice> device(new CudaDevice(*driver));
  OCTAVO_TRY_VOID(device->start());
  return device;
}

Result<void> CudaDevice::start() {
  int count = 0;
  if (driver_.device_count(&count) != kCuSuccess || count == 0 || driver_.device_get(&device_, 0) != kCuSuccess)
    return fail("the driver finds no NVIDIA card");
  OCTAVO_TRY_VOID(read_info());
  if (const CuResult result = driver_.context_retain(&context_, device_); result != kCuSuccess) {
    context_ = nullptr;
    return fail("{} does not start: {}", info_.name, driver_.name_of(result));
  }
  if (driver_.context_set(context_) != kCuSuccess) return fail("{} cannot be taken up", info_.name);
  std::size_t free = 0, total = 0;
  if (driver_.memory_info(&free, &total) != kCuSuccess)
    return fail("{} does not say how much memory it has", info_.name);
  info_.free_bytes = free, info_.total_bytes = total;
  if (const CuResult result = driver_.stream_create(&stream_, 1); result != kCuSuccess)  // 1: runs beside other streams
    return fail("{} gives no stream: {}", info_.name, driver_.name_of(result));
  return {};
}

Result<void> CudaDevice::read_info() {
  std::array<char, 256> name{};
  if (driver_.device_name(name.data(), static_cast<int>(name.size()) - 1, device_) == kCuSuccess)
    info_.name = name.data();
  if (info_.name.empty()) info_.name = "the NVIDIA card";
  const std::array<std::pair<int, int*>, 4> attributes = {{{kCuMajor, &info_.major},
                                                           {kCuMinor, &info_.minor},
                                                           {kCuMultiprocessors, &info_.num_multiprocessors},
                                                           {kCuSharedOptin, &info_.shared_bytes}}};
  for (const auto& [attribute, value] : attributes)
    if (driver_.device_attribute(value, attribute, device_) != kCuSuccess)
      return fail("{} does not say what it is", info_.name);
  if (info_.major < kLeastMajor)
    return fail("{} has compute capability {}.{}, expected {}.0 or newer", info_.name, info_.major, info_.minor,
                kLeastMajor);
  return {};
}

Result<void> CudaDevice::load_kernels(std::span<const std::string_view> names) {
  const std::string text = ptx_of_kernels(kernels_ptx(), names);
  kernels_.clear();
  graphs_.clear();
  if (module_ != nullptr) driver_.module_unload(module_);
  if (const CuResult result = driver_.module_load(&module_, text.c_str()); result != kCuSuccess) {
    module_ = nullptr;
    return fail("the driver of {} does not take the kernels: {}", info_.name, driver_.name_of(result));
  }
  for (const std::string_view name : names) {
    Kernel kernel{.name = std::string(name)};
    if (driver_.module_function(&kernel.function, module_, kernel.name.c_str()) != kCuSuccess)
      return fail("the kernels for {} have no {}", info_.name, name);
    driver_.function_set(kernel.function, kCuFunctionDynamicShared, info_.shared_bytes);
    kernels_.push_back(std::move(kernel));
  }
  std::ranges::sort(kernels_, {}, &Kernel::name);
  return {};
}

CudaDevice::~CudaDevice() {
  if (context_ == nullptr) return;
  driver_.context_set(context_);
  graphs_.clear();
  if (stream_ != nullptr) driver_.stream_destroy(stream_);
  if (module_ != nullptr) driver_.module_unload(module_);
  driver_.context_release(device_);
}

void CudaDevice::enter() const { check(driver_.context_set(context_), "take up"); }

std::uint64_t CudaDevice::free_bytes() const {
  std::size_t free = 0, total = 0;
  return driver_.memory_info(&free, &total) == kCuSuccess ? free : 0;
}

Result<CardMemory> CudaDevice::allocate(std::size_t bytes) const {
  if (bytes == 0) return CardMemory();
  CuPointer pointer = 0;
  if (const CuResult result = driver_.memory_alloc(&pointer, bytes); result != kCuSuccess)
    return fail("{} gives no {} bytes of memory ({} free): {}", info_.name, bytes, free_bytes(),
                driver_.name_of(result));
  return CardMemory(*this, pointer, bytes);
}

Result<PinnedMemory> CudaDevice::allocate_pinned(std::size_t bytes) const {
  if (bytes == 0) return PinnedMemory();
  void* data = nullptr;
  if (const CuResult result = driver_.host_alloc(&data, bytes); result != kCuSuccess)
    return fail("no {} bytes of memory for copies to {}: {}", bytes, info_.name, driver_.name_of(result));
  return PinnedMemory(*this, static_cast<std::byte*>(data), bytes);
}

void CudaDevice::check(CuResult result, const char* what) const {
  if (result != kCuSuccess)
    throw DeviceError(fmt::format("{} failed to {}: {}", info_.name, what, driver_.name_of(result)));
}

void CudaDevice::copy_to_card(CuPointer to, const void* from, std::size_t bytes) {
  if (bytes > 0)
    submit({.kind = StreamItem::Kind::kCopyToCard,
            .bytes = bytes,
            .to = to,
            .from = reinterpret_cast<std::uintptr_t>(from)},
           {});
}

void CudaDevice::copy_to_host(void* to, CuPointer from, std::size_t bytes) {
  if (bytes > 0)
    submit({.kind = StreamItem::Kind::kCopyToHost,
            .bytes = bytes,
            .to = reinterpret_cast<std::uintptr_t>(to),
            .from = from},
           {});
}

void CudaDevice::copy_on_card(CuPointer to, CuPointer from, std::size_t bytes) {
  if (bytes > 0) submit({.kind = StreamItem::Kind::kCopyOnCard, .bytes = bytes, .to = to, .from = from}, {});
}

void CudaDevice::launch_with(const Launch& shape, std::span<const std::byte> argument) {
  const auto kernel = std::ranges::lower_bound(kernels_, shape.kernel, {}, &Kernel::name);
  OCTAVO_CHECK(kernel != kernels_.end() && kernel->name == shape.kernel, "no kernel {}", shape.kernel);
  const auto number = [](int n) { return static_cast<unsigned>(n); };
  submit({.grid_x = number(shape.grid_x),
          .grid_y = number(shape.grid_y),
          .threads = number(shape.threads),
          .shared_bytes = number(shape.shared_bytes),
          .kernel = static_cast<unsigned>(kernel - kernels_.begin()),
          .bytes = argument.size()},
         argument);
}

void CudaDevice::submit(const StreamItem& item, std::span<const std::byte> argument) {
  if (is_collecting_) return work_.add(item, argument);
  run(item, argument.data());
}

void CudaDevice::run(const StreamItem& item, const std::byte* argument) {
  const auto of_host = [](std::uint64_t address) { return reinterpret_cast<void*>(address); };  // NOLINT: it was one
  switch (item.kind) {
    case StreamItem::Kind::kCopyToCard:
      return check(driver_.copy_to_device(item.to, of_host(item.from), item.bytes, stream_), "take a copy");
    case StreamItem::Kind::kCopyToHost:
      return check(driver_.copy_to_host(of_host(item.to), item.from, item.bytes, stream_), "give a copy");
    case StreamItem::Kind::kCopyOnCard:
      return check(driver_.copy_on_device(item.to, item.from, item.bytes, stream_), "copy");
    case StreamItem::Kind::kLaunch: break;
  }
  const Kernel& kernel = kernels_[item.kernel];
  std::array<void*, 1> parameters = {const_cast<std::byte*>(argument)};  // the driver only reads it
  const CuResult result = driver_.launch(kernel.function, item.grid_x, item.grid_y, 1, item.threads, 1, 1,
                                         item.shared_bytes, stream_, parameters.data(), nullptr);
  if (result != kCuSuccess) check(result, ("launch " + kernel.name).c_str());
}

void CudaDevice::begin_step() {
  work_.clear();
  is_collecting_ = true;
}

void CudaDevice::run_step() {
  is_collecting_ = false;
  const StreamWork::Digest digest = work_.digest();
  CuGraphExec graph = graphs_.find(digest);
  if (graph == nullptr && graphs_.note(digest)) {
    graph = capture();
    if (graph != nullptr) graphs_.add(digest, graph);
  }
  if (graph == nullptr) return run_collected();
  check(driver_.graph_launch(graph, stream_), "run the graph of a step");
}

void CudaDevice::run_collected() {
  work_.for_each([&](const StreamItem& item, const std::byte* argument) { run(item, argument); });
}

CuGraphExec CudaDevice::capture() {
  check(driver_.capture_begin(stream_, kCuCaptureOfThread), "begin the graph of a step");
  CuGraph graph = nullptr;
  try {
    run_collected();
  } catch (const DeviceError&) {
    if (driver_.capture_end(stream_, &graph) == kCuSuccess && graph != nullptr) driver_.graph_destroy(graph);
    throw;
  }
  check(driver_.capture_end(stream_, &graph), "end the graph of a step");
  CuGraphExec executable = nullptr;
  const CuResult result = driver_.graph_instantiate(&executable, graph, 0);
  driver_.graph_destroy(graph);
  return result == kCuSuccess ? executable : nullptr;
}

void CudaDevice::wait() { check(driver_.stream_synchronize(stream_), "finish a step"); }

}  // namespace octavo::gpu

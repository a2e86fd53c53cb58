#include "gpu/cuda_device.h"
#include "octavo/device.h"

namespace octavo {

std::vector<DeviceInfo> list_devices() {
  const Result<std::unique_ptr<gpu::CudaDevice>> card = gpu::CudaDevice::open();
  if (!card) return {};
  const gpu::CardInfo& info = (*card)->info();
  return {{.id = "CUDA0", .name = info.name, .total_bytes = info.total_bytes, .free_bytes = info.free_bytes}};
}

}  // namespace octavo

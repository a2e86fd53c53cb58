#include "gpu/cuda_driver.h"

#include <dlfcn.h>

namespace octavo::gpu {

const Result<CudaDriver>& CudaDriver::get() {
  static const Result<CudaDriver> driver = open();
  return driver;
}

// The library is never closed: the driver has threads of its own.
Result<CudaDriver> CudaDriver::open() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail("no driver of an NVIDIA card is installed (libcuda.so.1)");
  CudaDriver driver;
  OCTAVO_TRY_VOID(driver.find_functions(library));
  int version = 0;
  if (driver.driver_version(&version) == kCuSuccess && version < kLeastDriver)
    return fail("the driver of the NVIDIA card is for CUDA {}.{}, expected {}.{} or later", version / 1000,
                version % 1000 / 10, kLeastDriver / 1000, kLeastDriver % 1000 / 10);
  if (const CuResult result = driver.init(0); result != kCuSuccess)
    return fail("the driver of the NVIDIA card does not start: {}", driver.name_of(result));
  return driver;
}

Result<void> CudaDriver::find_functions(void* library) {
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) missing = name;
  };
#define OCTAVO_FIND(member, name, parameters) find(member, name);
  OCTAVO_CUDA_FUNCTIONS(OCTAVO_FIND)
#undef OCTAVO_FIND
  if (missing != nullptr) return fail("the driver of the NVIDIA card is too old: libcuda.so.1 has no {}", missing);
  return {};
}

std::string CudaDriver::name_of(CuResult error) const {
  const char* name = nullptr;
  if (error_name(error, &name) == kCuSuccess && name != nullptr) return name;
  return fmt::format("error {}", error);
}

}  // namespace octavo::gpu

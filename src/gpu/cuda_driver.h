// The functions of NVIDIA's driver through which the card is used. They are found at run time: Octavo is built without
// CUDA, and runs where there is no driver. Names and values are those of the CUDA driver API.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"

namespace octavo::gpu {

// Types of the driver: a handle is an opaque pointer, a device pointer is a number.
using CuResult = int;
using CuDevice = int;
using CuPointer = unsigned long long;
using CuContext = struct CuContextTag*;
using CuModule = struct CuModuleTag*;
using CuFunction = struct CuFunctionTag*;
using CuStream = struct CuStreamTag*;
using CuGraph = struct CuGraphTag*;
using CuGraphExec = struct CuGraphExecTag*;

inline constexpr CuResult kCuSuccess = 0;
/// Attributes of devices and functions.
inline constexpr int kCuMultiprocessors = 16, kCuMajor = 75, kCuMinor = 76, kCuSharedOptin = 97;
inline constexpr int kCuFunctionDynamicShared = 8;
/// The capture mode in which calls of other threads do not disturb a capture.
inline constexpr int kCuCaptureOfThread = 1;
/// The version of CUDA 11.4, the first with all of these functions. For PTX 7.0, which the kernels are, 11.0 would do.
inline constexpr int kLeastDriver = 11040;

// X(member, exported name, parameters); every function gives a CuResult.
#define OCTAVO_CUDA_FUNCTIONS(X)                                                                                  \
  X(init, "cuInit", (unsigned flags))                                                                             \
  X(driver_version, "cuDriverGetVersion", (int* version))                                                         \
  X(device_count, "cuDeviceGetCount", (int* count))                                                               \
  X(device_get, "cuDeviceGet", (CuDevice * device, int ordinal))                                                  \
  X(device_name, "cuDeviceGetName", (char* name, int bytes, CuDevice device))                                     \
  X(device_attribute, "cuDeviceGetAttribute", (int* value, int attribute, CuDevice device))                       \
  X(context_retain, "cuDevicePrimaryCtxRetain", (CuContext * context, CuDevice device))                           \
  X(context_release, "cuDevicePrimaryCtxRelease_v2", (CuDevice device))                                           \
  X(context_set, "cuCtxSetCurrent", (CuContext context))                                                          \
  X(memory_info, "cuMemGetInfo_v2", (std::size_t* free, std::size_t* total))                                      \
  X(memory_alloc, "cuMemAlloc_v2", (CuPointer * pointer, std::size_t bytes))                                      \
  X(memory_free, "cuMemFree_v2", (CuPointer pointer))                                                             \
  X(host_alloc, "cuMemAllocHost_v2", (void** pointer, std::size_t bytes))                                         \
  X(host_free, "cuMemFreeHost", (void* pointer))                                                                  \
  X(copy_to_device, "cuMemcpyHtoDAsync_v2", (CuPointer to, const void* from, std::size_t bytes, CuStream stream)) \
  X(copy_to_host, "cuMemcpyDtoHAsync_v2", (void* to, CuPointer from, std::size_t bytes, CuStream stream))         \
  X(copy_on_device, "cuMemcpyDtoDAsync_v2", (CuPointer to, CuPointer from, std::size_t bytes, CuStream stream))   \
  X(stream_create, "cuStreamCreate", (CuStream * stream, unsigned flags))                                         \
  X(stream_destroy, "cuStreamDestroy_v2", (CuStream stream))                                                      \
  X(stream_synchronize, "cuStreamSynchronize", (CuStream stream))                                                 \
  X(module_load, "cuModuleLoadData", (CuModule * module, const void* image))                                      \
  X(module_unload, "cuModuleUnload", (CuModule module))                                                           \
  X(module_function, "cuModuleGetFunction", (CuFunction * function, CuModule module, const char* name))           \
  X(function_set, "cuFuncSetAttribute", (CuFunction function, int attribute, int value))                          \
  X(launch, "cuLaunchKernel",                                                                                     \
    (CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,  \
     unsigned block_z, unsigned shared_bytes, CuStream stream, void** parameters, void** extra))                  \
  X(capture_begin, "cuStreamBeginCapture_v2", (CuStream stream, int mode))                                        \
  X(capture_end, "cuStreamEndCapture", (CuStream stream, CuGraph * graph))                                        \
  X(graph_instantiate, "cuGraphInstantiateWithFlags",                                                             \
    (CuGraphExec * executable, CuGraph graph, unsigned long long flags))                                          \
  X(graph_launch, "cuGraphLaunch", (CuGraphExec graph, CuStream stream))                                          \
  X(graph_destroy, "cuGraphDestroy", (CuGraph graph))                                                             \
  X(graph_exec_destroy, "cuGraphExecDestroy", (CuGraphExec graph))                                                \
  X(error_name, "cuGetErrorName", (CuResult error, const char** name))

class CudaDriver {
 public:
  /// Opens and initializes libcuda.so.1, once in the process. Errors, each of one line: there is no driver, it lacks a
  /// function, it is older than kLeastDriver, or it refuses to start.
  static const Result<CudaDriver>& get();

#define OCTAVO_MEMBER(member, name, parameters) CuResult(*member) parameters = nullptr;
  OCTAVO_CUDA_FUNCTIONS(OCTAVO_MEMBER)
#undef OCTAVO_MEMBER

  /// The driver's name of an error, such as CUDA_ERROR_OUT_OF_MEMORY.
  std::string name_of(CuResult error) const;

 private:
  static Result<CudaDriver> open();
  Result<void> find_functions(void* library);
};

}  // namespace octavo::gpu

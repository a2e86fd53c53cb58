#include "gpu/kernels/kernel_list.h"
#include "gpu/kernels_ptx.h"

namespace octavo::gpu {
namespace {

#define OCTAVO_NAME(kernel, Argument) std::string_view(#kernel),
constexpr std::string_view kNames[] = {OCTAVO_GPU_ROW_KERNELS(OCTAVO_NAME) OCTAVO_GPU_ATTENTION_KERNELS(OCTAVO_NAME)};
constexpr std::string_view kDeltaNames[] = {OCTAVO_GPU_DELTA_KERNELS(OCTAVO_NAME)};
constexpr std::string_view kExpertNames[] = {OCTAVO_GPU_EXPERT_KERNELS(OCTAVO_NAME)};
#undef OCTAVO_NAME

}  // namespace

std::span<const std::string_view> common_kernels() { return kNames; }
std::span<const std::string_view> delta_kernels() { return kDeltaNames; }
std::span<const std::string_view> expert_kernels() { return kExpertNames; }

}  // namespace octavo::gpu

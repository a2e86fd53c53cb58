// The kernels as text for the driver, which compiles it for the card at hand.
#pragma once

#include <span>
#include <string_view>

namespace octavo::gpu {

/// The PTX of src/gpu/kernels/kernels.cu; empty where the program was built without clang.
std::string_view kernels_ptx();
/// The names of the kernels that every model uses, of those for gated delta nets and of those for mixtures of experts.
/// The kernels of products are listed by product_launch.h.
std::span<const std::string_view> common_kernels();
std::span<const std::string_view> delta_kernels();
std::span<const std::string_view> expert_kernels();

}  // namespace octavo::gpu

// The kernels as text for the driver, which compiles it for the card at hand.
#pragma once

#include <span>
#include <string_view>

namespace octavo::gpu {

/// PTX of src/gpu/kernels/kernels.cu; empty where no clang was there when this program was built.
std::string_view kernels_ptx();
/// The names of the kernels that every model uses, of those of gated delta nets and of those of mixtures of experts;
/// products have a list of their own (product_launch.h).
std::span<const std::string_view> common_kernels();
std::span<const std::string_view> delta_kernels();
std::span<const std::string_view> expert_kernels();

}  // namespace octavo::gpu

// Some kernels' text, cut from the PTX of all: the driver compiles only what a model uses, which takes a fifth of the
// time for all (Q4_K and Q6_K, by ptxas).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octavo::gpu {

/// `ptx` without the kernels whose names are not in `names`. Text between kernels stays.
std::string ptx_of_kernels(std::string_view ptx, std::span<const std::string_view> names);

}  // namespace octavo::gpu

// The text of some kernels, cut from the PTX of all: a driver compiles the kernels that a model uses, which takes it a
// fifth of the time of all (Q4_K and Q6_K, by ptxas).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octavo::gpu {

/// `ptx` without the kernels whose names are not among `names`. What stands between kernels stays.
std::string ptx_of_kernels(std::string_view ptx, std::span<const std::string_view> names);

}  // namespace octavo::gpu

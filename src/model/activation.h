// The functions between the matrices of a feed-forward. Plain header: kernels of devices include it.
#pragma once

#include <stdint.h>

namespace octavo {

/// The function of a gate g and of u beside it: silu(g) u; gelu(g) u, with its tanh, or with the error function, both
/// of which may stand alone; g sigmoid(1.702 g) (u + 1) of bounded g and u (kernels/kernels.h); the square of g above
/// 0, alone; the xIELU of g, alone.
enum class Activation : uint8_t { kSilu, kGeluTanh, kGelu, kClampedSwiglu, kSquaredRelu, kXielu };

}  // namespace octavo

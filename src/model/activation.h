// The functions between the matrices of a feed-forward. Plain header: kernels of devices include it.
#pragma once

#include <stdint.h>

namespace octavo {

/// The function of a gate g and of u beside it: silu(g) u; gelu(g) u, with the approximation by tanh or with the error
/// function, both of which may stand without u; g sigmoid(1.702 g) (u + 1) of bounded g and u (kernels/kernels.h); the
/// square of g where g is above 0, without u; the xIELU of g, without u.
enum class Activation : uint8_t { kSilu, kGeluTanh, kGelu, kClampedSwiglu, kSquaredRelu, kXielu };

}  // namespace octavo

// Limits of all cards that kernels are for. A plain header: kernels and the host include it.
#pragma once

namespace octavo::gpu {

/// The shared memory that a block may have, in bytes.
inline constexpr int kMaxSharedBytes = 99 * 1024;

}  // namespace octavo::gpu

// Limits that hold on all cards that have kernels. A plain header: kernels and the host include it.
#pragma once

namespace octavo::gpu {

/// The most shared memory of a block, in bytes.
inline constexpr int kMaxSharedBytes = 99 * 1024;

}  // namespace octavo::gpu

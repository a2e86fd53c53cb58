// The only operations of a card that the kernels in src/gpu/kernels use. So one source of a kernel is compiled for the
// card (simt_ptx.h, which clang compiles to PTX) and for the host (an emulation for tests by fibers).
//
// Operations of floats are those of IEEE 754, rounded to nearest: none is contracted, none flushes denormals. A warp
// has 32 threads, its lanes. All lanes of a warp call a shuffle, an mma or sync_warp() together.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace octavo::simt {

/// The lanes of a warp.
inline constexpr int kWarp = 32;

/// 16 bytes that are loaded at once.
struct alignas(16) Words4 {
  uint32_t v[4];
};
struct alignas(16) Floats4 {
  float v[4];
};
/// 8 bytes that are loaded at once.
struct alignas(8) Words2 {
  uint32_t v[2];
};
struct alignas(8) Floats2 {
  float v[2];
};

}  // namespace octavo::simt

// clang-format off
// The definitions that both give:
//
//     OCTAVO_GPU_KERNEL(threads, blocks)  begins a kernel of blocks of so many threads, of which so many are to fit on a
//                                         multiprocessor; a kernel takes one struct by value and returns void
//     OCTAVO_GPU_DEVICE                   begins a function that kernels call
//     OCTAVO_GPU_UNROLL, OCTAVO_GPU_KEEP_LOOP   stand before a loop
//
//     shared()                            the block's shared memory, aligned to 128 bytes
//     thread(), block_x(), block_y(), grid_x()
//     sync_block(), sync_warp()
//     pass(id), await(id)                 a named barrier (1 to 15) of two warps: one arrives and goes on, the other waits
//     shuffle_xor(v, mask)                v of the lane whose number differs by the bits of mask
//     copy16(to, from)                    begins a copy of 16 bytes into shared memory
//     commit(), wait_copies<N>()          ends a group of the thread's copies; waits for all but its last N groups
//     mma_u8, mma_s8, mma_u8u8, mma_s8u8  d = c + a b: 16 x 32 bytes times 32 x 8 bytes, exact sums of 32 bits. Lane
//                                         4 g + j gives the bytes 4 j .. 4 j + 3 (a[0], b0) and 16 more (a[2], b1) of
//                                         row g of a, of column g of b, in a[1] and a[3] of row g + 8 of a; and it has
//                                         the sums of row g in columns 2 j, 2 j + 1, then those of row g + 8
//     mma_u8_k16                          the same of 16 columns of a
//     fma, mul, add, sub, div, root, to_float
//     add_to_shared(sum, v)               adds to an integer in shared memory that other threads add to as well
//     to_int(v)                           to nearest, ties to even; INT32_MIN for what no int32 is near
//     as_float, as_int                    the same bits
//     mul, add, sub, div, to_float        of float64, too; to_int(v) of one that an int32 is near
//     to_double, as_double                from int32 or float; the same bits
//     finish(v)                           v is computed before what stands behind this, which a compiler might prefer
//     half_to_float, float_to_half, bf16_to_float
//     load8, load8f, load16, load16f      8 or 16 bytes from an address that is a multiple of as many
// clang-format on
#if defined(__CUDA__)
#include "gpu/simt_ptx.h"
#else
#include "gpu/emulation/simt_emulation.h"
#endif

namespace octavo::simt {

/// The index of this thread in its warp, and of its warp in the block.
OCTAVO_GPU_DEVICE int lane() { return thread() % kWarp; }
OCTAVO_GPU_DEVICE int warp() { return thread() / kWarp; }

}  // namespace octavo::simt

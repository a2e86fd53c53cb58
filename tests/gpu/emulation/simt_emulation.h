// The operations of simt.h on a host: the threads of a block are fibers of one thread of the system, which change
// places where they wait. Bits are those of a card; order and time are chosen to show mistakes:
//
//     copies           happen when the thread waits for them, or at once, as the launch says
//     threads          run from the first to the last or from the last to the first, each as far as it can
//     shared memory    is filled with 0xCD for each block
//
// Misuse ends a launch with a MisuseError: threads that all wait for each other, threads that end where others wait,
// copies that nobody has waited for, a warp that arrives twice at a barrier for two, lanes of a warp that meet at
// different operations, writes behind the shared memory. Only simt.h includes this.
#pragma once

#include <stdint.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "gpu/emulation/emulated_launch.h"
#include "tensor/dequantize.h"

#define OCTAVO_GPU_DEVICE inline
#define OCTAVO_GPU_KERNEL(threads, blocks) extern "C" inline void
#define OCTAVO_GPU_UNROLL
#define OCTAVO_GPU_KEEP_LOOP

namespace octavo::simt {

namespace emulation {

/// The thread that runs, and its block.
struct Place {
  int thread, block_x, block_y, grid_x;
  uint8_t* shared;
};
inline constinit thread_local Place place{};

enum class Operation : uint8_t { kNone, kSyncWarp, kShuffle, kMma };
void sync_block();
void sync_warp();
uint32_t shuffle_xor(uint32_t v, int mask);
void arrive(int barrier, bool waits);
void copy16(void* to, const void* from);
void commit();
void wait_copies(int but);
/// The operands of an mma of one lane; `columns` 16 or 32 of a.
struct MmaOperands {
  uint32_t a[4], b[2];
  int c[4];
};
struct MmaForm {
  bool a_signed, b_signed;
  int columns;
};
void mma(int (&d)[4], const MmaOperands& operands, MmaForm form);

}  // namespace emulation

inline uint8_t* shared() { return emulation::place.shared; }
inline int thread() { return emulation::place.thread; }
inline int block_x() { return emulation::place.block_x; }
inline int block_y() { return emulation::place.block_y; }
inline int grid_x() { return emulation::place.grid_x; }
inline void sync_block() { emulation::sync_block(); }
inline void sync_warp() { emulation::sync_warp(); }
inline void pass(int id) { emulation::arrive(id, false); }
inline void await(int id) { emulation::arrive(id, true); }
inline float shuffle_xor(float v, int mask) {
  return std::bit_cast<float>(emulation::shuffle_xor(std::bit_cast<uint32_t>(v), mask));
}
inline int shuffle_xor(int v, int mask) {
  return std::bit_cast<int>(emulation::shuffle_xor(std::bit_cast<uint32_t>(v), mask));
}
inline void copy16(void* to, const void* from) { emulation::copy16(to, from); }
inline void commit() { emulation::commit(); }
template <int N>
void wait_copies() {
  emulation::wait_copies(N);
}

inline void mma_u8(int (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, const int (&c)[4]) {
  emulation::mma(d, {{a[0], a[1], a[2], a[3]}, {b0, b1}, {c[0], c[1], c[2], c[3]}}, {false, true, 32});
}
inline void mma_s8(int (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, const int (&c)[4]) {
  emulation::mma(d, {{a[0], a[1], a[2], a[3]}, {b0, b1}, {c[0], c[1], c[2], c[3]}}, {true, true, 32});
}
inline void mma_u8u8(int (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, const int (&c)[4]) {
  emulation::mma(d, {{a[0], a[1], a[2], a[3]}, {b0, b1}, {c[0], c[1], c[2], c[3]}}, {false, false, 32});
}
inline void mma_s8u8(int (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, const int (&c)[4]) {
  emulation::mma(d, {{a[0], a[1], a[2], a[3]}, {b0, b1}, {c[0], c[1], c[2], c[3]}}, {true, false, 32});
}
inline void mma_u8_k16(int (&d)[4], uint32_t a0, uint32_t a1, uint32_t b, const int (&c)[4]) {
  emulation::mma(d, {{a0, a1, 0, 0}, {b, 0}, {c[0], c[1], c[2], c[3]}}, {false, true, 16});
}

inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float mul(float a, float b) { return a * b; }
inline float add(float a, float b) { return a + b; }
inline float sub(float a, float b) { return a - b; }
inline float div(float a, float b) { return a / b; }
inline float root(float a) { return std::sqrt(a); }
inline float to_float(int v) { return static_cast<float>(v); }
inline void add_to_shared(int* sum, int v) { *sum += v; }
inline int to_int(float v) {
  const float rounded = __builtin_rintf(v);
  return rounded >= -0x1p31F && rounded < 0x1p31F ? static_cast<int>(rounded) : INT32_MIN;
}
inline float as_float(int v) { return std::bit_cast<float>(v); }
inline int as_int(float v) { return std::bit_cast<int>(v); }
inline double mul(double a, double b) { return a * b; }
inline double add(double a, double b) { return a + b; }
inline double sub(double a, double b) { return a - b; }
inline double div(double a, double b) { return a / b; }
inline double to_double(int v) { return v; }
inline double to_double(float v) { return v; }
inline float to_float(double v) { return static_cast<float>(v); }
inline int to_int(double v) { return static_cast<int>(__builtin_rint(v)); }
inline double as_double(int64_t v) { return std::bit_cast<double>(v); }
inline void finish(float& /*v*/) {}
inline float half_to_float(uint16_t half) { return f16_to_f32(half); }
inline uint16_t float_to_half(float v) { return f32_to_f16(v); }
inline float bf16_to_float(uint16_t bits) { return octavo::bf16_to_f32(bits); }

template <class T>
T load_aligned(const void* p) {
  if (reinterpret_cast<uintptr_t>(p) % sizeof(T) != 0) throw MisuseError("a load from an address that is not aligned");
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline Words2 load8(const void* p) { return load_aligned<Words2>(p); }
inline Floats2 load8f(const void* p) { return load_aligned<Floats2>(p); }
inline Words4 load16(const void* p) { return load_aligned<Words4>(p); }
inline Floats4 load16f(const void* p) { return load_aligned<Floats4>(p); }

}  // namespace octavo::simt

// The operations of simt.h on a card: inline PTX and built-in functions of clang, without CUDA's headers. Only simt.h
// includes this.
#pragma once

#define OCTAVO_GPU_DEVICE __attribute__((device, always_inline)) inline
#define OCTAVO_GPU_KERNEL(threads, blocks) \
  extern "C" __attribute__((global)) __attribute__((launch_bounds(threads, blocks))) void
#define OCTAVO_GPU_UNROLL _Pragma("unroll")
#define OCTAVO_GPU_KEEP_LOOP _Pragma("unroll 1")

namespace octavo::simt {

extern __attribute__((shared, aligned(128))) uint8_t shared_memory[];

OCTAVO_GPU_DEVICE uint8_t* shared() { return shared_memory; }
OCTAVO_GPU_DEVICE int thread() { return (int)__nvvm_read_ptx_sreg_tid_x(); }
OCTAVO_GPU_DEVICE int block_x() { return (int)__nvvm_read_ptx_sreg_ctaid_x(); }
OCTAVO_GPU_DEVICE int block_y() { return (int)__nvvm_read_ptx_sreg_ctaid_y(); }
OCTAVO_GPU_DEVICE int grid_x() { return (int)__nvvm_read_ptx_sreg_nctaid_x(); }
OCTAVO_GPU_DEVICE void sync_block() { asm volatile("bar.sync 0;" ::: "memory"); }
OCTAVO_GPU_DEVICE void sync_warp() { __nvvm_bar_warp_sync(~0U); }
// The fence makes this warp's writes visible before the other warp goes on: arriving alone does not.
OCTAVO_GPU_DEVICE void pass(int id) { asm volatile("fence.acq_rel.cta;\nbar.arrive %0, 64;" ::"r"(id) : "memory"); }
OCTAVO_GPU_DEVICE void await(int id) { asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory"); }
OCTAVO_GPU_DEVICE float shuffle_xor(float v, int mask) { return __nvvm_shfl_sync_bfly_f32(~0U, v, mask, 31); }
OCTAVO_GPU_DEVICE int shuffle_xor(int v, int mask) { return __nvvm_shfl_sync_bfly_i32(~0U, v, mask, 31); }

OCTAVO_GPU_DEVICE uint32_t shared_address(const void* p) {
  return (uint32_t)(uintptr_t)(const __attribute__((address_space(3))) void*)p;
}
OCTAVO_GPU_DEVICE void copy16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
OCTAVO_GPU_DEVICE void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
OCTAVO_GPU_DEVICE void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

OCTAVO_GPU_DEVICE void add_to_shared(int* sum, int v) {
  asm volatile("red.shared.add.s32 [%0], %1;" ::"r"(shared_address(sum)), "r"(v) : "memory");
}

#define OCTAVO_GPU_MMA(name, types)                                                                                  \
  OCTAVO_GPU_DEVICE void name(int(&d)[4], const uint32_t(&a)[4], uint32_t b0, uint32_t b1, const int(&c)[4]) {       \
    asm("mma.sync.aligned.m16n8k32.row.col.s32." types                                                               \
        ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"                                   \
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                                             \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])); \
  }
OCTAVO_GPU_MMA(mma_u8, "u8.s8")
OCTAVO_GPU_MMA(mma_s8, "s8.s8")
OCTAVO_GPU_MMA(mma_u8u8, "u8.u8")
OCTAVO_GPU_MMA(mma_s8u8, "s8.u8")
#undef OCTAVO_GPU_MMA
OCTAVO_GPU_DEVICE void mma_u8_k16(int (&d)[4], uint32_t a0, uint32_t a1, uint32_t b, const int (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a0), "r"(a1), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}

OCTAVO_GPU_DEVICE float fma(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
OCTAVO_GPU_DEVICE float mul(float a, float b) { return __nvvm_mul_rn_f(a, b); }
OCTAVO_GPU_DEVICE float add(float a, float b) { return __nvvm_add_rn_f(a, b); }
OCTAVO_GPU_DEVICE float sub(float a, float b) { return __nvvm_add_rn_f(a, -b); }
OCTAVO_GPU_DEVICE float div(float a, float b) { return __nvvm_div_rn_f(a, b); }
OCTAVO_GPU_DEVICE float root(float a) { return __nvvm_sqrt_rn_f(a); }
OCTAVO_GPU_DEVICE float to_float(int v) { return __nvvm_i2f_rn(v); }
// The card's own conversion clamps to the largest int32, and turns NaN into 0.
OCTAVO_GPU_DEVICE int to_int(float v) {
  const int rounded = __nvvm_f2i_rn(v);
  return v >= -2147483648.0F && v < 2147483648.0F ? rounded : INT32_MIN;
}
OCTAVO_GPU_DEVICE float as_float(int v) { return __builtin_bit_cast(float, v); }
OCTAVO_GPU_DEVICE int as_int(float v) { return __builtin_bit_cast(int, v); }
OCTAVO_GPU_DEVICE double mul(double a, double b) { return __nvvm_mul_rn_d(a, b); }
OCTAVO_GPU_DEVICE double add(double a, double b) { return __nvvm_add_rn_d(a, b); }
OCTAVO_GPU_DEVICE double sub(double a, double b) { return __nvvm_add_rn_d(a, -b); }
OCTAVO_GPU_DEVICE double div(double a, double b) { return __nvvm_div_rn_d(a, b); }
OCTAVO_GPU_DEVICE double to_double(int v) { return __nvvm_i2d_rn(v); }
OCTAVO_GPU_DEVICE double to_double(float v) { return (double)v; }
OCTAVO_GPU_DEVICE float to_float(double v) { return __nvvm_d2f_rn(v); }
OCTAVO_GPU_DEVICE int to_int(double v) { return __nvvm_d2i_rn(v); }
OCTAVO_GPU_DEVICE double as_double(int64_t v) { return __builtin_bit_cast(double, v); }
OCTAVO_GPU_DEVICE void finish(float& v) { asm volatile("" : "+f"(v)); }
OCTAVO_GPU_DEVICE float half_to_float(uint16_t half) {
  float v;
  asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(half));
  return v;
}
OCTAVO_GPU_DEVICE uint16_t float_to_half(float v) {
  uint16_t half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(v));
  return half;
}
OCTAVO_GPU_DEVICE float bf16_to_float(uint16_t bits) { return as_float((int)((uint32_t)bits << 16)); }

// Integers and vectors of the compiler are loaded at once; a struct would be loaded word by word.
OCTAVO_GPU_DEVICE Words2 load8(const void* p) {
  const uint64_t v = *(const uint64_t*)p;
  return {{(uint32_t)v, (uint32_t)(v >> 32)}};
}
OCTAVO_GPU_DEVICE Floats2 load8f(const void* p) {
  typedef float Vector __attribute__((vector_size(8)));
  const Vector v = *(const Vector*)p;
  return {{v[0], v[1]}};
}
OCTAVO_GPU_DEVICE Words4 load16(const void* p) {
  typedef uint32_t Vector __attribute__((vector_size(16)));
  const Vector v = *(const Vector*)p;
  return {{v[0], v[1], v[2], v[3]}};
}
OCTAVO_GPU_DEVICE Floats4 load16f(const void* p) {
  typedef float Vector __attribute__((vector_size(16)));
  const Vector v = *(const Vector*)p;
  return {{v[0], v[1], v[2], v[3]}};
}

}  // namespace octavo::simt

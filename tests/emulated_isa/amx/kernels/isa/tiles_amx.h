// The names of src/kernels/isa/tiles_amx.h over plain loops, for processors without matrix tiles. A unit finds this
// file first when it is compiled for them. The thread's tiles know what they are configured for
// (emulated_isa/tile_machine.h).
#pragma once

#include <stdint.h>

#include "kernels/isa/tile_config.h"
#include "tests/emulated_isa/tile_machine.h"

namespace octavo {
namespace {

inline void tiles_configure(const TileConfig& config) { TileMachine::of_thread().configure(&config); }
inline void tiles_release() { TileMachine::of_thread().release(); }

template <int T>
inline void tile_zero() {
  TileMachine::of_thread().zero(T);
}
template <int T>
inline void tile_load(const void* p, int64_t stride) {
  TileMachine::of_thread().load(T, p, stride);
}
template <int T>
inline void tile_store(void* p, int64_t stride) {
  TileMachine::of_thread().store(T, p, stride);
}
template <int C, int A, int B>
inline void tile_dot() {
  TileMachine::of_thread().dot(C, A, B);
}
template <int C, int A, int B>
inline void tile_dot_bf16() {
  TileMachine::of_thread().dot_bf16(C, A, B);
}

}  // namespace
}  // namespace octavo

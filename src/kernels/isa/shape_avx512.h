// The shape of the AVX-512 kernels, apart from what its instructions do: tests use it on other processors, too
// (tests/emulated_isa).
#pragma once

namespace octavo {
namespace {

inline constexpr int kLanes = 16;
inline constexpr int kTileRows = 8;
inline constexpr int kTileVectors = 2;
inline constexpr int kPassQueries = 8;  // the most query rows that attention takes over a tile at once
inline constexpr int kWideBias = 128;

}  // namespace
}  // namespace octavo

// The shape of kernels with AVX-512, apart from what its instructions do: tests have it on other processors, too
// (tests/emulated_isa).
#pragma once

namespace octavo {
namespace {

inline constexpr int kLanes = 16;
inline constexpr int kTileRows = 8;
inline constexpr int kTileVectors = 2;
inline constexpr int kPassQueries = 8;  // query rows that attention takes over a tile at once, at most
inline constexpr int kWideBias = 128;

}  // namespace
}  // namespace octavo

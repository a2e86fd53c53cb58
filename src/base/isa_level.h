// The instruction-set levels, and the test whether a processor has a level.
//
// The header stands alone: base/cpu_info.h uses it at run time, and CMake before it configures a build for this machine
// (cmake/isa_levels.cmake), so that both decide alike. Any thread may call it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/tile_support.h"

namespace octavo {

/// Instruction-set levels that kernels are compiled for, weakest first within an architecture. The one that rounds
/// otherwise than all others stands before the one on which it is built: the last level is what people get who name
/// none.
enum class IsaLevel : std::uint8_t { kScalar, kAvx2, kAvxVnni, kAvx512Vnni, kAmxBf16, kAmx, kNeon };
inline constexpr int kNumIsaLevels = 7;

/// The names used on the command line and by CMake, in the order of the levels.
inline constexpr std::array<std::string_view, kNumIsaLevels> kIsaNames = {"scalar",  "avx2", "avxvnni", "avx512vnni",
                                                                          "amxbf16", "amx",  "neon"};

/// The level whose bits `level` has: its own, or that of which it replaces a part.
constexpr IsaLevel level_of_bits(IsaLevel level) { return level == IsaLevel::kAmx ? IsaLevel::kAvx512Vnni : level; }

/// Whether a level is chosen where none is named.
constexpr bool is_chosen_by_auto(IsaLevel level) { return level != IsaLevel::kAmxBf16; }

/// True if the processor and the system can run code of this level.
inline bool processor_has([[maybe_unused]] IsaLevel level) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  switch (level) {
    case IsaLevel::kScalar: return true;
    case IsaLevel::kAvx2: return avx2;
    case IsaLevel::kAvxVnni: return avx2 && __builtin_cpu_supports("avxvnni");
    case IsaLevel::kAvx512Vnni:
      return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vnni");
    case IsaLevel::kAmx: return processor_has(IsaLevel::kAvx512Vnni) && tile_support() == TileSupport::kUsable;
    case IsaLevel::kAmxBf16: return processor_has(IsaLevel::kAmx) && bf16_tile_support() == TileSupport::kUsable;
    case IsaLevel::kNeon: return false;
  }
  return false;
#elif defined(__aarch64__)
  return level == IsaLevel::kScalar || level == IsaLevel::kNeon;
#else
  return level == IsaLevel::kScalar;
#endif
}

}  // namespace octavo

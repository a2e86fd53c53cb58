// Whether this process may use matrix tiles (AMX): the processor has the instructions, the system saves their state,
// and it has permitted the process to use them. Any thread may call it; the header stands alone, as base/isa_level.h
// does.
#pragma once

#include <cstdint>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace octavo {

/// The first thing that is missing, or kUsable.
enum class TileSupport : std::uint8_t { kUsable, kNoInstructions, kNoState, kNoPermission, kNoBf16, kNoVbmi };

/// The missing part, as the end of a sentence; empty for kUsable.
constexpr std::string_view what_is_missing(TileSupport support) {
  switch (support) {
    case TileSupport::kUsable: break;
    case TileSupport::kNoInstructions: return "the processor has no amx-tile and amx-int8";
    case TileSupport::kNoState: return "the system does not save the state of tiles (XCR0 lacks bit 17 or 18)";
    case TileSupport::kNoPermission:
      return "the system refused this process the use of tiles (arch_prctl ARCH_REQ_XCOMP_PERM)";
    case TileSupport::kNoBf16: return "the processor has no amx-bf16";
    case TileSupport::kNoVbmi: return "the processor has no avx512_vbmi";
  }
  return {};
}

/// The three questions, each asked where those before it were answered with yes; tests answer them themselves.
struct TileQuestions {
  bool (*has_instructions)();
  bool (*saves_state)();
  bool (*is_permitted)();
};

constexpr TileSupport tile_support_of(const TileQuestions& ask) {
  if (!ask.has_instructions()) return TileSupport::kNoInstructions;
  if (!ask.saves_state()) return TileSupport::kNoState;
  return ask.is_permitted() ? TileSupport::kUsable : TileSupport::kNoPermission;
}

/// What products in bf16 need beside the tiles themselves.
constexpr TileSupport bf16_tile_support_of(TileSupport tiles, bool has_bf16, bool has_vbmi) {
  if (tiles != TileSupport::kUsable) return tiles;
  if (!has_bf16) return TileSupport::kNoBf16;
  return has_vbmi ? TileSupport::kUsable : TileSupport::kNoVbmi;
}

#if defined(__x86_64__)

/// The processor's and the system's answers.
inline constexpr TileQuestions kTileQuestions = {
    .has_instructions =
        [] {
          unsigned a = 0, b = 0, c = 0, d = 0;
          constexpr unsigned kTile = 1U << 24, kInt8 = 1U << 25;
          return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kTile) != 0 && (d & kInt8) != 0;
        },
    .saves_state =
        [] {
          unsigned a = 0, b = 0, c = 0, d = 0;
          if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & (1U << 27)) == 0) return false;  // XGETBV itself
          unsigned low = 0, high = 0;  // NOLINT(misc-const-correctness): the instruction writes both
          asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
          constexpr unsigned kConfiguration = 1U << 17, kData = 1U << 18;
          return (low & kConfiguration) != 0 && (low & kData) != 0;
        },
    .is_permitted =
        [] {
          constexpr long kRequestPermission = 0x1023, kTileData = 18;
          return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
        },
};

/// The answers, which are asked for once a process: a permission is given for good.
inline TileSupport tile_support() {
  static const TileSupport support = tile_support_of(kTileQuestions);
  return support;
}

inline TileSupport bf16_tile_support() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBf16 = 1U << 22, kVbmi = 1U << 1;
  const bool known = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0;
  return bf16_tile_support_of(tile_support(), known && (d & kBf16) != 0, known && (c & kVbmi) != 0);
}

#else

inline TileSupport tile_support() { return TileSupport::kNoInstructions; }
inline TileSupport bf16_tile_support() { return TileSupport::kNoInstructions; }

#endif

}  // namespace octavo

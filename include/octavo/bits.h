// Which bits an engine computes.
#pragma once

#include <cstdint>
#include <string_view>

namespace octavo {

/// kNative: the bits of the level, the C library and this build, at their full speed. kPortable: the same bits on every
/// machine, whatever its level, processor, C library and compiler (docs/portable_bits.md).
enum class Bits : std::uint8_t { kNative, kPortable };

/// The name of the bits: "native" or "portable".
constexpr std::string_view bits_name(Bits bits) { return bits == Bits::kPortable ? "portable" : "native"; }

}  // namespace octavo

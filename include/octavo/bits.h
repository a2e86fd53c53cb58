// Which bits an engine computes.
#pragma once

#include <cstdint>
#include <string_view>

namespace octavo {

/// The bits of the level, the C library and the build at hand, at their full speed; or the same ones on every machine,
/// whatever its level, processor, C library and compiler (docs/portable_bits.md).
enum class Bits : std::uint8_t { kNative, kPortable };

/// "native", "portable".
constexpr std::string_view bits_name(Bits bits) { return bits == Bits::kPortable ? "portable" : "native"; }

}  // namespace octavo

// The element types and the layouts of a KV memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "octavo/result.h"

namespace octavo {

inline constexpr int kDefaultBlockSize = 16;  // in tokens
inline constexpr int kMaxBlockSize = 256;     // in tokens; block sizes are powers of two

/// Element type of the KV cache. Rounding errors, relative to the value: f16 2^-11 (in its normal range), bf16 2^-8.
/// q8_0 has an IEEE half scale for 32 dimensions of a token, and errs by at most half a scale: 1/254 of the largest
/// dimension. i16 has a scale, the largest of 64 dimensions, for integers of 14 bits, and errs by at most 2^-14 of the
/// scale. Scales themselves are rounded by 2^-11 of their value; below 2^-14 they are multiples of 2^-24 that reach the
/// largest value. f32 and bf16 keep infinities and NaN. f16, q8_0 and i16 are finite: values above 65504, 127 times and
/// 1.001 times that become these bounds, and an infinity or NaN spoils its segment of dimensions.
enum class KvType : std::uint8_t { kF16, kBF16, kQ8_0, kF32, kI16 };

/// The default of an engine: 1.6 % more bytes than f16, but products of integers.
inline constexpr KvType kDefaultKvType = KvType::kI16;

/// The name of a type: "f16", "bf16", "q8_0", "f32" or "i16". Below: the type of a name.
std::string_view kv_type_name(KvType type);
Result<KvType> parse_kv_type(std::string_view name);

/// The layout of the KV cache: a pool of blocks that all sequences share, or one growing piece for a single sequence.
/// Both layouts give the same bits.
enum class KvLayout : std::uint8_t { kPaged, kContiguous };

}  // namespace octavo

// A short name for all that an answer's bits depend on besides the request.
#pragma once

#include <string>
#include <string_view>

#include "base/isa_level.h"
#include "octavo/bits.h"

namespace octavo {

/// "fp_" and 16 hexadecimal digits. Two are equal only for the same compiled objects, C library, file, element type of
/// the KV cache, and instruction set, or one that has its bits. Then the same request with the same seed gets the same
/// tokens. Portable bits have "fp_portable_" and digits, equal for the same sources, file and type on any machine.
/// `file`: its hash, and what of it the options choose. Any thread.
std::string system_fingerprint(Bits bits, IsaLevel isa, std::string_view kv_type, std::string_view file);

}  // namespace octavo

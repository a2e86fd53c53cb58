// What an answer's bits depend on besides the request, in one short name.
#pragma once

#include <string>
#include <string_view>

namespace octavo {

/// "fp_" and 16 hexadecimal digits. Two that are equal mean: this very build, the same instruction set and C library,
/// the same file and the same element type of the KV cache; so the same request with the same seed gets the same
/// tokens. Any thread.
std::string system_fingerprint(std::string_view isa, std::string_view kv_type, std::string_view file_hash);

}  // namespace octavo

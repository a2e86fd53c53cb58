// A short name for all that an answer's bits depend on besides the request.
#pragma once

#include <string>
#include <string_view>

#include "octavo/bits.h"

namespace octavo {

/// "fp_" and 16 hexadecimal digits, equal only for the same compiled objects, instruction set, C library, file and KV
/// type: then one request with one seed always gets the same tokens. With portable bits it is "fp_portable_" and
/// digits, equal for the same sources, file and KV type on any machine. `file`: the file's hash, with the options that
/// choose parts of it. Any thread.
std::string system_fingerprint(Bits bits, std::string_view isa, std::string_view kv_type, std::string_view file);

}  // namespace octavo

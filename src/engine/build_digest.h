// The digest of the compiled objects that decide an answer's bits, as the build has written it. Any thread.
#pragma once

#include <string_view>

namespace octavo {

/// 32 hexadecimal digits. The program, the shared library and everything else that is linked of one build's objects
/// have the same.
std::string_view build_digest();

}  // namespace octavo

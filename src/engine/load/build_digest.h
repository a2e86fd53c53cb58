// The digests of what decides an answer's bits, as the build has written it: of sources and options in a build for any
// processor, of compiled objects in others (cmake/build_digest.cmake). Any thread.
#pragma once

#include <string_view>

namespace octavo {

/// 32 hexadecimal digits. The program, the shared library and everything else of one build have the same; so have
/// builds for any processor of the same sources, such as that of the Python wheel.
std::string_view build_digest();

/// 32 hexadecimal digits over the sources alone, for bits that do not depend on what compiles them.
std::string_view source_digest();

}  // namespace octavo

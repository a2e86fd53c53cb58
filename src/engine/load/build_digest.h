// Digests of what decides an answer's bits, written by the build: in a build for any processor of sources and options,
// in others of compiled objects (cmake/build_digest.cmake). Any thread.
#pragma once

#include <string_view>

namespace octavo {

/// 32 hexadecimal digits. All binaries of one build share them; so do all builds for any processor of the same sources,
/// such as that of the Python wheel.
std::string_view build_digest();

/// 32 hexadecimal digits of the sources alone, for bits that do not depend on the compiler.
std::string_view source_digest();

}  // namespace octavo

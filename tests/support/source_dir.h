#pragma once

#include <string>

namespace octavo::test {

/// The repository's root, absolute. One unit alone is compiled with it, so that a checkout in another folder finds all
/// others in the compiler's cache.
std::string source_dir();

}  // namespace octavo::test

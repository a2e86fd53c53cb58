// The version of the library. CMakeLists.txt reads the three numbers from this header.
//
//     #if OCTAVO_VERSION >= 200   // 0.2.0 or later
//
// Before 1.0 a minor version may change the interface.
#pragma once

#define OCTAVO_VERSION_MAJOR 0
#define OCTAVO_VERSION_MINOR 1
#define OCTAVO_VERSION_PATCH 0

/// The version as one number that grows with each release; minor and patch stay below 100.
#define OCTAVO_VERSION (OCTAVO_VERSION_MAJOR * 10000 + OCTAVO_VERSION_MINOR * 100 + OCTAVO_VERSION_PATCH)

#define OCTAVO_VERSION_TEXT_INNER(major, minor, patch) #major "." #minor "." #patch
#define OCTAVO_VERSION_TEXT(major, minor, patch) OCTAVO_VERSION_TEXT_INNER(major, minor, patch)
/// The version as a text: "0.1.0".
#define OCTAVO_VERSION_STRING OCTAVO_VERSION_TEXT(OCTAVO_VERSION_MAJOR, OCTAVO_VERSION_MINOR, OCTAVO_VERSION_PATCH)

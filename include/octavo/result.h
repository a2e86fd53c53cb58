// Result<T>: a value, or one Error whose message a person can act on.
//
// Every fallible function of the library returns a Result. The library never
// throws across its public border, never prints and never exits.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace octavo {

/// What went wrong: the file, key, offset or field; what was found; what was expected.
struct Error {
  std::string message;
};

template <class T>
using Result = std::expected<T, Error>;

}  // namespace octavo

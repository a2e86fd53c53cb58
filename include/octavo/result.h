// Result<T>: a value, or one Error whose message a person can act on.
//
// Every fallible function of the library returns a Result. The library never
// throws across its public border, never prints and never exits.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace octavo {

/// Kinds of errors about which a caller may do more than show them.
enum class ErrorKind : std::uint8_t {
  kOther,
  kContextOverflow,  // a prompt, or a prompt and max_tokens, beyond the context
  kQueueFull,        // as many requests wait as may; later there is room again
  kDraining,         // no further request is taken
  kOutOfMemory,      // the system has no memory for what was asked
  kOutOfBlocks,      // the KV memory has too few free blocks; there are more when others give some back
  kStopped,          // whoever asked for it wants it no more
  kNoWords,          // the model's words are missing or of an unknown kind: it knows token ids only
};

/// An error in words: the file, key, offset or field; what was found; what was expected.
struct Error {
  std::string message = {};
  ErrorKind kind = ErrorKind::kOther;
};

template <class T>
using Result = std::expected<T, Error>;

}  // namespace octavo

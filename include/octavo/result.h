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

/// The kinds of errors about which a caller may do more than show them.
enum class ErrorKind : std::uint8_t {
  kOther,
  kContextOverflow,  // a prompt, or a prompt with max_tokens, is longer than the context
  kQueueFull,        // no further request may wait now; later there may be room again
  kDraining,         // no further request is taken
  kOutOfMemory,      // the system has no memory for the call
  kOutOfBlocks,      // the KV memory has too few free blocks until others give some back
  kStopped,          // the caller asked for a stop
  kNoWords,          // the model's vocabulary is missing or of an unknown kind: only token ids are known
  kInvalidPicture,   // bytes that are no picture, are of another format, or are damaged
  kPictureTooLarge,  // a picture is beyond a limit of bytes, pixels or tokens
};

/// An error in words: the file, key, offset or field, then the finding and the expectation.
struct Error {
  std::string message = {};
  ErrorKind kind = ErrorKind::kOther;
};

template <class T>
using Result = std::expected<T, Error>;

}  // namespace octavo

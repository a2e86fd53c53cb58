// The bounds on the cost of reading a JSON text. Every reader has bounds of this one type: those below, or others by
// name where a file or an answer of the hub needs more or less.
//
// Boost.JSON finds a member of an object of more than 18 by a hash whose salt is the table's address. Only the low byte
// of the salt counts for keys of equal length: keys that all collide can be made without knowing it, and a table of n
// such keys costs n²/2 comparisons. So the members of an object are counted before its table is built, and the values
// of a text before memory is taken for them. A reader that builds no tables has no use for bounds on members.
#pragma once

#include <cstddef>
#include <limits>

namespace octavo {

/// The most that a JSON text may be nested, unless a reader says otherwise.
inline constexpr std::size_t kMaxJsonDepth = 32;

struct JsonLimits {
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max();   // the bytes of the text
  std::size_t max_values = std::numeric_limits<std::size_t>::max();  // the values and the members of the text
  std::size_t max_depth = kMaxJsonDepth;
  /// The members of one object; the largest useful object of a request is a logit_bias of 1024. With the two bounds
  /// below, the worst body costs 8192 * 1024 / 2 comparisons: eight objects, measured at 3.6 ms each on a Zen 5.
  std::size_t max_members = 1024;
  std::size_t max_table_members = 8192;  // the members of all objects that are large enough to have a table
  std::size_t max_key_bytes = 256;       // the bytes of one name: a comparison takes as long as the names are
  /// The memory of the values, in bytes. A body of token ids takes 3 to 5 times its size; "[[1],[1],...", 24 times.
  std::size_t max_memory_bytes = std::size_t{64} << 20;
};

}  // namespace octavo

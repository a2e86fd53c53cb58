// How far attention looks back.
#pragma once

#include <algorithm>
#include <cstdint>

namespace octavo {

/// The first position that the row at `position` sees. `window`: so many positions up to its own; 0: all of them.
/// `is_chunked`: positions lie in chunks of `window`, and a row sees those of its own chunk.
constexpr std::int64_t first_seen(std::int64_t position, int window, bool is_chunked) {
  if (window == 0) return 0;
  return is_chunked ? position - position % window : std::max<std::int64_t>(0, position - window + 1);
}

}  // namespace octavo

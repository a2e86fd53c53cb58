#include "model/content_hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace octavo {

ContentHash hash_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

std::string hex_of(const ContentHash& hash) { return fmt::format("{:016x}{:016x}", hash.high, hash.low); }

}  // namespace octavo

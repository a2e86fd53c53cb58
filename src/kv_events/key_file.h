// A file with the key of the hashes of blocks, which the replicas of a fleet share. A free function; any thread.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "octavo/kv/prefix_cache.h"

namespace octavo {

/// Reads a key of 16 bytes, or of 32 hexadecimal digits and perhaps white space behind them. Errors: there is no such
/// file, others than its owner may read or write it, it has another form.
Result<BlockHashKey> read_block_hash_key(const std::filesystem::path& file);

}  // namespace octavo

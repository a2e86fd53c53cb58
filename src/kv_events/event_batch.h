// Events about KV blocks, as vLLM publishes them since 0.24: a batch is the array [time, events, rank], an event a map
// with its name under "type".
//
// Values and a free function without state; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "octavo/token.h"

namespace octavo {

/// Blocks that can be found, each after the one before it.
struct StoredRun {
  std::vector<std::uint64_t> hashes = {};
  std::optional<std::uint64_t> parent = {};  // of the first; none: it is the first of its chain
  std::vector<TokenId> tokens = {};          // [blocks][block_size]
};

/// What has changed, in this order.
struct BlockChanges {
  bool are_cleared = false;  // all earlier blocks are gone
  std::vector<std::uint64_t> removed = {};
  std::vector<StoredRun> stored = {};

  bool is_empty() const { return !are_cleared && removed.empty() && stored.empty(); }
};

/// The batch in MessagePack. `time_s`: since 1970.
std::string event_batch(const BlockChanges& changes, int block_size, double time_s);

}  // namespace octavo

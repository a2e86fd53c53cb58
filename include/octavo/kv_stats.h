// The counts of a KV memory: blocks, tokens, bytes.
#pragma once

#include <cstdint>
#include <string>

namespace octavo {

struct KvStats {
  int blocks_total = 0, blocks_free = 0, blocks_cached = 0, blocks_referenced = 0;  // in all groups
  std::int64_t tokens = 0;             // leading tokens that are written and held; shared ones count in each sequence
  int checkpoints = 0;                 // recurrent states that are kept after published blocks
  std::uint64_t hits = 0, misses = 0;  // tokens that attach_prefix() found, and tokens that it did not find
  std::uint64_t evictions = 0;         // cached blocks whose contents were given up
  std::uint64_t copies = 0;            // blocks copied on write
  std::uint64_t arena_bytes = 0;       // the size of the one allocation, up to which the memory can grow
  std::uint64_t resident_bytes = 0;    // blocks that were handed out and whose memory was not given back since
  std::uint64_t referenced_bytes = 0;  // the bytes of blocks that sequences hold
  double mean_run_blocks = 0;          // the mean number of held blocks in a row in memory; 0: none is held
  /// The counts in one line, for people.
  std::string summary() const;
};

}  // namespace octavo

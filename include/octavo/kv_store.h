// Prefixes that outlive the process: the settings of the directory that keeps them, and the counts of its use.
// docs/kv_store.md tells what lies there.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace octavo {

struct KvStoreSettings {
  std::filesystem::path folder = {};             // mode 0700, made where it is missing; empty: nothing is kept
  std::uint64_t max_bytes = 0;                   // the most bytes of all its files, other models' included; 0: no bound
  std::optional<std::chrono::seconds> ttl = {};  // the life of a file after its last use; none: for ever
  double min_compute_s = 1;  // what takes less time to compute again is not kept; 0: all is kept, and read wherever it
                             // is found, even where computing would be faster
  double write_share = kWriteShare;  // the processor time of writes while requests are computed, in seconds of one
                                     // processor a second; what would take more is not kept
  std::function<void(const std::string&)> on_warning = {};  // gets messages; called on one of the store's threads

  static constexpr double kWriteShare = 0.005;
};

/// The store's counts since the engine was loaded.
struct KvStoreCounts {
  std::uint64_t hits = 0, misses = 0, corrupt = 0;  // reads that gave blocks, reads that did not, damaged files
  std::uint64_t writes = 0, evictions = 0;          // files written, files removed
  std::uint64_t refused = 0;                        // writes for which there was no time, no room or no disk
  std::uint64_t bytes = 0;                          // the bytes of all files of the directory, as far as known
  std::uint64_t read_bytes = 0, written_bytes = 0;
  double read_s = 0, write_s = 0;
  double predicted_read_s = 0;  // the time that the successful reads were expected to take
  double write_cpu_s = 0;       // the processor time of writes
};

}  // namespace octavo

// The files of one address, as far as they are known, and the room that those of all addresses have.
//
// An index in memory says which blocks lie in which file. It follows the directory, in which other processes write and
// remove files too: look_over() learns what is new, forgets what is gone, and removes what is too old or too much. The
// lock is held for look-ups in the index, never for a call to the disk. Any thread.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kv_store/kv_store.h"
#include "kv_store/run_file.h"
#include "kv_store/run_index.h"
#include "kv_store/store_folder.h"

namespace octavo {

class StoreFiles {
 public:
  /// `address`: the whole text.
  StoreFiles(KvStoreOptions options, StoreFolder folder, std::string address, const StateLayout& layout);
  StoreFiles(const StoreFiles&) = delete;
  StoreFiles& operator=(const StoreFiles&) = delete;

  KvStore::Found find(std::span<const BlockHash> chain, int known, int most) const;
  /// What is left to write of a prefix: from `first` on; nothing where all of it is there.
  struct Plan {
    bool is_needed = false;
    int first = 0;
  };
  Plan plan_write(const PrefixName& prefix) const;
  /// The bytes of the blocks that a prefix of `end` blocks has beside the first `known` ones.
  std::uint64_t bytes_between(int known, int end) const;
  /// A block, and the file that it is read from.
  struct Need {
    BlockHash file = {};
    HeldBlock held = {};
  };
  /// The files of blocks of a prefix, those of one file together; nothing: one of them is in none.
  std::vector<Need> files_of(const PrefixName& prefix, std::span<const HeldBlock> blocks) const;

  /// Opens the file of a prefix of this address.
  RunResult<RunFile> open(const BlockHash& end, const PrefixName& prefix) const;
  /// A file that cannot be read is not found any more; a damaged one is removed and counted.
  void blame(const BlockHash& end, const RunError& error);
  /// Learns of a file that another process has written.
  void learn_if_there(const BlockHash& end);
  /// The head of the file that a prefix is to be written in, when there is room for it.
  RunHeader header_of(const PrefixName& prefix) const;
  /// The path of a file that is to be written, with the folders for it; none: they cannot be made, or it has no room.
  std::optional<std::filesystem::path> place_for(const RunHeader& header);
  /// A file has been written.
  void add(const RunHeader& header);
  /// A prefix is used, in all of its files.
  void touch(const PrefixName& prefix);

  /// Knows what the latest index says, until look_over() has looked. False: there is none that can be used.
  bool load_index();
  /// Writes the index where much of it is new: for whoever starts next.
  void save_index(bool is_end);
  /// False: a pause ended it, or it failed.
  bool look_over(const Pause& pause);
  void make_room(std::uint64_t bytes, const Pause& pause);

  /// Says something to people, at most once a minute.
  void warn(const std::string& message);
  /// Damaged files, removed ones, and the bytes of all that are there.
  void put_counts(KvStoreCounts& counts) const;

 private:
  using Clock = std::chrono::steady_clock;

  RunResult<RunFile> open(const BlockHash& end) const;
  bool learn(const BlockHash& end, std::int64_t used_s);
  void forget_unlisted(const StoreListing& listing);
  void evict(std::span<const StoredFile> files, const Pause& pause);
  std::uint64_t bytes() const;
  void set_bytes(std::uint64_t bytes);

  const KvStoreOptions options_;
  const StoreFolder folder_;
  const std::string address_;
  const AddressDigest digest_;
  const StateLayout layout_;
  const bool ends_alone_, has_all_blocks_;

  mutable std::mutex mutex_;
  RunIndex index_;
  std::size_t num_new_ = 0;  // files that came or went since the index was written
  std::uint64_t corrupt_ = 0, evictions_ = 0, bytes_ = 0;

  std::mutex warning_;  // held while somebody is told
  std::optional<Clock::time_point> warned_;
};

}  // namespace octavo

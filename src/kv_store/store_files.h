// The files of one address, as far as they are known, and the limit on the bytes of all addresses' files.
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
  /// `address`: the whole text of the address.
  StoreFiles(KvStoreOptions options, StoreFolder folder, std::string address, const StateLayout& layout);
  StoreFiles(const StoreFiles&) = delete;
  StoreFiles& operator=(const StoreFiles&) = delete;

  KvStore::Found find(std::span<const BlockHash> chain, int known, int most) const;
  /// The part of a prefix that is left to write: from block `first` on; nothing where all of it is stored.
  struct Plan {
    bool is_needed = false;
    int first = 0;
  };
  Plan plan_write(const PrefixName& prefix) const;
  /// The bytes of the blocks of a prefix of `end` blocks after its first `known` ones.
  std::uint64_t bytes_between(int known, int end) const;
  /// A block, and the file from which it is read.
  struct Need {
    BlockHash file = {};
    HeldBlock held = {};
  };
  /// The files of a prefix's blocks, the blocks of one file together; empty: a block is in no file.
  std::vector<Need> files_of(const PrefixName& prefix, std::span<const HeldBlock> blocks) const;

  /// Opens the file that ends with block `end` and is of this prefix and address.
  RunResult<RunFile> open(const BlockHash& end, const PrefixName& prefix) const;
  /// Forgets a file that cannot be read; a damaged one is also removed and counted.
  void blame(const BlockHash& end, const RunError& error);
  /// Adds a file that another process has written, if it exists.
  void learn_if_there(const BlockHash& end);
  /// The header of the file in which a prefix is to be written, without checksums.
  RunHeader header_of(const PrefixName& prefix) const;
  /// Makes the folders for a file that is to be written and gives its path; none: no folders or no room.
  std::optional<std::filesystem::path> place_for(const RunHeader& header);
  /// Adds a file that has been written.
  void add(const RunHeader& header);
  /// Marks all files of a prefix as used.
  void touch(const PrefixName& prefix);

  /// Loads the latest index, which holds until look_over() has looked. False: there is no usable index.
  bool load_index();
  /// Writes the index for the next program that starts, if much in it is new.
  void save_index(bool is_end);
  /// Follows what other processes did in the directory. False: a pause ended it, or it failed.
  bool look_over(const Pause& pause);
  void make_room(std::uint64_t bytes, const Pause& pause);

  /// Tells people a message, at most once a minute.
  void warn(const std::string& message);
  /// Sets the numbers of damaged and removed files, and the bytes of all files.
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
  std::size_t num_new_ = 0;  // files added or removed since the index was written
  std::uint64_t corrupt_ = 0, evictions_ = 0, bytes_ = 0;

  std::mutex warning_;  // held while a message is told
  std::optional<Clock::time_point> warned_;
};

}  // namespace octavo

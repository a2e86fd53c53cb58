// What is known of the files of one address: which blocks lie in which file, and where runs end.
//
// An open hash table of 24 bytes an entry, at most five eighths full. A file that is forgotten leaves its entries until
// they are as many as those of the others; so the memory is bounded by what is known. Not more than kMaxBlocks blocks
// and kMaxFiles files are. Plain values; whoever shares an index between threads locks it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "kv_store/run_header.h"

namespace octavo {

/// Hashes of chains are keyed: one half of them is as good as any hash of the whole.
struct BlockHashHasher {
  std::size_t operator()(const BlockHash& hash) const { return hash.low; }
};

class RunIndex {
 public:
  struct File {
    BlockHash end = {};  // its name
    std::uint32_t num_blocks = 0;
    std::uint64_t bytes = 0;
    std::int64_t used_s = 0;  // seconds since 1970 of the latest use that its time was set for
    bool is_known = false;    // false: it was forgotten
  };

  static constexpr std::size_t kMaxBlocks = std::size_t{1} << 22;
  static constexpr std::size_t kMaxFiles = std::size_t{1} << 20;

  /// A file of this name takes the place of an older one. False: there is no room for more.
  bool add(const RunHeader& header, std::int64_t used_s);
  bool add(File file, std::span<const BlockHash> hashes);
  /// Makes room for so many blocks more, so that they are added sooner.
  void reserve(std::size_t num_blocks);
  void forget(const BlockHash& end);

  /// The file that has a block; nullptr: none has. It stays where it is until the next add() or forget().
  File* file_with(const BlockHash& block);
  const File* file_with(const BlockHash& block) const;
  /// The file whose run ends with a block; nullptr: none does.
  File* file_ending(const BlockHash& end);
  const File* file_ending(const BlockHash& end) const;

  std::size_t num_files() const { return ends_.size(); }
  /// The names of all files.
  std::vector<BlockHash> ends() const;
  /// All files, and the blocks that are found in the first of them, then those of the second one, and so on.
  struct Contents {
    std::vector<File> files = {};  // their num_blocks say how many each has
    std::vector<BlockHash> hashes = {};
  };
  Contents contents() const;

 private:
  struct Entry {
    BlockHash hash = {};
    std::uint32_t file = kNone;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  bool make_room(std::size_t num_blocks);
  void rebuild(std::size_t num_entries);
  void insert(const BlockHash& hash, std::uint32_t file);
  std::uint32_t find(const BlockHash& hash) const;

  std::vector<File> files_;
  std::unordered_map<BlockHash, std::uint32_t, BlockHashHasher> ends_;
  std::vector<Entry> entries_;    // a power of two, or none
  std::size_t used_entries_ = 0;  // those of forgotten files with them
  std::size_t known_blocks_ = 0;
};

}  // namespace octavo

// What is known about the files of one address: which blocks lie in which file, and where runs end.
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

/// The hash of a block's hash: chains are hashed with a key, so half of the bits is as good as any hash of the whole.
struct BlockHashHasher {
  std::size_t operator()(const BlockHash& hash) const { return hash.low; }
};

class RunIndex {
 public:
  struct File {
    BlockHash end = {};  // the hash that names it
    std::uint32_t num_blocks = 0;
    std::uint64_t bytes = 0;
    std::int64_t used_s = 0;  // the latest use that its file's time was set to, in seconds since 1970
    bool is_known = false;    // false: the file was forgotten
  };

  static constexpr std::size_t kMaxBlocks = std::size_t{1} << 22;
  static constexpr std::size_t kMaxFiles = std::size_t{1} << 20;

  /// Adds a file, in place of an older one of that name. False: there is no room for more.
  bool add(const RunHeader& header, std::int64_t used_s);
  bool add(File file, std::span<const BlockHash> hashes);
  /// Makes room for `num_blocks` more blocks, so that adding them is quicker.
  void reserve(std::size_t num_blocks);
  void forget(const BlockHash& end);

  /// The file that has a block; nullptr: no file has it. The pointer is valid until the next add() or forget().
  File* file_with(const BlockHash& block);
  const File* file_with(const BlockHash& block) const;
  /// The file whose run ends with a block; nullptr: there is none.
  File* file_ending(const BlockHash& end);
  const File* file_ending(const BlockHash& end) const;

  std::size_t num_files() const { return ends_.size(); }
  /// The names of all files.
  std::vector<BlockHash> ends() const;
  /// All files, and the blocks that are found in the first file, then those in the second one, and so on.
  struct Contents {
    std::vector<File> files = {};  // num_blocks of each is the number of its blocks here
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
  std::vector<Entry> entries_;    // [a power of two, or 0]
  std::size_t used_entries_ = 0;  // includes entries of forgotten files
  std::size_t known_blocks_ = 0;
};

}  // namespace octavo

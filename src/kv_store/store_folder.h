// The directory of a store: its key, its addresses and their files. docs/kv_store.md has what lies where.
//
// Prompts lie in it, and who can write in it can change answers: it is refused where others can. A value with a path;
// any thread, and any number of processes in one directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv_store/run_file.h"

namespace octavo {

/// A run file of any address.
struct StoredFile {
  AddressDigest address = {};
  BlockHash end = {};  // its name
  std::uint64_t bytes = 0;
  std::int64_t used_s = 0;   // seconds since 1970
  std::int64_t used_ns = 0;  // after those
  bool is_outdated = false;  // its address is: another build computes for that model now
};

/// All files of a directory.
struct StoreListing {
  std::vector<StoredFile> files = {};  // at most kMaxFiles
  std::uint64_t bytes = 0;             // of all, unfinished ones with them
  bool is_complete = true;             // it was not ended by a pause

  static constexpr std::size_t kMaxFiles = std::size_t{1} << 20;
};

class StoreFolder {
 public:
  /// The directory is made where it is missing. Errors: it is open to others, is no directory, cannot be made.
  static Result<StoreFolder> open(const std::filesystem::path& path);
  /// A directory that is there.
  static Result<StoreFolder> open_existing(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// The key of all chains: the one that is there, or a new one. Errors: it is open to others, has another size, cannot
  /// be made.
  Result<BlockHashKey> key() const;
  /// Makes the folder of an address, with its text, unless it is there; and says that it is used.
  Result<void> add_address(const AddressDigest& address, std::string_view text) const;
  /// Somebody computes with it now.
  void use_address(const AddressDigest& address) const;
  /// The text of an address, as much of it as people want to see; empty where there is none. Its first line is the
  /// model's name, the second one what computes, and the last one the version of files.
  std::string address_text(const AddressDigest& address) const;
  /// Where the file of a run lies, and a call that makes the folder for it.
  std::filesystem::path run_path(const AddressDigest& address, const BlockHash& end) const;
  Result<void> make_folder_of(const std::filesystem::path& run) const;

  /// Puts the bytes of an index in the place of those that an address has.
  Result<void> put_index(const AddressDigest& address, std::span<const std::byte> bytes) const;
  /// Errors: there is none, or it is larger than one can be.
  Result<std::string> index_of(const AddressDigest& address) const;

  /// Lists all files; asks `pause` now and then. Files that nobody has finished within an hour are removed.
  StoreListing list(const Pause& pause) const;
  /// The addresses that have a folder.
  std::vector<AddressDigest> addresses() const;
  /// False: it could not be removed and is there still.
  bool remove(const StoredFile& file) const;
  /// Removes the folders of an address that have no file.
  void remove_if_empty(const AddressDigest& address) const;

 private:
  explicit StoreFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path folder_of(const AddressDigest& address) const;
  void list_address(const AddressDigest& address, bool is_outdated, const Pause& pause, StoreListing& listing) const;
  std::vector<AddressDigest> outdated(std::span<const AddressDigest> addresses) const;

  std::filesystem::path path_;
};

/// Files that are to go: all that were used before `used_before_s`, and as many others as it takes until the others
/// have at most `max_bytes`, outdated ones first, then those whose use is longest ago. `bytes` is what all have
/// together.
std::vector<StoredFile> choose_oldest(std::span<const StoredFile> files, std::uint64_t bytes,
                                      std::optional<std::uint64_t> max_bytes,
                                      std::optional<std::int64_t> used_before_s);

/// Seconds since 1970.
std::int64_t now_s();

}  // namespace octavo

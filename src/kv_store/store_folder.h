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
  BlockHash end = {};  // the hash that names it
  std::uint64_t bytes = 0;
  std::int64_t used_s = 0;   // the latest use, in seconds since 1970
  std::int64_t used_ns = 0;  // the nanoseconds after those seconds
  bool is_outdated = false;  // whether another build now computes for its address's model
};

/// All files of a directory.
struct StoreListing {
  std::vector<StoredFile> files = {};  // at most kMaxFiles of them
  std::uint64_t bytes = 0;             // the bytes of all files, unfinished ones included
  bool is_complete = true;             // false: a pause ended the listing

  static constexpr std::size_t kMaxFiles = std::size_t{1} << 20;
};

class StoreFolder {
 public:
  /// Opens the directory, and makes it where it is missing. Errors: it is open to other users, is no directory, or
  /// cannot be made.
  static Result<StoreFolder> open(const std::filesystem::path& path);
  /// Opens a directory that exists.
  static Result<StoreFolder> open_existing(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// The key of all chains, which is made if it is missing. Errors: it is open to other users, has another size, or
  /// cannot be made.
  Result<BlockHashKey> key() const;
  /// Makes the folder of an address, with its text, unless it exists, and marks it as used.
  Result<void> add_address(const AddressDigest& address, std::string_view text) const;
  /// Marks an address as used now.
  void use_address(const AddressDigest& address) const;
  /// The text of an address, as much of it as people want to see; empty where there is none. Its first line is the
  /// model's name, the second one the build that computes, and the last one the version of files.
  std::string address_text(const AddressDigest& address) const;
  /// The path of a run's file, and a call that makes the folder for it.
  std::filesystem::path run_path(const AddressDigest& address, const BlockHash& end) const;
  Result<void> make_folder_of(const std::filesystem::path& run) const;

  /// Replaces the index of an address.
  Result<void> put_index(const AddressDigest& address, std::span<const std::byte> bytes) const;
  /// The bytes of the index. Errors: there is none, or it is larger than an index can be.
  Result<std::string> index_of(const AddressDigest& address) const;

  /// Lists all files; asks `pause` now and then. Files left unfinished for an hour are removed.
  StoreListing list(const Pause& pause) const;
  /// The addresses that have a folder.
  std::vector<AddressDigest> addresses() const;
  /// Removes a file. False: it could not be removed and still exists.
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

/// The files to remove: all last used before `used_before_s`, and as many others as it takes until at most `max_bytes`
/// are left, outdated ones first, then the least recently used. `bytes` is the size of all files together.
std::vector<StoredFile> choose_oldest(std::span<const StoredFile> files, std::uint64_t bytes,
                                      std::optional<std::uint64_t> max_bytes,
                                      std::optional<std::int64_t> used_before_s);

/// The time now, in seconds since 1970.
std::int64_t now_s();

}  // namespace octavo

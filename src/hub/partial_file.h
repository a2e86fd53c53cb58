// A file that is being fetched. It has a name of its own until all of it is there and its hash is right; whoever is cut
// off finds what was there the next time. One owner, who holds the file's lock; one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "hub/digest.h"

namespace octavo::hub {

class PartialFile {
 public:
  /// Opens or makes the file, and hashes the bytes that are there. More than `max_bytes` are no beginning of the file
  /// and are dropped. A stop that is asked for is an error.
  static Result<PartialFile> open(const std::filesystem::path& path, std::string hash, std::uint64_t max_bytes,
                                  const std::stop_token& stop = {});

  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();

  std::uint64_t size() const { return size_; }
  /// Whether some bytes are from an earlier time.
  bool is_resumed() const { return is_resumed_; }

  /// Appends bytes. Error: the disk is full or fails.
  Result<void> append(std::span<const std::byte> bytes);
  /// Drops the bytes that are there.
  Result<void> restart();
  /// Whether the hash is right. Nothing may be appended after that.
  bool has_right_hash();
  /// Gives the file its name, once the file is on the disk.
  Result<void> rename_to(const std::filesystem::path& path) const;

 private:
  PartialFile(std::filesystem::path path, std::string hash, std::uint64_t max_bytes);
  Result<void> hash_present(const std::stop_token& stop);

  std::filesystem::path path_;
  std::string hash_;
  Digest digest_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
  bool is_resumed_ = false;
};

}  // namespace octavo::hub

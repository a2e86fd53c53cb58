// Fetches one file: continues where an earlier attempt was cut off, tries again where that may help, and gives the file
// its name once its hash is right.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "hub/hub_client.h"

namespace octavo::hub {

struct FileWanted {
  std::string url;
  std::string hash;                    // 64 or 40 hexadecimal digits (digest.h)
  std::optional<std::uint64_t> size;   // none: the server knows it
  std::filesystem::path path;          // the path of the file, when it is there
  std::filesystem::path partial_path;  // the name while it is fetched, in the same folder
  std::filesystem::path lock_path;
};

/// Gets the number of bytes that are there and the number of all, 0 where that is not known yet. It is called before
/// each attempt, and when further bytes come.
using FileProgress = std::function<void(std::uint64_t done, std::uint64_t size)>;

/// Fetches a file that is not there yet. Two processes that want the same file fetch it once. Errors: the hub's answer;
/// another hash or length than expected; no room on the disk.
Result<void> fetch_file(HubClient& client, const FileWanted& wanted, const Say& say, const FileProgress& progress);

/// Error: the disk of `folder` has too little room, with both numbers.
Result<void> check_room(const std::filesystem::path& folder, std::uint64_t bytes);

}  // namespace octavo::hub

// What people do with the directory of a store, whether programs use it or not: look at it, make room, and forget.
//
// Files are removed under the programs that know them, for whom they are misses then. Free functions; any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace octavo {

/// The files of one domain at one address.
struct StoredDomain {
  std::string address_digest = {};  // 32 digits: the name of the address's folder
  std::string address = {};         // the address's text
  std::string domain = {};
  std::uint64_t files = 0, blocks = 0, tokens = 0, bytes = 0;
  std::int64_t used_s = 0, oldest_s = 0;  // the latest use of any file, and the latest use of the least recently used
                                          // longest ago
};

struct Housekeeping {
  std::uint64_t files = 0, bytes = 0;  // what was removed
  std::uint64_t files_left = 0, bytes_left = 0;
};

/// The files in the directory by address and domain; files that no program could read have no domain and no blocks.
/// Errors: the directory is missing or open to other users, as in the next two functions.
Result<std::vector<StoredDomain>> list_store(const std::filesystem::path& folder);
/// Removes the files last used before `used_before_s`, then the least recently used ones until `max_bytes` are left.
Result<Housekeeping> make_room_in_store(const std::filesystem::path& folder, std::optional<std::uint64_t> max_bytes,
                                        std::optional<std::int64_t> used_before_s);
/// Removes the files that are of this domain and were last used before `used_before_s`; a condition that is not given
/// holds for all files.
Result<Housekeeping> purge_store(const std::filesystem::path& folder, const std::optional<std::string>& domain,
                                 std::optional<std::int64_t> used_before_s);

}  // namespace octavo

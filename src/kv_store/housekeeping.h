// What people do with the directory of a store while programs use it or not: look at it, make room, forget.
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
  std::string address_digest = {};  // 32 digits, the name of the address's folder
  std::string address = {};         // its text
  std::string domain = {};
  std::uint64_t files = 0, blocks = 0, tokens = 0, bytes = 0;
  std::int64_t used_s = 0, oldest_s = 0;  // seconds since 1970 of the latest use of any file and of the one that is
                                          // longest ago
};

struct Housekeeping {
  std::uint64_t files = 0, bytes = 0;  // that were removed
  std::uint64_t files_left = 0, bytes_left = 0;
};

/// What is there, by address and domain; files that no program could read have no domain and no blocks. Errors: the
/// directory is missing or open to others; as of the next two.
Result<std::vector<StoredDomain>> list_store(const std::filesystem::path& folder);
/// Removes what was used before `used_before_s`, and then what was used longest ago, until `max_bytes` are left.
Result<Housekeeping> make_room_in_store(const std::filesystem::path& folder, std::optional<std::uint64_t> max_bytes,
                                        std::optional<std::int64_t> used_before_s);
/// Removes what is of this domain and was used before `used_before_s`; what is not given is not asked for.
Result<Housekeeping> purge_store(const std::filesystem::path& folder, const std::optional<std::string>& domain,
                                 std::optional<std::int64_t> used_before_s);

}  // namespace octavo

// What a repository of the hub holds: the answer of /api/models/ORG/REPO/revision/main?blobs=true. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo::hub {

struct ListingLimits {
  static constexpr std::size_t kBytes = std::size_t{16} << 20;  // the most bytes of the answer
  static constexpr std::size_t kValues = 1U << 20;              // the most values of an answer; a file has about ten
  static constexpr std::size_t kFiles = 1U << 16;
  static constexpr std::uint64_t kFileBytes = std::uint64_t{1} << 44;
};

struct RepoFile {
  std::string path;        // the path inside the repository, which is safe inside a folder
  std::uint64_t size = 0;  // in bytes
  std::string hash = {};   // 64 or 40 hexadecimal digits (digest.h)
};

struct Listing {
  std::string commit;           // 40 or 64 hexadecimal digits
  std::vector<RepoFile> files;  // files that are safe, and have a size and a hash, in their order
};

/// Reads an answer. Error: no JSON, no repository, or more than ListingLimits, with the finding.
Result<Listing> parse_listing(std::string_view text);

}  // namespace octavo::hub

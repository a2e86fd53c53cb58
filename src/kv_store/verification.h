// What lies in a directory beside what somebody computes again: a sample of its files, with all that is needed to do
// so.
//
// Free functions; any thread. Files may go meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv_store/run_header.h"

namespace octavo {

struct SampledRun {
  RunHeader header;
  std::vector<TokenId> tokens;  // of the prefix from its beginning to the end of the run
  bool has_pictures = false;    // among its rows
};

struct StoreSample {
  std::vector<SampledRun> runs;
  std::uint64_t files = 0;       // of the address
  std::uint64_t damaged = 0;     // of the sample: their bytes have other checksums, or they cannot be read
  std::uint64_t incomplete = 0;  // of the sample: what they go on from is not there
  std::uint64_t seeing = 0;      // of the sample: with pictures, of which the directory has names alone
};

/// The one address of a directory that somebody has just begun. Errors: it has none or several.
Result<AddressDigest> only_address(const std::filesystem::path& folder);
/// Chooses `most` files of an address at random; 0: all. Errors: the directory is missing or open to others, or it has
/// nothing at this address.
Result<StoreSample> sample_store(const std::filesystem::path& folder, const AddressDigest& address, std::size_t most);
/// The run of a domain in a directory; none: there is none whose prefix has so many blocks.
std::optional<RunHeader> find_run(const std::filesystem::path& folder, const AddressDigest& address,
                                  std::string_view domain, std::uint32_t end);

struct ComparedBlocks {
  std::uint64_t compared = 0, different = 0;  // of all groups, and states
};
/// The blocks of a run beside those of another run of the same tokens, by their checksums. What the other one does not
/// have is not compared.
ComparedBlocks compare_runs(const RunHeader& run, const RunHeader& other);

}  // namespace octavo

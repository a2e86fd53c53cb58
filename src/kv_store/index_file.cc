#include "kv_store/index_file.h"

#include <array>
#include <cstring>
#include <type_traits>

#include "base/to_size.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace octavo {
namespace {

constexpr std::array<char, 8> kMagic = {'O', 'c', 't', 'a', 'v', 'o', 'K', 'I'};

struct Fixed {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kIndexVersion, num_files = 0;
  std::uint64_t num_blocks = 0;
  AddressDigest address = {};
};
struct OneFile {
  BlockHash end = {};
  std::uint64_t bytes = 0;
  std::int64_t used_s = 0;
  std::uint32_t num_blocks = 0, zero = 0;
};
static_assert(sizeof(Fixed) == 40 && std::has_unique_object_representations_v<Fixed>);
static_assert(sizeof(OneFile) == 40 && std::has_unique_object_representations_v<OneFile>);

std::uint64_t size_of(std::uint64_t files, std::uint64_t blocks) {
  return sizeof(Fixed) + files * sizeof(OneFile) + blocks * sizeof(BlockHash) + sizeof(std::uint64_t);
}

}  // namespace

std::vector<std::byte> index_bytes(const AddressDigest& address, const RunIndex::Contents& contents) {
  const Fixed fixed{.num_files = static_cast<std::uint32_t>(contents.files.size()),
                    .num_blocks = contents.hashes.size(),
                    .address = address};
  std::vector<std::byte> bytes(size_of(fixed.num_files, fixed.num_blocks));
  std::byte* out = bytes.data();
  const auto put = [&out](const void* data, std::size_t size) {
    if (size > 0) std::memcpy(out, data, size);
    out += size;
  };
  put(&fixed, sizeof(fixed));
  for (const RunIndex::File& file : contents.files) {
    const OneFile one{.end = file.end, .bytes = file.bytes, .used_s = file.used_s, .num_blocks = file.num_blocks};
    put(&one, sizeof(one));
  }
  put(contents.hashes.data(), contents.hashes.size() * sizeof(BlockHash));
  const std::uint64_t checksum = XXH3_64bits(bytes.data(), bytes.size() - sizeof(checksum));
  put(&checksum, sizeof(checksum));
  return bytes;
}

Result<RunIndex> parse_index(std::span<const std::byte> bytes, const AddressDigest& address) {
  Fixed fixed;
  if (bytes.size() < size_of(0, 0)) return fail("it has {} bytes, too few for an index", bytes.size());
  std::memcpy(&fixed, bytes.data(), sizeof(fixed));
  if (fixed.magic != kMagic) return fail("it is no index");
  if (fixed.version != kIndexVersion) return fail("its version is {}, expected {}", fixed.version, kIndexVersion);
  if (fixed.address != address) return fail("it is of another address");
  if (fixed.num_files > RunIndex::kMaxFiles || fixed.num_blocks > RunIndex::kMaxBlocks ||
      bytes.size() != size_of(fixed.num_files, fixed.num_blocks))
    return fail("it has {} bytes for {} files of {} blocks", bytes.size(), fixed.num_files, fixed.num_blocks);
  std::uint64_t checksum = 0;
  const std::size_t checked = bytes.size() - sizeof(checksum);
  std::memcpy(&checksum, bytes.data() + checked, sizeof(checksum));
  if (checksum != XXH3_64bits(bytes.data(), checked)) return fail("its checksum is wrong");

  RunIndex index;
  std::vector<BlockHash> hashes(fixed.num_blocks);
  const std::span<const std::byte> files = bytes.subspan(sizeof(Fixed), fixed.num_files * sizeof(OneFile));
  if (!hashes.empty()) std::memcpy(hashes.data(), files.data() + files.size(), hashes.size() * sizeof(BlockHash));
  index.reserve(hashes.size());
  std::span<const BlockHash> left = hashes;
  for (std::size_t i = 0; i < fixed.num_files; ++i) {
    OneFile one;
    std::memcpy(&one, files.data() + i * sizeof(one), sizeof(one));
    if (one.num_blocks > left.size()) return fail("its files have more blocks than it");
    const bool added =
        index.add({.end = one.end, .bytes = one.bytes, .used_s = one.used_s}, left.first(one.num_blocks));
    if (!added) return fail("its files have too many blocks");
    left = left.subspan(one.num_blocks);
  }
  if (!left.empty()) return fail("its files have fewer blocks than it");
  return index;
}

}  // namespace octavo

// The head of a run file: which blocks of which prefix lie in it, and where. docs/kv_store.md has the format.
//
// What is read is bounded and compared with itself and with the size of the file before anything is made of it, so a
// header that was parsed can be trusted not to lead out of its file. Whether it is the layout's and the prefix's that
// somebody asks for, fits() and is_of() say. Plain values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv/state_layout.h"
#include "kv_store/kv_store.h"

namespace octavo {

/// The first 128 bits of the SHA-256 of an address.
using AddressDigest = std::array<std::byte, 16>;
AddressDigest digest_of(std::string_view address);

inline constexpr std::uint32_t kRunVersion = 2;
inline constexpr std::size_t kMaxDomainBytes = 256;
inline constexpr std::uint64_t kMaxRunHeaderBytes = std::uint64_t{256} << 20;

/// Consecutive blocks of one group.
struct RunGroup {
  std::uint32_t first = 0, count = 0;
  std::uint64_t block_bytes = 0;  // of all layers
};

struct RunHeader {
  AddressDigest address = {};
  std::uint32_t block_size = 0;  // tokens
  std::uint32_t first = 0, end = 0;
  BlockHash root = {}, before = {};  // of the chain; of the block before `first`, or the root
  std::uint64_t snapshot_bytes = 0;  // 0: none is in it
  std::string domain = {};
  std::vector<RunGroup> groups = {};
  std::vector<BlockHash> hashes = {};         // of the blocks first .. end - 1
  std::vector<TokenId> tokens = {};           // [blocks first .. end - 1][block_size]
  std::vector<GivenRows> given = {};          // among these rows, counted from the first of them
  std::vector<std::uint64_t> checksums = {};  // of the payloads, in the order in which they lie in the file

  RowSource rows() const { return {tokens, given}; }
  /// The hash of block end - 1, by which the file is named.
  const BlockHash& last() const { return hashes.empty() ? before : hashes.back(); }
  std::size_t num_payloads() const;
  std::uint64_t header_bytes() const;  // behind which the first payload begins
  std::uint64_t file_bytes() const;

  struct Payload {
    std::size_t number = 0;
    std::uint64_t offset = 0, bytes = 0;
  };
  /// Where block `index` of the prefix lies; after the last group: the snapshot. Number num_payloads(): nowhere.
  Payload payload(int pool, int index) const;

  /// The head of a file with blocks [first, end) of a prefix of whole blocks, without checksums.
  static RunHeader of(const AddressDigest& address, const StateLayout& layout, const PrefixName& prefix, int first);
  /// The bytes of blocks of a layout are as this file has them.
  bool fits(const AddressDigest& wanted, const StateLayout& layout) const;
  /// The rows and hashes are those of a prefix, as far as that goes.
  bool is_of(const PrefixName& prefix) const;
};

/// The first block of a group that a sequence of `end` blocks still sees when it goes on; 0 without a window.
int first_seen(const StateLayout& layout, int group, int end);
/// A prefix can only be used where a run ends: something of it, a window's blocks or a snapshot, stands there alone.
bool ends_alone(const StateLayout& layout);
/// Some group has all blocks.
bool has_group_without_window(const StateLayout& layout);
/// Errors: the contiguous layout, which has no blocks; more than a header can say.
Result<void> check_storable(const StateLayout& layout);

std::vector<std::byte> bytes_of(const RunHeader& header);
/// The number of bytes of a header that begins so, at least kFixedRunBytes of them. Errors: another format or version,
/// more than the file has.
Result<std::size_t> size_of_run_header(std::span<const std::byte> begin, std::uint64_t file_bytes);
inline constexpr std::size_t kFixedRunBytes = 112;
/// Errors: it is damaged, or not that of a file of this size.
Result<RunHeader> parse_run_header(std::span<const std::byte> bytes, std::uint64_t file_bytes);

}  // namespace octavo

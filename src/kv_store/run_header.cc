#include "kv_store/run_header.h"

#include <openssl/evp.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/to_size.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace octavo {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's numbers lie in files as in memory");

constexpr std::array<char, 8> kMagic = {'O', 'c', 't', 'a', 'v', 'o', 'K', 'V'};
constexpr std::uint32_t kMaxBlocks = 1U << 22;
constexpr std::uint32_t kMaxGroups = 1024;
constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t{1} << 40;  // of one block or snapshot
constexpr std::uint64_t kAlignment = 64;

/// The numbers that every header begins with.
struct Fixed {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kRunVersion;
  std::uint32_t num_groups = 0;
  std::uint64_t header_bytes = 0, file_bytes = 0;
  AddressDigest address = {};
  BlockHash root = {}, before = {};
  std::uint32_t first = 0, end = 0;
  std::uint64_t snapshot_bytes = 0;
  std::uint32_t block_size = 0, domain_bytes = 0;
  std::uint32_t num_given = 0, reserved = 0;
};
static_assert(sizeof(Fixed) == kFixedRunBytes && std::has_unique_object_representations_v<Fixed>);
static_assert(sizeof(RunGroup) == 16 && sizeof(BlockHash) == 16 && sizeof(TokenId) == 4 && sizeof(GivenRows) == 44);

/// Puts values at the front and leaves what is behind them.
template <class T>
void put(std::span<std::byte>& out, std::span<const T> values) {
  if (values.empty()) return;
  std::memcpy(out.data(), values.data(), values.size_bytes());
  out = out.subspan(values.size_bytes());
}

/// Takes values off the front; the caller has seen to it that they are there.
template <class T>
void take(std::span<const std::byte>& bytes, std::span<T> values) {
  if (values.empty()) return;
  std::memcpy(values.data(), bytes.data(), values.size_bytes());
  bytes = bytes.subspan(values.size_bytes());
}

/// The bytes of a header with its padding.
std::uint64_t size_of(const Fixed& fixed, std::uint64_t payloads) {
  const std::uint64_t block_bytes = sizeof(BlockHash) + std::uint64_t{fixed.block_size} * sizeof(TokenId);
  const std::uint64_t bytes = sizeof(Fixed) + std::uint64_t{fixed.num_groups} * sizeof(RunGroup) +
                              (fixed.end - fixed.first) * block_bytes + fixed.num_given * sizeof(GivenRows) +
                              payloads * sizeof(std::uint64_t) + fixed.domain_bytes + sizeof(std::uint64_t);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Result<Fixed> check_fixed(std::span<const std::byte> begin, std::uint64_t file_bytes) {
  if (begin.size() < sizeof(Fixed)) return fail("it has {} bytes, too few for a header", begin.size());
  Fixed fixed;
  std::memcpy(&fixed, begin.data(), sizeof(fixed));
  if (fixed.magic != kMagic) return fail("it is no run file");
  if (fixed.version != kRunVersion) return fail("its version is {}, expected {}", fixed.version, kRunVersion);
  if (fixed.file_bytes != file_bytes) return fail("it has {} bytes, expected {}", file_bytes, fixed.file_bytes);
  if (fixed.header_bytes < sizeof(Fixed) || fixed.header_bytes > std::min(file_bytes, kMaxRunHeaderBytes) ||
      fixed.header_bytes % kAlignment != 0)
    return fail("its header has {} bytes", fixed.header_bytes);
  return fixed;
}

Result<void> check_counts(const Fixed& fixed) {
  if (fixed.num_groups == 0 || fixed.num_groups > kMaxGroups) return fail("it has {} groups", fixed.num_groups);
  if (fixed.block_size == 0 || fixed.block_size > to_size(kMaxBlockSize))
    return fail("its block size is {}", fixed.block_size);
  if (fixed.end == 0 || fixed.end > kMaxBlocks || fixed.first > fixed.end)
    return fail("it has the blocks {} to {}", fixed.first, fixed.end);
  if (fixed.domain_bytes > kMaxDomainBytes) return fail("its domain has {} bytes", fixed.domain_bytes);
  if (fixed.snapshot_bytes > kMaxPayloadBytes) return fail("its snapshot has {} bytes", fixed.snapshot_bytes);
  if (sizeof(Fixed) + std::uint64_t{fixed.num_groups} * sizeof(RunGroup) > fixed.header_bytes)
    return fail("its header has no room for {} groups", fixed.num_groups);
  return {};
}

Result<void> check_groups(const Fixed& fixed, std::span<const RunGroup> groups) {
  std::uint64_t payloads = fixed.snapshot_bytes > 0 ? 1 : 0, bytes = fixed.header_bytes + fixed.snapshot_bytes;
  for (const RunGroup& group : groups) {
    if (group.count > kMaxBlocks || group.first > fixed.end || group.count != fixed.end - group.first ||
        group.block_bytes == 0 || group.block_bytes > kMaxPayloadBytes)
      return fail("a group has {} blocks of {} bytes from {} on", group.count, group.block_bytes, group.first);
    payloads += group.count;
    bytes += group.count * group.block_bytes;  // below 2^62; the sum is compared before it can grow beyond 2^64
    if (bytes > fixed.file_bytes) return fail("its blocks have more bytes than the file");
  }
  if (bytes != fixed.file_bytes) return fail("its blocks have {} bytes, the file {}", bytes, fixed.file_bytes);
  if (size_of(fixed, payloads) != fixed.header_bytes)
    return fail("its header has {} bytes, another number than its counts say", fixed.header_bytes);
  return {};
}

/// Ascending, apart from each other, and among the rows, as RowSource expects them.
Result<void> check_given(std::span<const GivenRows> given, std::size_t num_rows) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::int64_t next = 0;
  for (const GivenRows& rows : given) {
    const std::int64_t first = rows.first, count = rows.count, index = rows.index;
    if (first < next || count < 1 || std::cmp_greater(first + count, num_rows) || index < 0 || index + count > kMost)
      return fail("{} of its rows from {} on are given from {} on", count, first, index);
    next = first + count;
  }
  return {};
}

Fixed fixed_of(const RunHeader& header) {
  return {.num_groups = static_cast<std::uint32_t>(header.groups.size()),
          .address = header.address,
          .root = header.root,
          .before = header.before,
          .first = header.first,
          .end = header.end,
          .snapshot_bytes = header.snapshot_bytes,
          .block_size = header.block_size,
          .domain_bytes = static_cast<std::uint32_t>(header.domain.size()),
          .num_given = static_cast<std::uint32_t>(header.given.size())};
}

}  // namespace

AddressDigest digest_of(std::string_view address) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> all{};
  unsigned int size = 0;
  const bool hashed = EVP_Digest(address.data(), address.size(), all.data(), &size, EVP_sha256(), nullptr) == 1;
  OCTAVO_CHECK(hashed && size >= sizeof(AddressDigest), "SHA-256 of an address");
  AddressDigest digest;
  std::memcpy(digest.data(), all.data(), digest.size());
  return digest;
}

int first_seen(const StateLayout& layout, int group, int end) {
  return static_cast<int>(layout.group(group).first_seen(std::int64_t{end} * layout.block_size) / layout.block_size);
}

bool ends_alone(const StateLayout& layout) {
  return layout.snapshot.bytes > 0 ||
         std::ranges::any_of(layout.groups, [](const KvGroup& group) { return group.window > 0; });
}

bool has_group_without_window(const StateLayout& layout) {
  return std::ranges::any_of(layout.groups, [](const KvGroup& group) { return group.window == 0; });
}

Result<void> check_storable(const StateLayout& layout) {
  if (layout.is_contiguous()) return fail("only blocks are kept on disk, found the contiguous layout");
  bool is_small = layout.block_size <= kMaxBlockSize && layout.groups.size() <= kMaxGroups &&
                  layout.snapshot.bytes <= kMaxPayloadBytes;
  for (int g = 0; g < layout.num_groups(); ++g) is_small = is_small && layout.block_bytes(g) <= kMaxPayloadBytes;
  return is_small ? Result<void>{} : fail("the blocks of the layout are too large to be kept: {}", layout.name());
}

std::size_t RunHeader::num_payloads() const {
  std::size_t sum = snapshot_bytes > 0 ? 1 : 0;
  for (const RunGroup& group : groups) sum += group.count;
  return sum;
}

std::uint64_t RunHeader::header_bytes() const { return size_of(fixed_of(*this), num_payloads()); }

std::uint64_t RunHeader::file_bytes() const {
  std::uint64_t bytes = header_bytes() + snapshot_bytes;
  for (const RunGroup& group : groups) bytes += group.count * group.block_bytes;
  return bytes;
}

RunHeader::Payload RunHeader::payload(int pool, int index) const {
  Payload at{.number = 0, .offset = header_bytes(), .bytes = 0};
  const Payload nowhere{.number = num_payloads(), .offset = 0, .bytes = 0};
  if (pool < 0 || to_size(pool) > groups.size() || index < 0) return nowhere;
  for (int g = 0; g < pool; ++g) {
    at.number += groups[to_size(g)].count;
    at.offset += groups[to_size(g)].count * groups[to_size(g)].block_bytes;
  }
  if (to_size(pool) == groups.size()) {
    at.bytes = snapshot_bytes;
    return index == 0 && snapshot_bytes > 0 ? at : nowhere;
  }
  const RunGroup& group = groups[to_size(pool)];
  const auto wanted = static_cast<std::uint32_t>(index);
  if (wanted < group.first || wanted - group.first >= group.count) return nowhere;
  at.number += wanted - group.first;
  at.offset += (wanted - group.first) * group.block_bytes;
  at.bytes = group.block_bytes;
  return at;
}

RunHeader RunHeader::of(const AddressDigest& address, const StateLayout& layout, const PrefixName& prefix, int first) {
  const auto end = static_cast<std::uint32_t>(prefix.hashes.size());
  RunHeader made;
  made.address = address;
  made.block_size = static_cast<std::uint32_t>(layout.block_size);
  made.first = static_cast<std::uint32_t>(first);
  made.end = end;
  made.root = prefix.root;
  made.before = first == 0 ? prefix.root : prefix.hashes[to_size(first) - 1];
  made.snapshot_bytes = layout.snapshot.bytes;
  made.domain = prefix.domain.substr(0, kMaxDomainBytes);
  for (int g = 0; g < layout.num_groups(); ++g) {
    const int begin = layout.group(g).window == 0 ? first : first_seen(layout, g, static_cast<int>(end));
    made.groups.push_back({.first = static_cast<std::uint32_t>(begin),
                           .count = end - static_cast<std::uint32_t>(begin),
                           .block_bytes = layout.block_bytes(g)});
  }
  made.hashes.assign(prefix.hashes.begin() + first, prefix.hashes.end());
  const RowSource rows = prefix.rows().subspan(to_size(first) * to_size(layout.block_size));
  made.tokens.assign(rows.tokens().begin(), rows.tokens().end());
  rows.for_given([&](const GivenRows& given) { made.given.push_back(given); });
  made.checksums.resize(made.num_payloads());
  return made;
}

bool RunHeader::fits(const AddressDigest& wanted, const StateLayout& layout) const {
  if (address != wanted || to_size(layout.block_size) != block_size || snapshot_bytes != layout.snapshot.bytes ||
      groups.size() != layout.groups.size())
    return false;
  for (int g = 0; g < layout.num_groups(); ++g) {
    const bool windowed = layout.group(g).window > 0;
    const auto begin = windowed ? static_cast<std::uint32_t>(first_seen(layout, g, static_cast<int>(end))) : first;
    if (groups[to_size(g)].first != begin || groups[to_size(g)].block_bytes != layout.block_bytes(g)) return false;
  }
  return has_group_without_window(layout) || first == 0;
}

bool RunHeader::is_of(const PrefixName& prefix) const {
  const std::size_t blocks = prefix.hashes.size();
  if (root != prefix.root || first > blocks || prefix.tokens.size() != blocks * block_size) return false;
  if (before != (first == 0 ? prefix.root : prefix.hashes[to_size(first) - 1])) return false;
  const std::size_t shared = std::min<std::size_t>(end, blocks) - first;
  return std::equal(hashes.begin(), hashes.begin() + static_cast<std::ptrdiff_t>(shared),
                    prefix.hashes.begin() + first) &&
         rows().first(shared * block_size) ==
             prefix.rows().subspan(std::size_t{first} * block_size, shared * block_size);
}

std::vector<std::byte> bytes_of(const RunHeader& header) {
  Fixed fixed = fixed_of(header);
  fixed.header_bytes = header.header_bytes();
  fixed.file_bytes = header.file_bytes();
  std::vector<std::byte> bytes(fixed.header_bytes);
  std::span<std::byte> out = bytes;
  put(out, std::span<const Fixed>(&fixed, 1));
  put(out, std::span(header.groups));
  put(out, std::span(header.hashes));
  put(out, std::span(header.tokens));
  put(out, std::span(header.given));
  put(out, std::span(header.checksums));
  put(out, std::span<const char>(header.domain));
  const std::size_t checked = bytes.size() - sizeof(std::uint64_t);
  const std::uint64_t checksum = XXH3_64bits(bytes.data(), checked);
  std::memcpy(bytes.data() + checked, &checksum, sizeof(checksum));
  return bytes;
}

Result<std::size_t> size_of_run_header(std::span<const std::byte> begin, std::uint64_t file_bytes) {
  OCTAVO_TRY(const Fixed fixed, check_fixed(begin, file_bytes));
  return fixed.header_bytes;
}

Result<RunHeader> parse_run_header(std::span<const std::byte> bytes, std::uint64_t file_bytes) {
  OCTAVO_TRY(const Fixed fixed, check_fixed(bytes, file_bytes));
  if (fixed.header_bytes != bytes.size()) return fail("its header has {} bytes", fixed.header_bytes);
  const std::size_t checked = bytes.size() - sizeof(std::uint64_t);
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + checked, sizeof(checksum));
  if (checksum != XXH3_64bits(bytes.data(), checked)) return fail("the checksum of its header is wrong");
  OCTAVO_TRY_VOID(check_counts(fixed));
  bytes = bytes.subspan(sizeof(Fixed));

  RunHeader header;
  header.groups.resize(fixed.num_groups);
  take(bytes, std::span(header.groups));
  OCTAVO_TRY_VOID(check_groups(fixed, header.groups));  // now the header has room for all that follows
  header.address = fixed.address;
  header.block_size = fixed.block_size;
  header.first = fixed.first;
  header.end = fixed.end;
  header.root = fixed.root;
  header.before = fixed.before;
  header.snapshot_bytes = fixed.snapshot_bytes;
  header.hashes.resize(fixed.end - fixed.first);
  header.tokens.resize(header.hashes.size() * fixed.block_size);
  header.given.resize(fixed.num_given);
  header.checksums.resize(header.num_payloads());
  header.domain.resize(fixed.domain_bytes);
  take(bytes, std::span(header.hashes));
  take(bytes, std::span(header.tokens));
  take(bytes, std::span(header.given));
  OCTAVO_TRY_VOID(check_given(header.given, header.tokens.size()));
  take(bytes, std::span(header.checksums));
  take(bytes, std::span(header.domain));
  return header;
}

}  // namespace octavo

// Any bytes as an index of files, and a right one with changes: what is parsed says the same again, and takes no more
// than its bytes. The first byte says which: 0, the rest is the index; else the rest are changes, and an odd one makes
// the checksum right after them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/to_size.h"
#include "fuzz_bytes.h"
#include "kv_store/index_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace octavo {
namespace {

const AddressDigest kAddress = digest_of("a model");

std::vector<std::byte> right_index() {
  RunIndex index;
  std::vector<BlockHash> hashes;
  for (std::uint64_t i = 1; i <= 6; ++i) {
    hashes.push_back({.low = i * 0x9e3779b97f4a7c15, .high = i});
    FUZZ_CHECK(index.add({.end = hashes.back(), .bytes = i, .used_s = 7}, std::span(hashes).last(1 + (i + 1) % 2)));
  }
  return index_bytes(kAddress, index.contents());
}

void change(std::vector<std::byte>& bytes, Bytes& input) {
  const std::size_t size = bytes.size();
  const std::size_t at = to_size(input.next() << 8 | input.next()) % std::max<std::size_t>(size, 1);
  switch (input.below(4)) {
    case 0:
      if (size > 0) bytes[at] ^= static_cast<std::byte>(1 << input.below(8));
      break;
    case 1: bytes.resize(at); break;
    case 2: bytes.resize(size + to_size(input.next()), static_cast<std::byte>(input.next())); break;
    default: {
      const std::int64_t value = input.number();
      const std::size_t width = input.below(2) == 0 ? 4 : 8, place = at / 4 * 4;
      if (place + width <= size) std::memcpy(bytes.data() + place, &value, width);
    }
  }
}

void make_checksum_right(std::vector<std::byte>& bytes) {
  std::uint64_t checksum = 0;
  if (bytes.size() < sizeof(checksum)) return;
  checksum = XXH3_64bits(bytes.data(), bytes.size() - sizeof(checksum));
  std::memcpy(bytes.data() + bytes.size() - sizeof(checksum), &checksum, sizeof(checksum));
}

void parse(std::span<const std::byte> bytes) {
  const auto index = parse_index(bytes, kAddress);
  if (!index) return;
  const RunIndex::Contents contents = index->contents();
  FUZZ_CHECK(contents.files.size() == index->num_files() && contents.files.size() * 40 <= bytes.size());
  FUZZ_CHECK(contents.hashes.size() * 16 <= bytes.size());
  const auto again = parse_index(index_bytes(kAddress, contents), kAddress);
  FUZZ_CHECK(again && again->num_files() == contents.files.size());
  for (const BlockHash& hash : contents.hashes) FUZZ_CHECK(again->file_with(hash)->end == index->file_with(hash)->end);
}

}  // namespace
}  // namespace octavo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo;
  static const std::vector<std::byte> right = right_index();
  if (size == 0) return 0;
  if (data[0] == 0) {
    parse(std::as_bytes(std::span(data + 1, size - 1)));
    return 0;
  }
  Bytes input({data + 1, size - 1});
  std::vector<std::byte> bytes = right;
  for (int i = 0; i < 16 && !input.empty(); ++i) change(bytes, input);
  if (data[0] % 2 == 1) make_checksum_right(bytes);
  parse(bytes);
  return 0;
}

// Any bytes as a run file, and a right one with changes: reading gives the blocks that were written, or an error, and
// touches nothing outside of the file and of the blocks. The first byte says which: 0, the rest is the file; else the
// rest are changes (flip, cut, extend, swap, set a field), and an odd one makes the header's checksum right after them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/to_size.h"
#include "fuzz_bytes.h"
#include "kv_store/run_file.h"
#include "support/temp_folder.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace octavo {
namespace {

constexpr int kBlocks = 3;

StateLayout make_layout() {
  const std::vector<std::optional<KvLayerShape>> layers = {
      KvLayerShape{.num_kv_heads = 1, .k_dim = 2, .v_dim = 2},
      KvLayerShape{.num_kv_heads = 1, .k_dim = 2, .v_dim = 2, .window = 5}, std::nullopt};
  const std::vector<std::size_t> recurrent = {0, 0, 64};
  return StateLayout::create(KvType::kF16, KvLayout::kPaged, 4, layers, recurrent).value();
}

/// Pieces of exactly the bytes that a block has, so that the sanitizer sees what is written beside them.
class Pieces final : public BlockMemory {
 public:
  explicit Pieces(const StateLayout& layout) : layout_(layout) {}
  std::span<std::byte> piece(int pool, BlockId block, int layer) override {
    std::vector<std::byte>& bytes = pieces_[{pool, block, layer}];
    if (bytes.empty())
      bytes.resize(pool < layout_.num_groups() ? layout_.layer_block_bytes(pool) : layout_.snapshot.bytes,
                   static_cast<std::byte>(17 * pool + 5 * block + layer));
    return bytes;
  }
  bool operator==(const Pieces& other) const { return pieces_ == other.pieces_; }
  void clear() {
    for (auto& [place, bytes] : pieces_) std::ranges::fill(bytes, std::byte{0xee});
  }

 private:
  const StateLayout& layout_;
  std::map<std::tuple<int, BlockId, int>, std::vector<std::byte>> pieces_;
};

/// What is right: a prefix, its blocks, and the file that was written of them.
struct Written {
  test::TempFolder folder;
  StateLayout layout = make_layout();
  AddressDigest address = digest_of("a model");
  PrefixName prefix{.domain = "domain", .root = {.low = 1, .high = 2}, .hashes = {}, .tokens = {}};
  std::vector<HeldBlock> blocks;
  Pieces memory{layout};
  std::filesystem::path path = folder.path() / "one.run";
  std::string file;

  Written() {
    for (int i = 0; i < kBlocks; ++i) prefix.hashes.push_back({.low = 10 + to_size(i), .high = 3});
    for (int i = 0; i < kBlocks * layout.block_size; ++i) prefix.tokens.push_back(i * 7);
    prefix.given = {{.first = 1, .count = 2, .index = 0, .digest = {.bytes = {1}}},
                    {.first = 6, .count = 4, .index = 3, .digest = {.bytes = {2}}}};
    RunHeader header = RunHeader::of(address, layout, prefix, 1);
    for (int pool = 0; pool <= layout.num_groups(); ++pool)
      for (int i = 0; i < kBlocks; ++i)
        if (header.payload(pool, i).number < header.num_payloads())
          blocks.push_back({.pool = pool, .index = i, .block = i});
    FUZZ_CHECK(write_run_file(path, header, blocks, layout, memory, {}, [] { return true; }));
    std::ifstream in(path, std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(in), {});
  }
};

void change(std::string& file, Bytes& input) {
  const auto size = static_cast<int>(file.size());
  const int at = (input.next() << 8 | input.next()) % std::max(size, 1);
  switch (input.below(5)) {
    case 0:
      if (size > 0) file[to_size(at)] = static_cast<char>(file[to_size(at)] ^ (1 << input.below(8)));
      break;
    case 1: file.resize(to_size(at)); break;
    case 2: file.append(to_size(input.next()), static_cast<char>(input.next())); break;
    case 3:
      if (size >= 8)
        std::swap_ranges(file.begin() + at / 8 * 4, file.begin() + at / 8 * 4 + 4, file.begin() + size / 8 * 4);
      break;
    default: {
      const std::int64_t value = input.number();
      const int width = input.below(2) == 0 ? 4 : 8, place = at % 160 / 4 * 4;
      if (place + width <= size) std::memcpy(file.data() + place, &value, to_size(width));
    }
  }
}

/// The header's checksum, as far as the header says where it is.
void make_checksum_right(std::string& file) {
  std::uint64_t header_bytes = 0;
  if (file.size() < kFixedRunBytes) return;
  std::memcpy(&header_bytes, file.data() + 16, sizeof(header_bytes));
  if (header_bytes < sizeof(std::uint64_t) || header_bytes > file.size()) return;
  const std::uint64_t checksum = XXH3_64bits(file.data(), header_bytes - sizeof(checksum));
  std::memcpy(file.data() + header_bytes - sizeof(checksum), &checksum, sizeof(checksum));
}

void check_header(const RunHeader& header, std::uint64_t file_bytes) {
  FUZZ_CHECK(header.first <= header.end && header.hashes.size() == header.end - header.first);
  FUZZ_CHECK(header.tokens.size() == header.hashes.size() * header.block_size);
  FUZZ_CHECK(header.checksums.size() == header.num_payloads() && header.domain.size() <= kMaxDomainBytes);
  FUZZ_CHECK(header.file_bytes() == file_bytes);
  const auto bytes = bytes_of(header);
  const auto again = parse_run_header(bytes, file_bytes);
  FUZZ_CHECK(again && again->hashes == header.hashes && again->tokens == header.tokens && again->given == header.given);
}

void read_file(Written& written, std::string_view file, bool is_sealed) {
  static Pieces read{written.layout};
  const auto bytes = std::as_bytes(std::span(file));
  const auto size = size_of_run_header(bytes, file.size());
  if (!size || !parse_run_header(bytes.first(*size), file.size())) return;  // most files: open() says the same, slowly
  {
    std::ofstream out(written.path, std::ios::binary | std::ios::trunc);
    out.write(file.data(), static_cast<std::streamsize>(file.size()));
  }
  const auto run = RunFile::open(written.path);
  FUZZ_CHECK(run);
  check_header(run->header(), file.size());
  if (!run->header().fits(written.address, written.layout) || !run->header().is_of(written.prefix)) return;
  for (const HeldBlock& held : written.blocks) read.piece(held.pool, held.block, 0);
  read.clear();
  const auto done = run->read(written.blocks, written.layout, read, [] { return true; });
  // Who makes checksums right can have other bytes read, but nobody else.
  FUZZ_CHECK(!done || is_sealed || read == written.memory);
}

}  // namespace
}  // namespace octavo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo;
  static Written written;
  if (size == 0) return 0;
  if (data[0] == 0) {
    const std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
    read_file(written, file, true);
    return 0;
  }
  Bytes input({data + 1, size - 1});
  std::string file = written.file;
  const bool is_sealed = data[0] % 2 == 1;
  for (int i = 0; i < 16 && !input.empty(); ++i) change(file, input);
  if (is_sealed) make_checksum_right(file);
  read_file(written, file, is_sealed);
  return 0;
}

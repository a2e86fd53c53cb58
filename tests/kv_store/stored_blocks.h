// Blocks in memory with contents that tell where they belong, prefixes with their names, and a store that is waited
// for.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "base/to_size.h"
#include "kv_store/kv_store.h"
#include "kv_store/run_header.h"

namespace octavo::test {

/// Memory that has a block as soon as somebody asks for it.
class BlocksInMemory final : public BlockMemory {
 public:
  explicit BlocksInMemory(StateLayout layout) : layout_(std::move(layout)) {}

  std::span<std::byte> piece(int pool, BlockId block, int layer_index) override {
    std::vector<std::byte>& bytes = pieces_[{pool, block, layer_index}];
    bytes.resize(pool < layout_.num_groups() ? layout_.layer_block_bytes(pool) : layout_.snapshot.bytes);
    return bytes;
  }
  int num_layers(int pool) const { return pool < layout_.num_groups() ? layout_.group(pool).num_layers() : 1; }

 private:
  StateLayout layout_;
  std::map<std::tuple<int, BlockId, int>, std::vector<std::byte>> pieces_;
};

inline StateLayout layout_of(std::vector<std::optional<KvLayerShape>> layers, KvType type = KvType::kF16,
                             std::vector<std::size_t> recurrent = {}) {
  return StateLayout::create(type, KvLayout::kPaged, 16, layers, recurrent).value();
}
inline StateLayout one_group(KvType type = KvType::kF16) {
  return layout_of({KvLayerShape{.num_kv_heads = 2, .k_dim = 8, .v_dim = 8},
                    KvLayerShape{.num_kv_heads = 2, .k_dim = 8, .v_dim = 8}},
                   type);
}
inline StateLayout with_a_window(KvType type = KvType::kF16) {
  const KvLayerShape narrow{.num_kv_heads = 1, .k_dim = 16, .v_dim = 16, .window = 40};
  return layout_of({narrow, KvLayerShape{.num_kv_heads = 2, .k_dim = 8, .v_dim = 8}, narrow, narrow}, type);
}
inline StateLayout windows_alone() {
  return layout_of({KvLayerShape{.num_kv_heads = 1, .k_dim = 8, .v_dim = 8, .window = 20}});
}
inline StateLayout with_a_snapshot(KvType type = KvType::kF16) {
  return layout_of({KvLayerShape{.num_kv_heads = 2, .k_dim = 8, .v_dim = 8}, std::nullopt}, type, {0, 1000});
}

/// A prefix of blocks, whose tokens count from `seed` on; one of another seed shares its first `shared` blocks with it.
inline PrefixName prefix_of(int blocks, int seed = 0, int shared = 0, std::string_view domain = "") {
  const BlockHasher hasher = make_block_hasher(BlockHashKey{}).value();
  PrefixName prefix{
      .domain = std::string(domain), .root = BlockChain::root(hasher, domain), .hashes = {}, .tokens = {}};
  for (int i = 0; i < blocks * 16; ++i) prefix.tokens.push_back(i < shared * 16 ? i : seed * 100'000 + i);
  BlockChain chain(hasher, domain);
  chain.extend(hasher, 16, prefix.tokens);
  prefix.hashes.assign(chain.hashes().begin(), chain.hashes().end());
  return prefix;
}

/// The same prefix with a picture in place of `count` rows from `first` on.
inline PrefixName with_picture(PrefixName prefix, int first, int count, std::uint8_t name) {
  const BlockHasher hasher = make_block_hasher(BlockHashKey{}).value();
  prefix.given = {{.first = first, .count = count, .index = 0, .digest = {.bytes = {name}}}};
  BlockChain chain(hasher, prefix.domain);
  chain.extend(hasher, 16, prefix.rows());
  prefix.hashes.assign(chain.hashes().begin(), chain.hashes().end());
  return prefix;
}

/// What a byte of a block must be: it depends on the prefix up to the block, and on where in it the byte lies.
inline std::byte byte_of(const PrefixName& prefix, const HeldBlock& held, int layer, std::size_t at) {
  const std::uint64_t hash =
      (held.index < static_cast<int>(prefix.hashes.size()) ? prefix.hashes[to_size(held.index)] : prefix.hashes.back())
          .low;
  return static_cast<std::byte>(hash + 31 * to_size(held.pool) + 7 * to_size(layer) + at * (at + 3));
}

/// The blocks that a prefix is kept by, in pools without a window from `known` on, with ids from `first_id` on.
inline std::vector<HeldBlock> blocks_of(const StateLayout& layout, const PrefixName& prefix, int known = 0,
                                        BlockId first_id = 0) {
  const int end = static_cast<int>(prefix.hashes.size());
  std::vector<HeldBlock> blocks;
  for (int g = 0; g < layout.num_groups(); ++g)
    for (int i = layout.group(g).window == 0 ? known : first_seen(layout, g, end); i < end; ++i)
      blocks.push_back({.pool = g, .index = i, .block = first_id + i});
  if (layout.snapshot.bytes > 0) blocks.push_back({.pool = layout.num_groups(), .index = 0, .block = first_id});
  return blocks;
}

/// The state behind a prefix is that of its last block.
inline HeldBlock as_counted(const StateLayout& layout, const PrefixName& prefix, HeldBlock held) {
  if (held.pool == layout.num_groups()) held.index = static_cast<int>(prefix.hashes.size()) - 1;
  return held;
}

inline void fill(BlocksInMemory& memory, const StateLayout& layout, const PrefixName& prefix,
                 std::span<const HeldBlock> blocks) {
  for (const HeldBlock& held : blocks)
    for (int layer = 0; layer < memory.num_layers(held.pool); ++layer) {
      const auto piece = memory.piece(held.pool, held.block, layer);
      for (std::size_t i = 0; i < piece.size(); ++i)
        piece[i] = byte_of(prefix, as_counted(layout, prefix, held), layer, i);
    }
}

/// Blocks that have not all bytes that they must have.
inline int count_wrong(BlocksInMemory& memory, const StateLayout& layout, const PrefixName& prefix,
                       std::span<const HeldBlock> blocks) {
  int wrong = 0;
  for (const HeldBlock& held : blocks)
    for (int layer = 0; layer < memory.num_layers(held.pool); ++layer) {
      const auto piece = memory.piece(held.pool, held.block, layer);
      bool is_equal = true;
      for (std::size_t i = 0; i < piece.size(); ++i)
        is_equal = is_equal && piece[i] == byte_of(prefix, as_counted(layout, prefix, held), layer, i);
      wrong += is_equal ? 0 : 1;
    }
  return wrong;
}

/// A store over memory of its own, as one process has it.
class OneStore {
 public:
  OneStore(KvStoreOptions options, const StateLayout& layout, std::string_view address = "model one")
      : layout_(layout), memory_(layout) {
    // Whoever does not ask for a bound has none: time decides no test.
    if (options.write_share == KvStoreSettings::kWriteShare) options.write_share = 1;
    store_ = KvStore::open(options, address, layout, memory_, {}).value();
  }

  /// Waits until the store knows what was in its directory when it began; tasks that are given later come later too.
  void settle() { end_of(store_->write(prefix_of(1, 9'999), {})); }

  bool write(const PrefixName& prefix) {
    const auto blocks = blocks_of(layout_, prefix);
    fill(memory_, layout_, prefix, blocks);
    return end_of(store_->write(prefix, blocks));
  }
  /// Reads what is found of a prefix into blocks that had other contents; gives how many blocks it is long, or -1 where
  /// it could not be read. CHECKs that what was read is what must be there.
  int read(PrefixName prefix, int known = 0) {
    const int found = store_->find(prefix.hashes, known, static_cast<int>(prefix.hashes.size())).num_blocks;
    if (found == 0) return 0;
    prefix.hashes.resize(to_size(found));
    prefix.tokens.resize(to_size(found) * 16);  // pieces of pictures behind them are left out by rows()
    const auto blocks = blocks_of(layout_, prefix, known, 10'000);
    if (!end_of(store_->read(prefix, blocks))) return -1;
    EXPECT_EQ(count_wrong(memory_, layout_, prefix, blocks), 0);
    return found;
  }
  int find(const PrefixName& prefix) {
    return store_->find(prefix.hashes, 0, static_cast<int>(prefix.hashes.size())).num_blocks;
  }
  bool end_of(KvStore::Job job) {
    for (;;) {
      for (const KvStore::Done& done : done_)
        if (done.job == job) return done.is_ok;
      store_->wait(std::chrono::seconds(10));
      store_->take_done(done_);
    }
  }

  KvStore& operator*() { return *store_; }
  KvStore* operator->() { return store_.get(); }
  BlocksInMemory& memory() { return memory_; }
  std::vector<KvStore::Done>& done() { return done_; }

 private:
  StateLayout layout_;
  BlocksInMemory memory_;
  std::unique_ptr<KvStore> store_;
  std::vector<KvStore::Done> done_;
};

/// The run files below a folder, in the order of their names.
inline std::vector<std::filesystem::path> run_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".run") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace octavo::test

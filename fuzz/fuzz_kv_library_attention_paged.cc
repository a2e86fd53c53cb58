// Arbitrary operations on the public KV memory: a paged cache of a shape that the first bytes choose, and a bare pool
// with its prefix cache. The counts must agree after every operation. A value that can be read must be one that was
// written there (values tell their layer and position), and attention must follow from the values that can be read.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "fuzz_attention.h"
#include "fuzz_bytes.h"
#include "octavo/kv/paged_kv_cache.h"

namespace octavo {
namespace {

constexpr int kMaxTokens = 64;

// Layers of two head shapes, some of which borrow; not all of them make sense.
std::vector<KvLayerShape> some_layers(Bytes& bytes) {
  std::vector<KvLayerShape> layers;
  for (int count = 1 + bytes.below(5); count > 0; --count) {
    const bool wide = bytes.below(2) == 0;
    KvLayerShape& layer = layers.emplace_back();
    layer = {
        .num_kv_heads = wide ? 2 : 1, .k_dim = wide ? 3 : 16, .v_dim = wide ? 3 : 16, .window = bytes.below(3) * 5};
    if (bytes.below(3) == 0) layer.borrows_from = bytes.below(4);
    if (layers.size() > 1 && bytes.below(2) == 0)
      layer = {layers[0].num_kv_heads, layers[0].k_dim, layers[0].v_dim, 5, 0};
  }
  return layers;
}

PagedKvOptions options_of(Bytes& bytes) {
  const int shape = bytes.next();
  PagedKvOptions options{.type = static_cast<KvType>(shape % 5),
                         .layout = (shape & 0x1C) == 0x1C ? KvLayout::kContiguous : KvLayout::kPaged,
                         .block_size = 1 << (shape >> 5),
                         .num_kv_heads = 1 + bytes.below(2),
                         .head_dim = 1 + bytes.below(40)};
  for (int layers = 1 + bytes.below(4); layers > 0; --layers) options.layer_windows.push_back(bytes.below(3) * 5);
  options.num_blocks = bytes.below(20);
  options.memory_bytes = static_cast<std::uint64_t>(bytes.next()) * 1000;
  options.max_tokens = bytes.next();
  options.longest_sequence = bytes.next();
  options.prefix_cache = bytes.below(8) != 0;
  if (bytes.below(4) == 0) {
    options.layer_windows.push_back(0);  // without such a layer the hash must be a good one
    options.hasher = [](const BlockHash& parent, std::span<const std::byte> data) {
      std::uint64_t hash = parent.low;
      for (const std::byte b : data) hash = (hash * 31 + std::to_integer<std::uint64_t>(b)) % 7;  // collides a lot
      return BlockHash{hash, 0};
    };
  } else if (bytes.below(3) == 0) {
    options.layers = some_layers(bytes);
  }
  return options;
}

class CacheFuzzer {
 public:
  CacheFuzzer(PagedKvCache& cache, Bytes& bytes) : cache_(cache), bytes_(bytes) {}

  void run() {
    while (!bytes_.empty()) {
      operation();
      const Result<void> intact = cache_.check_integrity();
      FUZZ_CHECK(intact.has_value());
    }
    (void)cache_.stats().summary();
  }

 private:
  SequenceId id() { return static_cast<SequenceId>(bytes_.below(10) + first_id_); }

  std::vector<TokenId> tokens(std::int64_t count) {
    std::vector<TokenId> text(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, kMaxTokens)));
    const int kind = bytes_.below(3);
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = i < 8 ? 0 : kind;
    return text;
  }

  // The layer whose keys and values a layer reads.
  int lender(int layer) const {
    for (int other = 0; other < layer && layer < cache_.num_layers(); ++other)
      if (&cache_.memory(other) == &cache_.memory(layer)) return other;
    return layer;
  }

  std::vector<float> values(int count, int layer, std::int64_t position) const {
    const int known = layer >= 0 && layer < cache_.num_layers() ? layer : 0;
    const auto one = static_cast<std::size_t>(cache_.num_kv_heads(known) * cache_.head_dim(known));
    const int writer = lender(layer);
    std::vector<float> all;
    for (int i = 0; i < count; ++i)
      all.insert(all.end(), one, static_cast<float>((writer * kMaxTokens + (position + i) % kMaxTokens) % 127 - 63));
    return all;
  }

  void write(SequenceId sequence, int layer, std::int64_t position) {
    const int count = 1 + bytes_.below(5);
    const std::vector<float> given = values(count, layer, position < 0 ? 0 : position % kMaxTokens);
    const int claimed = bytes_.below(16) == 0 ? bytes_.below(8) - 2 : count;
    (void)cache_.write_kv(sequence, layer, position, given, given, claimed);
  }

  void read(SequenceId sequence, int layer, std::int64_t position) {
    std::vector<float> key = values(1, layer, 0), value = key;
    if (!cache_.read_kv(sequence, layer, position, key, value)) return;
    const std::vector<float> expected = values(1, layer, position);
    for (std::size_t i = 0; i < key.size(); ++i) {
      // Within half a step of q8_0, the coarsest type.
      FUZZ_CHECK(std::abs(key[i] - expected[i]) < 0.26F && std::abs(value[i] - expected[i]) < 0.26F);
    }
    (void)cache_.read_kv(sequence, layer, position);
  }

  // Several slots in one call, some with several rows.
  void attend(int layer) {
    const int known = layer >= 0 && layer < cache_.num_layers() ? layer : 0;
    AttentionOptions options{
        .num_heads = cache_.num_kv_heads(known) * bytes_.below(4) + (bytes_.below(32) == 0 ? 1 : 0),
        .scale = 0.001F,
        .window = bytes_.below(3) == 0 ? static_cast<int>(bytes_.number()) : 0,
        .zeros_for_empty = bytes_.below(2) == 0};
    std::vector<ChunkRows> slots(static_cast<std::size_t>(bytes_.below(5)));
    int rows = 0;
    for (ChunkRows& slot : slots) {
      slot = {id(), bytes_.below(6)};
      rows += slot.num_rows;
    }
    const std::size_t row_floats = static_cast<std::size_t>(options.num_heads * cache_.head_dim(known));
    const std::size_t odd = bytes_.below(32) == 0 ? 1 : 0;
    const std::vector<float> queries = fuzz_queries(bytes_, static_cast<std::size_t>(rows) * row_floats + odd);
    std::vector<float> out(queries.size());
    if (!fuzz_attention(bytes_).chunk(cache_, layer, slots, queries, options, out)) return;
    std::size_t row = 0;
    for (const ChunkRows& slot : slots)
      for (int i = 0; i < slot.num_rows; ++i, row += row_floats)
        check_row(slot, layer, i, options, std::span(queries).subspan(row, row_floats),
                  std::span(out).subspan(row, row_floats));
  }

  void check_row(const ChunkRows& slot, int layer, int row, const AttentionOptions& options,
                 std::span<const float> query, std::span<const float> got) const {
    const int end = std::max(0, static_cast<int>(cache_.layer_length(slot.id, layer)) - slot.num_rows + row + 1);
    int first = 0;
    for (const int window : {options.window, cache_.window(layer)})
      if (window > 0) first = std::max(first, end - window);
    const auto read = [&](int position, std::span<float> key, std::span<float> value) {
      FUZZ_CHECK(cache_.read_kv(slot.id, layer, position, key, value).has_value());
    };
    const bool is_empty = cache_.layer_length(slot.id, layer) == 0;
    check_near(got,
               attention_row(query, options, cache_.num_kv_heads(layer), cache_.head_dim(layer), first,
                             is_empty ? first : end, read),
               cache_.type());
  }

  // With hashes made beforehand, as an engine that finds prefixes while others publish.
  void share_by_chain(SequenceId sequence, std::int64_t count, int domain) {
    if (!cache_.hasher()) return;
    const std::vector<TokenId> text = tokens(count);
    BlockChain chain(cache_.hasher(), domain < 0 ? "a" : "b");
    chain.extend(cache_.hasher(), cache_.block_size(), std::span(text).first(text.size() / (1 + bytes_.below(2))));
    if (bytes_.below(2) == 0) {
      (void)cache_.publish(sequence, text, chain);
    } else {
      const std::int64_t before = cache_.sequence_length(sequence);
      const Result<int> found = cache_.extend_prefix(sequence, text, chain);
      FUZZ_CHECK(!found || *found == 0 || cache_.sequence_length(sequence) == before + *found);
    }
  }

  void ask(SequenceId sequence, std::int64_t first) {
    (void)cache_.blocks_needed(sequence, bytes_.below(4) - 1, first, bytes_.number());
    (void)cache_.token_capacity(sequence, bytes_.below(4) - 1);
    (void)cache_.sequence_length(sequence, bytes_.below(4) - 1);
    FUZZ_CHECK(cache_.utilization() >= 0 && cache_.utilization() <= 1);
    FUZZ_CHECK(cache_.max_sequence_tokens() >= 0);
  }

  void step(SequenceId sequence) {
    std::int64_t first = cache_.sequence_length(sequence);
    for (int g = 0; g < cache_.num_groups(); ++g) first = std::min(first, cache_.sequence_length(sequence, g));
    const std::int64_t end = first + 1 + bytes_.below(9);
    std::vector<BlockCopy> copies;
    if (end > kMaxTokens || !cache_.reserve(sequence, first, end, &copies)) return;
    cache_.make_copies(copies);
    for (int layer = 0; layer < cache_.num_layers(); ++layer) {
      const std::vector<float> given = values(static_cast<int>(end - first), layer, first);
      const auto written = cache_.write_kv(sequence, layer, first, given, given, static_cast<int>(end - first));
      FUZZ_CHECK(written.has_value() == (lender(layer) == layer));
    }
    cache_.commit(sequence, end);
  }

  // The last few stay.
  void remember(SequenceId id) {
    if (id > first_id_ + 8) (void)cache_.drop_sequence(first_id_++);
  }

  void operation() {
    const int kind = bytes_.below(16);
    if (kind == 0) return remember(cache_.create_sequence(std::min<std::int64_t>(bytes_.number(), 1000)));
    const SequenceId sequence = id();
    const int layer = bytes_.below(cache_.num_layers() + 2) - 1;
    const std::int64_t position = bytes_.number();
    switch (kind) {
      case 1: return write(sequence, layer, position);
      case 2: return read(sequence, layer, position);
      case 3:
      case 4: return step(sequence);
      case 5: return (void)cache_.truncate(sequence, position);
      case 6: return (void)cache_.publish(sequence, tokens(position), layer < 0 ? "a" : "b");
      case 7: return (void)cache_.attach_prefix(sequence, tokens(position), layer < 0 ? "a" : "b");
      case 8: return (void)cache_.ensure_capacity(sequence, position);
      case 9: return (void)cache_.fork_into(sequence, id());
      case 10: return (void)cache_.drop_sequence(sequence);
      case 11:
        if (const Result<SequenceId> branch = cache_.fork(sequence)) remember(*branch);
        return;
      case 12:
      case 13: return attend(layer);
      case 14: return share_by_chain(sequence, position, layer);
      case 15: return ask(sequence, position);
      default: return (void)cache_.reserve(sequence, position, bytes_.number());
    }
  }

  PagedKvCache& cache_;
  Bytes& bytes_;
  SequenceId first_id_ = 0;
};

// The pool and the prefix cache on their own, with ids and hashes that need not make sense.
void fuzz_pool(Bytes& bytes) {
  BlockPool pool(bytes.below(16));
  PrefixCache prefix(pool, 2, bytes.below(2) == 0);
  std::vector<BlockId> held;
  while (!bytes.empty()) {
    const int kind = bytes.below(7);
    const BlockId block = bytes.below(20) - 2;
    const auto hash = [&] { return BlockHash{static_cast<std::uint64_t>(bytes.below(9)), 0}; };
    if (kind == 0) {
      const BlockId taken = pool.allocate(block);
      if (taken != kNoBlock) held.push_back(taken);
    } else if (kind == 1) {
      std::vector<BlockId> run(static_cast<std::size_t>(bytes.below(6)));
      if (pool.allocate_run(run, block)) held.insert(held.end(), run.begin(), run.end());
    } else if (kind == 2) {
      const bool was_held = std::ranges::find(held, block) != held.end();
      FUZZ_CHECK(pool.free(block).has_value() == was_held);
      if (was_held) held.erase(std::ranges::find(held, block));
    } else if (kind == 3) {
      if (pool.add_reference(block)) held.push_back(block);
    } else if (kind == 4) {
      prefix.unpublish(block);
    } else {
      const BlockHash own = hash(), parent = hash();
      const std::vector<TokenId> text(static_cast<std::size_t>(bytes.below(4)), bytes.below(2));
      const BlockId before = bytes.below(20) - 2;
      if (kind == 5) {
        (void)prefix.publish(block, own, parent, text, before);
      } else {
        const BlockId found = prefix.find(own, parent, text, before);
        FUZZ_CHECK(found == kNoBlock || prefix.is_published(found));
      }
    }
    const std::span<const BlockId> tables[] = {held};
    FUZZ_CHECK(pool.check_integrity(tables).has_value() && prefix.check_integrity().has_value());
  }
}

}  // namespace
}  // namespace octavo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  octavo::Bytes bytes({data, size});
  if (bytes.below(4) == 0) {
    octavo::fuzz_pool(bytes);
    return 0;
  }
  const auto cache = octavo::PagedKvCache::create(octavo::options_of(bytes));
  if (!cache) return 0;
  // Small arenas are where memory runs out; a large one would only be slow.
  if ((*cache)->arena_bytes() > 1 << 22) return 0;
  octavo::CacheFuzzer(**cache, bytes).run();
  return 0;
}

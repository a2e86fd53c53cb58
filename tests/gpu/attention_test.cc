// Heads, keys and values, and attention on the card, against the processor's kernels: the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "base/to_size.h"
#include "gpu/emulation/emulated_kernels.h"
#include "gpu/kernels/arguments.h"
#include "kernels/dispatch.h"
#include "octavo/bits.h"
#include "octavo/kv_type.h"

namespace octavo::gpu {
namespace {

/// A shape of attention, its positions and how they lie.
struct Case {
  KvType type = KvType::kI16;
  int head_dim = 64, num_kv_heads = 2, heads_of_kv = 4;
  int block_size = 16, length = 77, rows = 1, window = 0;
  float soft_cap = 0;
  bool sinks = false;
  Bits bits = Bits::kPortable;
};

std::size_t index_of(KvType type) { return to_size(static_cast<int>(type)); }

/// One sequence of `length` tokens, the last `rows` of which attend, in blocks in descending order.
class AttentionOfACard : public ::testing::TestWithParam<Case> {
 protected:
  AttentionOfACard() : kernels_(kernel_table(IsaLevel::kAvx2, GetParam().bits)) {
    const Case& c = GetParam();
    const int segments = (c.head_dim + kI16ScaleDims - 1) / kI16ScaleDims, tokens = std::max(c.block_size, 2);
    const std::size_t k_bytes = to_size(c.block_size * ((c.head_dim + 1) / 2 * 2)) * 2;
    const std::size_t v_bytes = to_size(tokens * c.head_dim) * 2;
    layer_.head_bytes = (k_bytes + v_bytes + to_size(2 * segments * c.block_size) * 2 + 63) / 64 * 64;
    layer_.block_bytes = layer_.head_bytes * to_size(c.num_kv_heads);
    layer_.v_offset = static_cast<std::ptrdiff_t>(k_bytes);
    layer_.k_order = KOrder::kDimMajor;
    layer_.block_size = c.block_size;
    layer_.num_kv_heads = c.num_kv_heads;
    layer_.k_dim = layer_.v_dim = layer_.token_stride = c.head_dim;
    const int num_blocks = (c.length + c.block_size - 1) / c.block_size;
    for (int i = 0; i < num_blocks; ++i) blocks_.push_back(num_blocks - 1 - i);
    of_host_.assign(to_size(num_blocks) * layer_.block_bytes, 0);
    layer_.data = of_host_.data();
  }

  int lanes() const { return GetParam().bits == Bits::kPortable ? 16 : 8; }
  std::vector<float> normals(std::size_t count, float deviation = 1) {
    std::normal_distribution<float> of(0, deviation);
    std::vector<float> values(count);
    for (float& value : values) value = of(random_);
    return values;
  }
  int kv_width() const { return layer_.num_kv_heads * layer_.k_dim; }
  CardKvLayer card_layer(std::vector<std::uint8_t>& bytes) const {
    return {bytes.data(),
            static_cast<std::int64_t>(layer_.block_bytes),
            static_cast<std::int64_t>(layer_.head_bytes),
            layer_.v_offset,
            layer_.block_size,
            layer_.num_kv_heads,
            layer_.k_dim};
  }
  void write_all_on_host(const std::vector<float>& k, const std::vector<float>& v) {
    for (int p = 0; p < GetParam().length; ++p)
      kernels_.write_kv[index_of(GetParam().type)](layer_, blocks_[to_size(p / layer_.block_size)],
                                                   p % layer_.block_size, k.data() + to_size(p * kv_width()),
                                                   v.data() + to_size(p * kv_width()));
  }

  const KernelTable& kernels_;
  std::mt19937 random_{7};
  KvLayer layer_{};
  std::vector<std::int32_t> blocks_;
  std::vector<std::uint8_t> of_host_;
};

TEST_P(AttentionOfACard, WritesTheProcessorsKeysAndValues) {
  const Case& c = GetParam();
  std::vector<float> k = normals(to_size(c.length * kv_width())), v = normals(to_size(c.length * kv_width()), 3);
  k[1] = 1e9F, v[2] = -1e9F, k[5] = 1e-9F;
  write_all_on_host(k, v);
  std::vector<std::uint8_t> of_card(of_host_.size());
  std::vector<std::int32_t> positions(to_size(c.length)), first_block(to_size(c.length));
  for (int p = 0; p < c.length; ++p) positions[to_size(p)] = p;
  const WriteKvArguments arguments{
      .k = k.data(),
      .v = v.data(),
      .k_bias = nullptr,
      .v_bias = nullptr,
      .positions = positions.data(),
      .first_block = first_block.data(),
      .blocks = blocks_.data(),
      .kv = card_layer(of_card),
      .head = {.norm = nullptr, .rope = {}, .epsilon = 0, .head_dim = c.head_dim, .lanes = lanes()},
      .v_norm = false};
  simt::run_emulated_kernel(c.type == KvType::kF16 ? "octavo_write_kv_f16" : "octavo_write_kv_i16",
                            {.grid_x = (c.num_kv_heads + kHeadWarps - 1) / kHeadWarps,
                             .grid_y = c.length,
                             .threads = kHeadThreads,
                             .shared_bytes = to_size(heads_shared(c.head_dim))},
                            &arguments);
  EXPECT_EQ(of_card, of_host_);
}

TEST_P(AttentionOfACard, HasTheProcessorsBits) {
  const Case& c = GetParam();
  const int heads = c.num_kv_heads * c.heads_of_kv, width = heads * c.head_dim;
  write_all_on_host(normals(to_size(c.length * kv_width())), normals(to_size(c.length * kv_width()), 3));
  const std::vector<float> q = normals(to_size(c.rows * width), 0.3F), sinks = normals(to_size(heads));
  std::vector<float> expected(q.size()), found(q.size(), -1), split(q.size(), -1);
  std::vector<float> scratch(to_size(attention_scratch_floats(c.head_dim, c.head_dim)));
  for (int row = 0; row < c.rows; ++row)
    for (int kv_head = 0; kv_head < c.num_kv_heads; ++kv_head)
      for (int head = 0; head < c.heads_of_kv; ++head) {
        const int end = c.length - c.rows + row + 1;
        const AttentionQuery query{q.data() + to_size(row * width + head * c.head_dim),
                                   expected.data() + to_size(row * width + head * c.head_dim),
                                   c.window > 0 ? std::max(0, end - c.window) : 0, end, head};
        const AttentionItem item{.blocks = blocks_.data(),
                                 .queries = &query,
                                 .partial = nullptr,
                                 .states = nullptr,
                                 .resumes = false,
                                 .num_queries = 1,
                                 .kv_head = kv_head,
                                 .q_stride = c.heads_of_kv * c.head_dim,
                                 .out_stride = c.heads_of_kv * c.head_dim,
                                 .begin = query.begin,
                                 .end = query.end,
                                 .terms = {.sinks = c.sinks ? sinks.data() : nullptr, .soft_cap = c.soft_cap}};
        kernels_.attention[index_of(c.type)](layer_, item, {}, scratch.data());
      }
  const int most_heads = std::min(c.heads_of_kv, kMaxCardQueries), most_rows = kMaxCardQueries / most_heads;
  std::vector<AttentionEntry> entries;
  int queries = 1, num_tiles = 1;
  for (int row = 0; row < c.rows; row += most_rows)
    for (int head = 0; head < c.heads_of_kv; head += most_heads) {
      entries.push_back({row, std::min(most_rows, c.rows - row), head, std::min(most_heads, c.heads_of_kv - head)});
      queries = std::max(queries, entries.back().num_rows * entries.back().num_heads);
      const int first = c.length - c.rows + row + 1, last = first + entries.back().num_rows - 1;
      const int begin = c.window > 0 ? std::max(0, first - c.window) : 0;
      num_tiles = std::max(num_tiles, (last + kTileTokens - 1) / kTileTokens - begin / kTileTokens);
    }
  queries = static_cast<int>(std::bit_ceil(static_cast<unsigned>(queries)));
  std::vector<std::int32_t> positions, first_block(to_size(c.rows));
  for (int row = 0; row < c.rows; ++row) positions.push_back(c.length - c.rows + row);
  std::vector<float> partials(to_size(num_tiles * c.rows * heads * (c.head_dim + 2)), -1);
  AttentionArguments arguments{.kv = card_layer(of_host_),
                               .entries = entries.data(),
                               .q = q.data(),
                               .out = found.data(),
                               .partials = nullptr,
                               .sinks = c.sinks ? sinks.data() : nullptr,
                               .batch_row = nullptr,
                               .positions = positions.data(),
                               .first_block = first_block.data(),
                               .blocks = blocks_.data(),
                               .num_entries = static_cast<int>(entries.size()),
                               .num_rows = c.rows,
                               .window = c.window,
                               .heads_of_kv = c.heads_of_kv,
                               .lanes = lanes(),
                               .soft_cap = c.soft_cap};
  const std::string kernel = "octavo_attend_" + std::to_string(queries) + (c.type == KvType::kF16 ? "_f16" : "_i16");
  const int shared = queries == 1   ? attention_shared<1>(c.head_dim)
                     : queries == 2 ? attention_shared<2>(c.head_dim)
                     : queries == 4 ? attention_shared<4>(c.head_dim)
                                    : attention_shared<8>(c.head_dim);
  simt::EmulatedLaunch launch{.grid_x = static_cast<int>(entries.size()),
                              .grid_y = c.num_kv_heads,
                              .threads = kAttentionThreads,
                              .shared_bytes = to_size(shared)};
  simt::run_emulated_kernel(kernel, launch, &arguments);
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), expected.size() * sizeof(float)), 0);

  arguments.partials = partials.data();
  launch.grid_x *= num_tiles;
  launch.order = simt::ThreadOrder::kDescending;
  simt::run_emulated_kernel(kernel, launch, &arguments);
  const MergeTilesArguments merge{.partials = partials.data(),
                                  .sinks = arguments.sinks,
                                  .out = split.data(),
                                  .num_tiles = num_tiles,
                                  .num_rows = c.rows,
                                  .num_heads = heads,
                                  .head_dim = c.head_dim};
  simt::run_emulated_kernel(
      "octavo_merge_tiles",
      {.grid_x = heads, .grid_y = c.rows, .threads = 32, .shared_bytes = to_size(merge_tiles_shared(c.head_dim))},
      &merge);
  EXPECT_EQ(std::memcmp(split.data(), expected.data(), expected.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionOfACard,
    ::testing::Values(Case{}, Case{.bits = Bits::kNative}, Case{.type = KvType::kF16},
                      Case{.type = KvType::kF16, .bits = Bits::kNative}, Case{.length = 1}, Case{.length = 700},
                      Case{.length = 700, .bits = Bits::kNative}, Case{.type = KvType::kF16, .length = 700},
                      Case{.head_dim = 128, .heads_of_kv = 1, .length = 300, .rows = 9},
                      Case{.head_dim = 80, .heads_of_kv = 2, .length = 300, .rows = 5, .bits = Bits::kNative},
                      Case{.type = KvType::kF16, .head_dim = 96, .heads_of_kv = 3, .length = 270, .rows = 31},
                      Case{.heads_of_kv = 12, .length = 260, .rows = 3}, Case{.block_size = 1, .length = 33, .rows = 2},
                      Case{.block_size = 2, .length = 33}, Case{.type = KvType::kF16, .block_size = 1, .length = 33},
                      Case{.block_size = 256, .length = 600}, Case{.length = 700, .rows = 3, .window = 100},
                      Case{.length = 600, .rows = 40, .window = 300, .bits = Bits::kNative},
                      Case{.type = KvType::kF16, .length = 600, .rows = 4, .window = 128},
                      Case{.length = 300, .soft_cap = 5}, Case{.type = KvType::kF16, .length = 300, .soft_cap = 5},
                      Case{.length = 300, .sinks = true}, Case{.type = KvType::kF16, .length = 600, .sinks = true},
                      Case{.head_dim = 256, .heads_of_kv = 8, .length = 40}));

}  // namespace
}  // namespace octavo::gpu

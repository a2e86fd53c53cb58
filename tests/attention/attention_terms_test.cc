// Sinks and soft caps through the plan: whatever the cut of the work, each query meets the sink of its own head once.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "attention/attention_plan.h"
#include "base/to_size.h"
#include "kernels/dispatch.h"

namespace octavo::test {
namespace {

constexpr int kBlock = 16, kDim = 8, kKvHeads = 2, kHeads = 6, kBlocks = 120;
constexpr int kF32 = 3;  // of KernelTable::attention

struct Rows {
  std::vector<std::int32_t> blocks;
  int first_position, num_rows;
};

std::vector<std::int32_t> blocks_from(int first, int count) {
  std::vector<std::int32_t> blocks(to_size(count));
  std::iota(blocks.begin(), blocks.end(), first);
  return blocks;
}

/// 20 blocks in common, then `count` from `first` on.
std::vector<std::int32_t> behind_prefix(int first, int count) {
  std::vector<std::int32_t> blocks = blocks_from(0, 20);
  for (const std::int32_t block : blocks_from(first, count)) blocks.push_back(block);
  return blocks;
}

/// A short decode, two that share a prefix of more than a tile, one of several tiles, and a chunk with many rows.
const std::vector<Rows> kSequences = {{blocks_from(100, 2), 30, 1},
                                      {behind_prefix(20, 6), 410, 1},
                                      {behind_prefix(30, 6), 400, 2},
                                      {blocks_from(40, 50), 790, 1},
                                      {blocks_from(60, 30), 300, 60}};

/// Keys and values of random blocks, as floats and in the cache; queries and sinks.
class Layer {
 public:
  Layer()
      : keys_(floats(to_size(kBlocks * kBlock * kKvHeads * kDim), 1)),
        values_(floats(keys_.size(), 2)),
        sinks_(floats(kHeads, 3)) {
    kv_.head_bytes = 2 * sizeof(float) * kBlock * kDim;
    kv_.block_bytes = kKvHeads * kv_.head_bytes;
    kv_.v_offset = sizeof(float) * kBlock * kDim;
    kv_.token_bytes = kv_.head_bytes / kBlock;
    kv_.k_order = KOrder::kDimMajor;
    kv_.block_size = kBlock;
    kv_.num_kv_heads = kKvHeads;
    kv_.k_dim = kv_.v_dim = kv_.token_stride = kDim;
    memory_.resize(kBlocks * kv_.block_bytes);
    kv_.data = memory_.data();
    for (int slot = 0; slot < kBlocks * kBlock; ++slot)
      kernels_.write_kv[kF32](kv_, slot / kBlock, slot % kBlock, keys_.data() + slot * kKvHeads * kDim,
                              values_.data() + slot * kKvHeads * kDim);
    for (const Rows& rows : kSequences) num_rows_ += rows.num_rows;
    q_ = floats(to_size(num_rows_ * kHeads * kDim), 4);
  }

  std::vector<float> run(const std::vector<Rows>& sequences, int threads, bool sinks, float cap) const {
    std::vector<float> out(q_.size(), -1);
    std::vector<AttentionSequence> given;
    std::ptrdiff_t at = 0;
    for (const Rows& rows : sequences) {
      given.push_back({rows.blocks, q_.data() + at, out.data() + at, rows.first_position, rows.num_rows});
      at += std::ptrdiff_t{rows.num_rows} * kHeads * kDim;
    }
    AttentionPlan plan({.num_heads = kHeads, .num_kv_heads = kKvHeads, .k_dim = kDim, .v_dim = kDim, .max_rows = 80},
                       threads);
    plan.build(given, {}, kBlock);
    ThreadPool pool(threads);
    const ThreadPool::Step step(pool);
    plan.run(kv_, kernels_.attention[kF32], kernels_.merge_tiles, pool,
             {.sinks = sinks ? sinks_.data() : nullptr, .soft_cap = cap});
    out.resize(to_size(at));
    return out;
  }

  std::vector<double> expected(const std::vector<Rows>& sequences, bool sinks, float cap) const {
    std::vector<double> out;
    const float* q = q_.data();
    for (const Rows& rows : sequences)
      for (int row = 0; row < rows.num_rows; ++row)
        for (int head = 0; head < kHeads; ++head, q += kDim)
          attend(rows.blocks, rows.first_position + row, head, q, sinks, cap, out);
    return out;
  }

 private:
  static std::vector<float> floats(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& x : values) x = normal(random);
    return values;
  }

  void attend(const std::vector<std::int32_t>& blocks, int position, int head, const float* q, bool sinks, float cap,
              std::vector<double>& out) const {
    const auto at = [&](int p) {
      return to_size(((blocks[to_size(p / kBlock)] * kBlock + p % kBlock) * kKvHeads + head / (kHeads / kKvHeads)) *
                     kDim);
    };
    double sum = sinks ? std::exp(static_cast<double>(sinks_[to_size(head)])) : 0;
    std::vector<double> mean(kDim, 0.0);
    for (int p = 0; p <= position; ++p) {
      double score = std::inner_product(q, q + kDim, keys_.data() + at(p), 0.0);
      if (const auto most = static_cast<double>(cap); cap != 0) score = most * std::tanh(score / most);
      const double weight = std::exp(score);
      sum += weight;
      for (std::size_t d = 0; d < kDim; ++d) mean[d] += weight * static_cast<double>(values_[at(p) + d]);
    }
    for (const double x : mean) out.push_back(x / sum);
  }

  const KernelTable& kernels_ = kernel_table(IsaLevel::kScalar);
  std::vector<float> keys_, values_;  // [blocks][block_size][kv_heads][head_dim]
  std::vector<float> sinks_;          // [heads]
  std::vector<float> q_;
  int num_rows_ = 0;
  std::vector<std::uint8_t> memory_;
  KvLayer kv_{};
};

void expect_near(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST(AttentionTerms, EveryQueryMeetsItsHeadsSinkOnce) {
  const Layer layer;
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    expect_near(layer.run(kSequences, threads, true, 0), layer.expected(kSequences, true, 0));
  }
}

TEST(AttentionTerms, EveryScoreIsCapped) {
  const Layer layer;
  for (const bool sinks : {false, true}) {
    SCOPED_TRACE(sinks);
    expect_near(layer.run(kSequences, 2, sinks, 1.5F), layer.expected(kSequences, sinks, 1.5F));
  }
}

TEST(AttentionTerms, BitsDependNeitherOnThreadsNorOnCompany) {
  const Layer layer;
  const std::vector<float> together = layer.run(kSequences, 1, true, 1.5F);
  for (const int threads : {2, 3}) EXPECT_EQ(layer.run(kSequences, threads, true, 1.5F), together) << threads;
  const std::vector<float> alone = layer.run({kSequences.front()}, 2, true, 1.5F);
  EXPECT_EQ(alone, std::vector<float>(together.begin(), together.begin() + kHeads * kDim));
}

TEST(AttentionTerms, ALayerWithoutThemIsAsBefore) {
  const Layer layer;
  expect_near(layer.run(kSequences, 2, false, 0), layer.expected(kSequences, false, 0));
}

}  // namespace
}  // namespace octavo::test

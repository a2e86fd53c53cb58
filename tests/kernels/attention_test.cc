// Attention over KV blocks against double precision, and against itself in other company.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels/portable_bits.h"
#include "tensor/dequantize.h"

namespace octavo {
namespace {

constexpr int kF16 = 0, kBF16 = 1, kQ8_0 = 2, kF32 = 3, kI16 = 4;
constexpr int kAllTypes[] = {kF16, kBF16, kQ8_0, kF32, kI16};

/// Dimensions of a head that share a scale; 0: a type without scales.
int segment_of(int kv_type) { return kv_type == kQ8_0 ? 32 : kv_type == kI16 ? 64 : 0; }

enum class Values {
  kOwn,
  kOfKeys,  // the numbers of the first dimensions of K, and memory of their own
  kInKeys,  // these dimensions of K themselves
};

struct Shape {
  int kv_type = kF32;
  int block_size = 16;
  int kv_heads = 2;
  int heads_per_kv_head = 3;
  int k_dim = 64;
  int length = 0;  // positions in the cache
  int rows = 1;    // the last `rows` of them are queries
  int window = 0;
  float q_scale = 1;  // the standard deviation of a score
  KOrder k_order = KOrder::kDimMajor;
  std::uint8_t unwritten = 0xFF;  // bytes of memory that nobody wrote: NaN in every type
  float soft_cap = 0;
  float sinks = kNoSinks;  // the mean of the query heads' sinks
  int value_dim = 0;       // 0: as k_dim
  Values values = Values::kOwn;

  int v_dim() const { return value_dim > 0 ? value_dim : k_dim; }

  static constexpr float kNoSinks = -1e9F;
};

/// A sequence's K, V and queries, in the cache and as plain floats. Blocks lie in shuffled order.
class Case {
 public:
  Case(const KernelTable& kernels, const Shape& s, std::mt19937& random) : kernels_(kernels), s_(s) {
    const int num_blocks = (s.length + s.block_size - 1) / s.block_size;
    const std::size_t element = s.kv_type == kF32 ? 4 : s.kv_type == kQ8_0 ? 1 : 2;
    const int segment = segment_of(s.kv_type);
    const auto scales = [&](int dim) { return segment > 0 ? (dim + segment - 1) / segment : 0; };
    if (s.k_order == KOrder::kTokenMajor) {  // scales, if any, behind a token's elements
      layer_.token_stride = std::max(s.k_dim + scales(s.k_dim), s.v_dim() + scales(s.v_dim()));
      layer_.v_offset = static_cast<std::ptrdiff_t>(element * layer_.token_stride * s.block_size);
      layer_.head_bytes = 2 * static_cast<std::size_t>(layer_.v_offset);
    } else {
      const std::size_t k_dims = segment > 0 ? s.k_dim + s.k_dim % 2 : s.k_dim;
      const std::size_t v_tokens = segment > 0 ? s.block_size + s.block_size % 2 : s.block_size;
      layer_.v_in_k = s.values == Values::kInKeys;
      const int own_dim = layer_.v_in_k ? 0 : s.v_dim();
      layer_.token_stride = own_dim;
      layer_.v_offset = static_cast<std::ptrdiff_t>(element * k_dims * s.block_size);
      layer_.head_bytes = element * (k_dims * s.block_size + own_dim * v_tokens) +
                          2U * (scales(s.k_dim) + scales(own_dim)) * s.block_size;
    }
    layer_.block_bytes = layer_.head_bytes * s.kv_heads;
    layer_.token_bytes = layer_.head_bytes / s.block_size;
    layer_.k_order = s.k_order;
    layer_.block_size = s.block_size;
    layer_.num_kv_heads = s.kv_heads;
    layer_.k_dim = s.k_dim;
    layer_.v_dim = s.v_dim();
    arena_.assign(layer_.block_bytes * (num_blocks + 2), s.unwritten);
    layer_.data = arena_.data();
    blocks_.resize(num_blocks);
    std::iota(blocks_.begin(), blocks_.end(), 1);
    std::shuffle(blocks_.begin(), blocks_.end(), std::mt19937(static_cast<unsigned>(s.length)));
    k_.resize(static_cast<std::size_t>(s.length) * s.kv_heads * s.k_dim);
    v_.resize(static_cast<std::size_t>(s.length) * s.kv_heads * s.v_dim());
    for (std::vector<float>* values : {&k_, &v_})
      for (float& x : *values) x = bell(random);
    for (std::size_t i = 0; i < v_.size() && s.values != Values::kOwn; ++i)
      v_[i] = k_[i / s.v_dim() * s.k_dim + i % s.v_dim()];
    if (s.sinks != Shape::kNoSinks)
      for (int head = 0; head < num_heads(); ++head) sinks_.push_back(s.sinks + bell(random));
    q_.resize(static_cast<std::size_t>(s.rows) * num_heads() * s.k_dim);
    for (float& x : q_) x = s.q_scale * bell(random) / std::sqrt(static_cast<float>(s.k_dim));
    for (int t = 0; t < s.length; ++t)
      kernels.write_kv[s.kv_type](layer_, blocks_[t / s.block_size], t % s.block_size,
                                  k_.data() + static_cast<std::size_t>(t) * s.kv_heads * s.k_dim,
                                  v_.data() + static_cast<std::size_t>(t) * s.kv_heads * s.v_dim());
  }

  int num_heads() const { return s_.kv_heads * s_.heads_per_kv_head; }
  std::size_t out_floats() const { return static_cast<std::size_t>(s_.rows) * num_heads() * s_.v_dim(); }
  int num_tiles() const { return (s_.length + kTileTokens - 1) / kTileTokens; }

  /// Queries of rows first / heads_per_kv_head .. as the kernel takes them, for KV head 0.
  std::vector<AttentionQuery> queries(float* out, int first, int count) const {
    std::vector<AttentionQuery> queries;
    for (int i = first; i < first + count; ++i) {
      const int row = i / s_.heads_per_kv_head, position = s_.length - s_.rows + row;
      const std::size_t at = static_cast<std::size_t>(row) * num_heads() + i % s_.heads_per_kv_head;
      queries.push_back({.q = q_.data() + at * s_.k_dim,
                         .out = out + at * s_.v_dim(),
                         .begin = s_.window > 0 ? std::max(0, position - s_.window + 1) : 0,
                         .end = position + 1,
                         .head = i % s_.heads_per_kv_head});
    }
    return queries;
  }

  AttentionItem item(const std::vector<AttentionQuery>& queries, int kv_head) const {
    return {.blocks = blocks_.data(),
            .queries = queries.data(),
            .partial = nullptr,
            .states = nullptr,
            .resumes = false,
            .num_queries = static_cast<int>(queries.size()),
            .kv_head = kv_head,
            .q_stride = s_.heads_per_kv_head * s_.k_dim,
            .out_stride = s_.heads_per_kv_head * s_.v_dim(),
            .begin = queries.front().begin,
            .end = queries.back().end,
            .terms = {.sinks = sinks_.empty() ? nullptr : sinks_.data(), .soft_cap = s_.soft_cap}};
  }

  /// All queries, so many an item.
  std::vector<float> run(int num_queries) const {
    std::vector<float> out(out_floats(), std::numeric_limits<float>::quiet_NaN());
    std::vector<float> scratch(attention_scratch_floats(s_.k_dim, s_.v_dim()));
    for (int head = 0; head < s_.kv_heads; ++head)
      for (int first = 0; first < s_.rows * s_.heads_per_kv_head; first += num_queries) {
        const auto some = queries(out.data(), first, std::min(num_queries, s_.rows * s_.heads_per_kv_head - first));
        const AttentionItem work = item(some, head);
        const AttentionAhead next{{{work.blocks, (work.end - 1) / layer_.block_size + 1, 0, s_.kv_heads}}, 1};
        kernels_.attention[s_.kv_type](layer_, work, next, scratch.data());
      }
    return out;
  }

  /// Item after item of a tile each, whose results are kept in states.
  std::vector<float> run_in_turn(int num_queries) const {
    std::vector<float> out(out_floats(), std::numeric_limits<float>::quiet_NaN());
    std::vector<float> states(static_cast<std::size_t>(num_queries) * (s_.v_dim() + 2), -1);
    std::vector<float> scratch(attention_scratch_floats(s_.k_dim, s_.v_dim()));
    for (int head = 0; head < s_.kv_heads; ++head)
      for (int first = 0; first < s_.rows * s_.heads_per_kv_head; first += num_queries) {
        const auto some = queries(out.data(), first, std::min(num_queries, s_.rows * s_.heads_per_kv_head - first));
        const AttentionItem whole = item(some, head);
        for (int tile = whole.begin / kTileTokens; tile * kTileTokens < whole.end; ++tile) {
          AttentionItem work = whole;
          work.begin = std::max(whole.begin, tile * kTileTokens);
          work.end = std::min(whole.end, (tile + 1) * kTileTokens);
          work.states = states.data();
          work.resumes = work.begin > whole.begin;
          kernels_.attention[s_.kv_type](layer_, work, {}, scratch.data());
        }
      }
    return out;
  }

  /// Each tile by itself, last one first; then merged, `at_once` tiles at a time.
  std::vector<float> run_tiles(int num_queries, int at_once) const {
    std::vector<float> out(out_floats(), std::numeric_limits<float>::quiet_NaN());
    const std::size_t state = s_.v_dim() + 2;
    std::vector<float> partial(static_cast<std::size_t>(num_tiles()) * num_queries * state),
        states(num_queries * state);
    std::vector<float> scratch(attention_scratch_floats(s_.k_dim, s_.v_dim()));
    for (int head = 0; head < s_.kv_heads; ++head)
      for (int first = 0; first < s_.rows * s_.heads_per_kv_head; first += num_queries) {
        const auto some = queries(out.data(), first, std::min(num_queries, s_.rows * s_.heads_per_kv_head - first));
        const std::size_t stride = some.size() * state;
        const AttentionItem whole = item(some, head);
        for (int tile = num_tiles() - 1; tile >= whole.begin / kTileTokens; --tile) {
          AttentionItem work = whole;
          work.begin = std::max(whole.begin, tile * kTileTokens);
          work.end = std::min(whole.end, (tile + 1) * kTileTokens);
          work.partial = partial.data() + tile * stride;
          if (work.begin < work.end) kernels_.attention[s_.kv_type](layer_, work, {}, scratch.data());
        }
        const int begin = whole.begin / kTileTokens, end = (whole.end - 1) / kTileTokens + 1;
        for (int tile = begin; tile < end; tile += at_once)
          kernels_.merge_tiles({.partials = partial.data() + tile * stride,
                                .states = states.data(),
                                .queries = tile + at_once >= end ? some.data() : nullptr,
                                .stride = static_cast<std::int64_t>(stride),
                                .head = static_cast<std::ptrdiff_t>(head) * whole.out_stride,
                                .num_tiles = std::min(at_once, end - tile),
                                .num_queries = static_cast<std::int32_t>(some.size()),
                                .v_dim = s_.v_dim(),
                                .first = tile == begin,
                                .sinks = sinks_.empty() ? nullptr : sinks_.data() + head * s_.heads_per_kv_head});
      }
    return out;
  }

  std::vector<double> reference() const {
    std::vector<double> out(out_floats());
    for (int row = 0; row < s_.rows; ++row)
      for (int head = 0; head < num_heads(); ++head) reference_row(row, head, out);
    return out;
  }

 private:
  void reference_row(int row, int head, std::vector<double>& out) const {
    const int position = s_.length - s_.rows + row;
    const int first = s_.window > 0 ? std::max(0, position - s_.window + 1) : 0;
    const float* q = q_.data() + (static_cast<std::size_t>(row) * num_heads() + head) * s_.k_dim;
    double* o = out.data() + (static_cast<std::size_t>(row) * num_heads() + head) * s_.v_dim();
    std::vector<double> score;
    for (int t = first; t <= position; ++t) {
      const float* k = k_.data() + (static_cast<std::size_t>(t) * s_.kv_heads + head / s_.heads_per_kv_head) * s_.k_dim;
      score.push_back(std::inner_product(q, q + s_.k_dim, k, 0.0));
      if (s_.soft_cap != 0) score.back() = s_.soft_cap * std::tanh(score.back() / s_.soft_cap);
    }
    const double sink = sinks_.empty() ? -INFINITY : sinks_[head];
    const double top = std::max(sink, *std::max_element(score.begin(), score.end()));
    double total = std::exp(sink - top);
    for (double& x : score) total += x = std::exp(x - top);
    for (int t = first; t <= position; ++t) {
      const float* v =
          v_.data() + (static_cast<std::size_t>(t) * s_.kv_heads + head / s_.heads_per_kv_head) * s_.v_dim();
      for (int d = 0; d < s_.v_dim(); ++d) o[d] += score[t - first] / total * v[d];
    }
  }

  const KernelTable& kernels_;
  Shape s_;
  KvLayer layer_{};
  std::vector<std::uint8_t> arena_;
  std::vector<std::int32_t> blocks_;
  std::vector<float> k_, v_, q_;
  std::vector<float> sinks_;  // [query heads], or none
};

class Attention : public KernelTest {};
OCTAVO_FOR_EACH_LEVEL(Attention);

const Shape kShapes[] = {
    {.length = 1},
    {.heads_per_kv_head = 1, .k_dim = 128, .length = 17},
    {.kv_heads = 1, .heads_per_kv_head = 16, .length = 130, .rows = 2},
    {.length = 300, .rows = 40},
    {.heads_per_kv_head = 4, .k_dim = 80, .length = 700, .rows = 3},
    {.kv_heads = 1, .heads_per_kv_head = 4, .k_dim = 256, .length = 600, .rows = 70, .window = 100},
    {.block_size = 32, .heads_per_kv_head = 2, .length = 513, .rows = 9, .window = 512},
    {.block_size = 4, .heads_per_kv_head = 2, .length = 50, .rows = 5},
    {.block_size = 1, .heads_per_kv_head = 1, .k_dim = 6, .length = 21, .rows = 21},
    {.block_size = 4, .kv_heads = 1, .heads_per_kv_head = 2, .k_dim = 512, .length = 40, .rows = 2},
    {.block_size = 256, .heads_per_kv_head = 8, .length = 290, .rows = 6},
    {.heads_per_kv_head = 1, .k_dim = 96, .length = 1100, .rows = 40},
    {.kv_heads = 1, .heads_per_kv_head = 3, .k_dim = 33, .length = 270, .rows = 2},
    // Keys that are wider than values, and values that are wider.
    {.heads_per_kv_head = 4, .k_dim = 192, .length = 300, .rows = 12, .value_dim = 128},
    {.kv_heads = 1, .heads_per_kv_head = 16, .k_dim = 576, .length = 270, .rows = 2, .value_dim = 512},
    {.block_size = 4, .k_dim = 33, .length = 40, .rows = 9, .value_dim = 71},
    // Values that lie in keys.
    {.kv_heads = 1,
     .heads_per_kv_head = 16,
     .k_dim = 576,
     .length = 270,
     .rows = 2,
     .value_dim = 512,
     .values = Values::kInKeys},
    {.k_dim = 40, .length = 300, .rows = 9, .window = 100, .value_dim = 33, .values = Values::kInKeys},
    {.block_size = 4, .heads_per_kv_head = 5, .k_dim = 36, .length = 50, .value_dim = 21, .values = Values::kInKeys},
    {.block_size = 1, .kv_heads = 1, .k_dim = 7, .length = 21, .rows = 21, .values = Values::kInKeys},
    {.block_size = 256,
     .heads_per_kv_head = 20,
     .k_dim = 80,
     .length = 520,
     .rows = 7,
     .value_dim = 64,
     .values = Values::kInKeys},
};
// Of these, those that differ in passes, masks, blocks and tiles.
const Shape kFewShapes[] = {kShapes[0], kShapes[3], kShapes[6], kShapes[8], kShapes[12], kShapes[13]};
constexpr double kBounds[] = {2e-3, 1.5e-2, 3e-2, 1e-5, 1e-3};  // by element type, in the order of kAllTypes

TEST_P(Attention, EqualsDoublePrecisionForEveryElementType) {
  for (Shape shape : kShapes)
    for (const int type : kAllTypes) {
      shape.kv_type = type;
      const Case c(kernels(), shape, random);
      const std::vector<float> got = c.run(kMaxItemQueries);
      const std::vector<double> expected = c.reference();
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], expected[i], kBounds[type]) << "length " << shape.length << " type " << type << " at " << i;
    }
}

// Sinks far below the scores, among them and far above them.
TEST_P(Attention, SinksShareInTheSoftmaxAndHaveNoValue) {
  for (Shape shape : kFewShapes)
    for (const int type : kAllTypes)
      for (const float sinks : {-300.0F, 2.0F, 300.0F}) {
        shape.kv_type = type;
        shape.sinks = sinks;
        const Case c(kernels(), shape, random);
        const std::vector<float> got = c.run(kMaxItemQueries);
        const std::vector<double> expected = c.reference();
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], expected[i], kBounds[type])
              << "length " << shape.length << " type " << type << " sinks " << sinks << " at " << i;
      }
}

TEST_P(Attention, SoftCapsBendScoresBeforeTheSoftmax) {
  for (Shape shape : kFewShapes)
    for (const int type : kAllTypes)
      for (const float cap : {0.5F, 3.0F}) {
        shape.kv_type = type;
        shape.soft_cap = cap;
        shape.sinks = cap > 1 ? 1.0F : Shape::kNoSinks;
        const Case c(kernels(), shape, random);
        const std::vector<float> got = c.run(kMaxItemQueries);
        const std::vector<double> expected = c.reference();
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], expected[i], kBounds[type])
              << "length " << shape.length << " type " << type << " cap " << cap << " at " << i;
      }
}

TEST_P(Attention, BitsDoNotDependOnTheCutWithSinksAndSoftCaps) {
  for (Shape shape : kFewShapes)
    for (const int type : kAllTypes) {
      shape.kv_type = type;
      shape.soft_cap = 2;
      shape.sinks = 1;
      const Case c(kernels(), shape, random);
      const std::vector<float> whole = c.run(kMaxItemQueries);
      const auto same = [&](const std::vector<float>& other) {
        return std::memcmp(whole.data(), other.data(), whole.size() * sizeof(float)) == 0;
      };
      for (const int count : {1, 3, 8, 13}) {
        ASSERT_TRUE(same(c.run(count))) << "length " << shape.length << " type " << type << " queries " << count;
        ASSERT_TRUE(same(c.run_in_turn(count)))
            << "length " << shape.length << " type " << type << " in turn " << count;
        ASSERT_TRUE(same(c.run_tiles(count, 2))) << "length " << shape.length << " type " << type << " tiles " << count;
      }
    }
}

TEST_P(Attention, BitsDoNotDependOnWhichQueriesShareAnItem) {
  for (Shape shape : kShapes)
    for (const int type : kAllTypes) {
      shape.kv_type = type;
      const Case c(kernels(), shape, random);
      const std::vector<float> whole = c.run(kMaxItemQueries);
      for (const int count : {1, 3, 5, 7, 8, 13, 21}) {
        const std::vector<float> parts = c.run(count);
        ASSERT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)), 0)
            << "length " << shape.length << " type " << type << " queries " << count;
      }
    }
}

TEST_P(Attention, MergedTilesHaveTheBitsOfOneItem) {
  for (Shape shape : kShapes)
    for (const int type : {kF16, kQ8_0, kF32, kI16}) {
      shape.kv_type = type;
      const Case c(kernels(), shape, random);
      const std::vector<float> whole = c.run(kMaxTileQueries);
      for (const int at_once : {1, 2, 100}) {
        const std::vector<float> tiles = c.run_tiles(kMaxTileQueries, at_once);
        ASSERT_EQ(std::memcmp(whole.data(), tiles.data(), whole.size() * sizeof(float)), 0)
            << "length " << shape.length << " type " << type << " merged " << at_once << " at once";
      }
    }
}

TEST_P(Attention, TilesInTurnHaveTheBitsOfOneItem) {
  for (Shape shape : kShapes)
    for (const int type : kAllTypes) {
      shape.kv_type = type;
      const Case c(kernels(), shape, random);
      const std::vector<float> whole = c.run(kMaxItemQueries);
      for (const int count : {1, 8, 21}) {
        const std::vector<float> tiles = c.run_in_turn(count);
        ASSERT_EQ(std::memcmp(whole.data(), tiles.data(), whole.size() * sizeof(float)), 0)
            << "length " << shape.length << " type " << type << " queries " << count;
      }
    }
}

// Each would take a processor many times as long as others.
TEST_P(Attention, ScoresFarApartMakeNoSubnormalNumbers) {
  for (const float deviation : {25.0F, 100.0F})  // weights of a tile far apart, tiles far apart
    for (const int type : kAllTypes) {
      // A q8_0 dimension that is 0 in one tile leaves earlier ones to be merged, and to fade, twice.
      if (type == kQ8_0 && deviation > 25) continue;
      const Case c(kernels(), {.kv_type = type, .length = 1500, .rows = 4, .q_scale = deviation}, random);
      std::feclearexcept(FE_UNDERFLOW);
      c.run(kMaxTileQueries);
      EXPECT_FALSE(std::fetestexcept(FE_UNDERFLOW)) << "type " << type << " deviation " << deviation;
    }
}

// Largest integers, and large numbers, in lanes that are masked afterwards.
TEST_P(Attention, MemoryThatNobodyWroteReachesNoResult) {
  for (Shape shape : kShapes)
    for (const int type : kAllTypes) {
      shape.kv_type = type;
      shape.soft_cap = shape.length % 2 == 0 ? 5.0F : 0.0F;
      shape.unwritten = 0xFF;
      random.seed(9);
      const std::vector<float> expected = Case(kernels(), shape, random).run(kMaxTileQueries);
      for (const std::uint8_t unwritten : {std::uint8_t{0x7F}, std::uint8_t{0x80}}) {
        shape.unwritten = unwritten;
        random.seed(9);
        const std::vector<float> got = Case(kernels(), shape, random).run(kMaxTileQueries);
        ASSERT_EQ(std::memcmp(expected.data(), got.data(), got.size() * sizeof(float)), 0)
            << "length " << shape.length << " type " << type << " unwritten " << int{unwritten};
      }
    }
}

// Of whole segments, so that both have the same scales.
TEST_P(Attention, ValuesInKeysHaveTheBitsOfValuesBesideThem) {
  const Shape shapes[] = {
      {.kv_heads = 1, .heads_per_kv_head = 16, .k_dim = 576, .length = 270, .rows = 2, .value_dim = 512},
      {.heads_per_kv_head = 20, .k_dim = 80, .length = 530, .rows = 7, .value_dim = 64},
      {.heads_per_kv_head = 5, .k_dim = 144, .length = 300, .rows = 9, .window = 100, .value_dim = 128},
      {.block_size = 8, .kv_heads = 1, .k_dim = 66, .length = 41, .rows = 9, .sinks = 0.5F, .value_dim = 64},
      {.block_size = 2, .heads_per_kv_head = 2, .k_dim = 96, .length = 270, .soft_cap = 4, .value_dim = 64},
      {.block_size = 64, .heads_per_kv_head = 1, .k_dim = 128, .length = 290}};
  for (Shape shape : shapes)
    for (const int type : kAllTypes) {
      shape.kv_type = type;
      shape.values = Values::kOfKeys;
      random.seed(11);
      const std::vector<float> expected = Case(kernels(), shape, random).run(kMaxItemQueries);
      shape.values = Values::kInKeys;
      random.seed(11);
      const Case in_keys(kernels(), shape, random);
      for (const int count : {1, 3, 8, kMaxItemQueries})
        ASSERT_EQ(in_keys.run(count), expected)
            << "length " << shape.length << " type " << type << " queries " << count;
      ASSERT_EQ(in_keys.run_in_turn(21), expected) << "length " << shape.length << " type " << type;
      ASSERT_EQ(in_keys.run_tiles(13, 2), expected) << "length " << shape.length << " type " << type;
    }
}

TEST_P(Attention, BitsDoNotDependOnTheOrderOfK) {
  for (const Shape& shape : kShapes)
    for (const int type : {kF16, kBF16, kF32, kI16}) {
      if (shape.values == Values::kInKeys) continue;  // K lies by dimension there
      Shape by_dim = shape, by_token = shape;
      by_dim.kv_type = by_token.kv_type = type;
      by_token.k_order = KOrder::kTokenMajor;
      by_token.block_size = shape.length + 3;  // one block, of no round size, as in the contiguous layout
      random.seed(8);
      const std::vector<float> expected = Case(kernels(), by_dim, random).run(kMaxTileQueries);
      random.seed(8);
      const std::vector<float> got = Case(kernels(), by_token, random).run(kMaxTileQueries);
      ASSERT_EQ(std::memcmp(expected.data(), got.data(), got.size() * sizeof(float)), 0)
          << "length " << shape.length << " type " << type;
    }
}

class PortableAttention : public PortableTest {};
OCTAVO_FOR_EACH_LEVEL(PortableAttention);

TEST_P(PortableAttention, HasTheSameBitsOnEveryLevel) {
  const Shape shapes[] = {
      {.block_size = 16, .heads_per_kv_head = 3, .k_dim = 64, .length = 300, .rows = 2},
      {.block_size = 4, .kv_heads = 1, .heads_per_kv_head = 2, .k_dim = 72, .length = 270, .rows = 3, .window = 50},
      {.block_size = 8, .kv_heads = 1, .k_dim = 96, .length = 41, .rows = 9, .sinks = 0.5F},
      {.block_size = 32, .kv_heads = 1, .k_dim = 128, .length = 290, .rows = 2, .q_scale = 6, .soft_cap = 4},
      {.block_size = 16, .heads_per_kv_head = 1, .k_dim = 80, .length = 13, .rows = 1}};
  for (const int type : kAllTypes)
    for (std::size_t i = 0; i < std::size(shapes); ++i) {
      Shape shape = shapes[i];
      shape.kv_type = type;
      std::mt19937 own(static_cast<unsigned>(i));
      const Case here(kernels(), shape, own);
      const std::vector<float> all = here.run(24);
      const std::string name = "attention " + std::to_string(type) + "." + std::to_string(i);
      expect_portable(name, std::span<const float>(all));
      EXPECT_EQ(here.run_in_turn(5), all) << name;
    }
}

TEST_P(Attention, BitsDoNotDependOnTheBlockSize) {
  for (const Values values : {Values::kOwn, Values::kInKeys})
    for (const int type : kAllTypes) {
      std::vector<float> first;
      for (const int block_size : {16, 1, 2, 4, 8, 32, 64, 128, 256}) {
        random.seed(7);  // the same K, V and queries
        const Case c(kernels(), {.kv_type = type, .block_size = block_size, .length = 270, .rows = 7, .values = values},
                     random);
        const std::vector<float> got = c.run(kMaxTileQueries);
        if (first.empty()) first = got;
        ASSERT_EQ(std::memcmp(first.data(), got.data(), got.size() * sizeof(float)), 0)
            << "block size " << block_size << " type " << type;
      }
    }
}

}  // namespace
}  // namespace octavo

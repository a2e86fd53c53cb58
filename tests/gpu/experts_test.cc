// Mixtures of experts on the card, against the processor's choices and kernels: the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "base/math.h"
#include "base/to_size.h"
#include "cpu/expert_choices.h"
#include "gpu/emulation/emulated_kernels.h"
#include "gpu/kernels/expert_arguments.h"
#include "gpu/packed_weights.h"
#include "gpu/product_launch.h"
#include "kernels/dispatch.h"
#include "kernels/pack.h"

namespace octavo::gpu {
namespace {

std::vector<float> normals(std::size_t count, unsigned seed, float deviation = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> of(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = of(random);
  return values;
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Row `row` of a matrix.
std::vector<float> row_of(const std::vector<float>& matrix, std::size_t row, std::size_t width) {
  const float* begin = matrix.data() + row * width;
  return {begin, begin + width};
}

/// Runs a kernel; threads and copies take another order each time.
void run(const simt::EmulatedLaunch& launch, std::string_view kernel, const void* argument) {
  static int launches = 0;
  simt::EmulatedLaunch next = launch;
  ++launches;
  next.copies = launches % 2 == 0 ? simt::Copies::kLate : simt::Copies::kAtOnce;
  next.order = launches / 2 % 2 == 0 ? simt::ThreadOrder::kAscending : simt::ThreadOrder::kDescending;
  simt::run_emulated_kernel(kernel, next, argument);
}
void run(const KernelLaunch& launch) {
  run({.grid_x = launch.grid_x,
       .grid_y = launch.grid_y,
       .threads = launch.threads,
       .shared_bytes = to_size(launch.shared_bytes)},
      launch.kernel, launch.argument.data());
}

/// Rows of scores that chose on both sides.
class Choices {
 public:
  Choices(const ExpertsFfnSpec& spec, int rows, std::vector<float> scores, const std::vector<float>& bias = {})
      : spec_(spec),
        rows_(rows),
        of_cpu_(rows, spec.num_experts, spec.num_chosen),
        experts_(count()),
        weights_(count()) {
    not_finite_.assign(to_size(rows + kFirstRow), 0);
    const ChooseExpertsArguments a{.scores = scores.data(),
                                   .bias = bias.empty() ? nullptr : bias.data(),
                                   .batch_rows = nullptr,
                                   .experts = experts_.data(),
                                   .weights = weights_.data(),
                                   .not_finite = not_finite_.data(),
                                   .first_row = kFirstRow,
                                   .num_experts = spec.num_experts,
                                   .num_chosen = spec.num_chosen,
                                   .weights_scale = spec.router.weights_scale,
                                   .sums_to_one = spec.router.sums_to_one};
    run({.grid_x = rows, .threads = kRowThreads, .shared_bytes = to_size(choose_experts_shared(spec.num_experts))},
        "octavo_choose_experts", &a);
    of_cpu_.begin(rows, spec);
    for (int row = 0; row < rows; ++row) {
      float* of_row = scores.data() + row * spec.num_experts;
      for (std::size_t i = 0; i < bias.size(); ++i) of_row[i] += bias[i];
      of_cpu_.choose(row, {of_row, to_size(spec.num_experts)});
    }
    of_cpu_.group();
  }

  void expect_same() const {
    for (int row = 0; row < rows_; ++row) {
      EXPECT_EQ(not_finite_[to_size(row + kFirstRow)], of_cpu_.is_finite(row) ? 0 : 1) << row;
      for (int rank = 0; rank < spec_.num_chosen; ++rank) {
        const std::size_t choice = to_size(row * spec_.num_chosen + rank);
        EXPECT_EQ(experts_[choice], of_cpu_.expert(row, rank)) << row << ' ' << rank;
        const float weight = of_cpu_.weight(row, rank);
        EXPECT_EQ(std::memcmp(&weights_[choice], &weight, sizeof weight), 0) << row << ' ' << rank;
      }
    }
  }

  /// The card's slots and items, which the plan says how to make.
  void group(const ItemPlan& plan) {
    slots_.assign(count(), -1);
    items_.assign(to_size(plan.max_items), {-1, -1, -1});
    bytes_read_ = 5;
    const GroupChoicesArguments a{.experts = experts_.data(),
                                  .slots = slots_.data(),
                                  .items = items_.data(),
                                  .bytes_read = &bytes_read_,
                                  .bytes_of_one = 1000,
                                  .num_choices = static_cast<int>(count()),
                                  .num_experts = spec_.num_experts,
                                  .item_rows = plan.item_rows,
                                  .max_items = plan.max_items};
    run({.grid_x = spec_.num_experts,
         .threads = kRowThreads,
         .shared_bytes = to_size(group_choices_shared(spec_.num_experts))},
        "octavo_group_choices", &a);
  }

  /// Slots are those of the processor, but for each expert's begin; items are all of them and nothing else.
  void expect_same_groups(const ItemPlan& plan) const {
    std::size_t item = 0;
    int next = 0;
    std::vector<int> first(to_size(spec_.num_experts));
    for (const ExpertChoices::Group& g : of_cpu_.groups()) {
      first[to_size(g.expert)] = next - g.first;
      for (int done = 0; done < g.count; done += plan.item_rows, ++item) {
        EXPECT_EQ(items_.at(item).expert, g.expert);
        EXPECT_EQ(items_[item].first_slot, next + done);
        EXPECT_EQ(items_[item].num_rows, std::min(plan.item_rows, g.count - done));
      }
      next = (next + g.count + kRowsOfTile - 1) / kRowsOfTile * kRowsOfTile;
    }
    EXPECT_LE(next, max_slots(rows_, spec_.num_experts, spec_.num_chosen));
    EXPECT_LE(plan.max_items, max_items(rows_, spec_.num_experts, spec_.num_chosen));
    for (; item < items_.size(); ++item) EXPECT_EQ(items_[item].num_rows, 0);
    for (int row = 0; row < rows_; ++row)
      for (int rank = 0; rank < spec_.num_chosen; ++rank)
        EXPECT_EQ(slots_[to_size(row * spec_.num_chosen + rank)],
                  of_cpu_.slot(row, rank) + first[to_size(of_cpu_.expert(row, rank))]);
    EXPECT_EQ(bytes_read_, 5 + 1000 * of_cpu_.groups().size());
  }

  std::size_t count() const { return to_size(rows_ * spec_.num_chosen); }
  int num_slots() const { return max_slots(rows_, spec_.num_experts, spec_.num_chosen); }
  const std::vector<std::int32_t>& experts() const { return experts_; }
  const std::vector<std::int32_t>& slots() const { return slots_; }
  const std::vector<float>& weights() const { return weights_; }
  const std::vector<ExpertItem>& items() const { return items_; }

 private:
  static constexpr int kFirstRow = 3;

  ExpertsFfnSpec spec_;
  int rows_;
  ExpertChoices of_cpu_;
  std::vector<std::int32_t> experts_;
  std::vector<float> weights_;
  std::vector<std::int32_t> not_finite_, slots_;
  std::vector<ExpertItem> items_;
  std::uint64_t bytes_read_ = 0;
};

std::vector<float> scores_of(const ExpertsFfnSpec& spec, int rows, unsigned seed) {
  return normals(to_size(rows * spec.num_experts), seed, 4);
}

TEST(ChoicesOfCard, AreThoseOfTheProcessor) {
  for (const int experts : {1, 2, 8, 31, 32, 33, 128, 255, 256, 257, 300})
    for (const bool sums_to_one : {true, false}) {
      const ExpertsFfnSpec spec{.num_experts = experts,
                                .num_chosen = std::min(experts, experts % 2 == 0 ? 8 : 3),
                                .router = {.sums_to_one = sums_to_one, .weights_scale = sums_to_one ? 1 : 2.5F}};
      Choices(spec, 3, scores_of(spec, 3, 1)).expect_same();
      Choices(spec, 2, scores_of(spec, 2, 2), normals(to_size(experts), 3)).expect_same();
    }
}

TEST(ChoicesOfCard, OfEqualScoresAreThoseOfTheProcessor) {
  std::mt19937 random(3);
  const ExpertsFfnSpec spec{.num_experts = 40, .num_chosen = 6};
  std::vector<float> scores(20 * 40);
  for (float& score : scores) score = random() % 3 == 0 ? -0.0F : static_cast<float>(random() % 3);
  Choices(spec, 20, scores).expect_same();
  std::vector<float> far(40, -3e38F);
  far[39] = 3e38F;
  Choices(spec, 1, far).expect_same();
}

TEST(ChoicesOfCard, OfScoresThatAreNotFiniteAreThoseOfTheProcessor) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const ExpertsFfnSpec spec{.num_experts = 12, .num_chosen = 4};
  for (const float bad : {nan, inf, -inf})
    for (int expert = 0; expert < 12; ++expert) {
      std::vector<float> scores = scores_of(spec, 4, 5);
      scores[to_size(12 + expert)] = bad;
      scores[to_size(36 + expert)] = bad;
      scores[to_size(36 + 11 - expert)] = nan;
      Choices(spec, 4, scores).expect_same();
    }
}

TEST(GroupsOfCard, AreThoseOfTheProcessor) {
  const DType types[] = {DType::kQ4_K, DType::kQ6_K};
  for (const int experts : {1, 6, 8, 64, 300})
    for (const int rows : {1, 2, 7, 8, 9, 31, 33, 129, 300}) {
      const ExpertsFfnSpec spec{.num_experts = experts, .num_chosen = std::min(experts, 3)};
      Choices choices(spec, rows, scores_of(spec, rows, 7));
      const ItemPlan plan = plan_items(rows, experts, spec.num_chosen, types);
      choices.group(plan);
      choices.expect_same_groups(plan);
    }
}

TEST(ItemsOfCard, HaveAShapeThatFollowsFromTheAverage) {
  const DType types[] = {DType::kQ4_K, DType::kQ6_K}, floats[] = {DType::kQ4_K, DType::kF16};
  EXPECT_EQ(plan_items(1, 128, 8, types).shape, ItemShape::kOne);
  EXPECT_EQ(plan_items(1, 128, 8, types).max_items, 8);
  EXPECT_EQ(plan_items(8, 2, 2, types).shape, ItemShape::kFew);
  EXPECT_EQ(plan_items(32, 128, 8, types).shape, ItemShape::kFew);
  EXPECT_EQ(plan_items(32, 128, 8, types).max_items, 128 + 32);
  EXPECT_EQ(plan_items(256, 128, 8, types).shape, ItemShape::kNarrow);
  EXPECT_EQ(plan_items(1024, 128, 8, types).shape, ItemShape::kWide);
  EXPECT_EQ(plan_items(1024, 128, 8, types).item_rows,
            8 * std::min(wide_shape(DType::kQ4_K).tiles(), wide_shape(DType::kQ6_K).tiles()));
  EXPECT_EQ(plan_items(1024, 128, 8, floats).shape, ItemShape::kFew);
}

/// Experts of one format, which meet groups of rows on the card, and one row at a time on the processor.
class ProductsOfExperts : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (table_of(GetParam()) == nullptr) GTEST_SKIP() << "not run, the processor lacks AVX2";
  }

  void expect_same(int experts, int chosen, int rows, ItemShape shape) {
    const DType type = GetParam().type;
    const std::int64_t outputs = 37, cols = packed_block(type).block == 256 ? 512 : 384;
    const ExpertsFfnSpec spec{.num_experts = experts, .num_chosen = chosen};
    const ItemPlan plan = plan_items(rows, experts, chosen, {&type, 1});
    EXPECT_EQ(plan.shape, is_plain_float(type) ? std::min(shape, ItemShape::kFew) : shape);
    Choices choices(spec, rows, scores_of(spec, rows, 11));
    choices.group(plan);
    const std::vector<float> x = normals(to_size(rows * cols), 12), found = by_card(choices, plan, outputs, x, chosen);
    for (std::size_t choice = 0; choice < choices.count(); ++choice) {
      const float* row = x.data() + static_cast<std::int64_t>(choice) / chosen * cols;
      const std::vector<float> expected = by_cpu(choices.experts()[choice], outputs, row);
      EXPECT_EQ(std::memcmp(expected.data(), found.data() + choices.slots()[choice] * outputs,
                            expected.size() * sizeof(float)),
                0)
          << rows << " rows, choice " << choice;
    }
  }

 private:
  std::vector<float> by_card(const Choices& choices, const ItemPlan& plan, std::int64_t outputs,
                             const std::vector<float>& x, int chosen) {
    const DType type = GetParam().type;
    const auto cols = packed_block(type).block == 256 ? 512 : 384;
    const bool int8 = !is_plain_float(type);
    pack(outputs, cols);
    std::vector<float> floats(to_size(choices.num_slots() * cols)), y(to_size(choices.num_slots() * outputs));
    Lines acts(act_bytes(choices.num_slots(), cols));
    auto* const pairs = reinterpret_cast<ActPair*>(acts.data());
    const GatherChoicesArguments gather{.x = x.data(),
                                        .slots = choices.slots().data(),
                                        .floats = int8 ? nullptr : floats.data(),
                                        .int8 = int8 ? pairs : nullptr,
                                        .cols = cols,
                                        .num_chosen = chosen};
    run({.grid_y = static_cast<int>(choices.count()), .threads = kRowThreads}, "octavo_gather_choices", &gather);
    const WeightsOnCard weights{type, outputs, cols, packed_->data()};
    const ExpertItem* items = choices.items().data();
    run(int8 ? experts_launch(weights, bytes_of_one_, GetParam().order, plan, items, pairs, y.data(), 2)
             : experts_launch(weights, bytes_of_one_, plan, items, floats.data(), y.data()));
    return y;
  }

  /// All experts, in the CPU's panels.
  void pack(std::int64_t outputs, std::int64_t cols) {
    const DType type = GetParam().type;
    std::mt19937 random(13);
    bytes_of_one_ = packed_bytes(type, outputs, cols);
    packed_ = std::make_unique<Lines>(kExperts * bytes_of_one_);
    for (std::size_t i = 0; i < kExperts; ++i) {
      const std::vector<std::byte> file = random_weights(type, outputs, cols, random);
      pack_panels({type, outputs, cols, file}, 0, num_panels(outputs), packed_->data() + i * bytes_of_one_);
    }
  }

  std::vector<float> by_cpu(int expert, std::int64_t outputs, const float* x) {
    const DType type = GetParam().type;
    const auto cols = packed_block(type).block == 256 ? 512 : 384;
    const KernelTable& table = *table_of(GetParam());
    Lines tile(act_row_bytes(cols));
    table.quantize_row(x, cols, act_place(tile.data(), cols, 0, 1, table.tile_rows));
    std::vector<float> y(to_size(outputs));
    table.matmul[dtype_index(type)]({type, outputs, cols, packed_->data() + to_size(expert) * bytes_of_one_},
                                    {cols, x, tile.data()}, 0, num_panels(outputs), 0, 1, y.data(), outputs);
    return y;
  }

  static constexpr std::size_t kExperts = 12;
  std::unique_ptr<Lines> packed_;
  std::uint64_t bytes_of_one_ = 0;
};

TEST_P(ProductsOfExperts, HaveTheBitsOfTheProcessor) {
  expect_same(12, 3, 1, ItemShape::kOne);
  expect_same(12, 3, 5, ItemShape::kFew);
  expect_same(4, 2, 40, ItemShape::kNarrow);
  expect_same(2, 1, 150, ItemShape::kWide);
}

INSTANTIATE_TEST_SUITE_P(Formats, ProductsOfExperts, ::testing::ValuesIn(kCases), name_of);

/// The parts around products, in the order of native AVX2 and of portable bits.
class PartsOfExperts : public ::testing::TestWithParam<Bits> {
 protected:
  PartsOfExperts() : choices_(kSpec, kRows, scores_of(kSpec, kRows, 21)) {
    choices_.group(plan_items(kRows, kSpec.num_experts, kSpec.num_chosen, {&kType, 1}));
  }
  const KernelTable& kernels() const { return kernel_table(IsaLevel::kAvx2, GetParam()); }
  std::size_t slot(std::size_t choice) const { return to_size(choices_.slots()[choice]); }
  std::size_t expert(std::size_t choice) const { return to_size(choices_.experts()[choice]); }

  static constexpr int kRows = 5;
  static constexpr DType kType = DType::kQ8_0;
  static constexpr ExpertsFfnSpec kSpec{.num_experts = 6, .num_chosen = 3};
  Choices choices_;
};

TEST_P(PartsOfExperts, ActivateAsTheProcessor) {
  const int width = 1120;  // behind the columns of a block
  const auto w = to_size(width);
  const std::vector<float> gate = normals(to_size(choices_.num_slots()) * w, 1, 4), up = normals(gate.size(), 2, 4),
                           gate_bias = normals(6 * w, 3), up_bias = normals(6 * w, 4);
  std::vector<float> found(gate.size());
  std::vector<ActPair> int8(act_bytes(choices_.num_slots(), width) / sizeof(ActPair)), of_rows(int8.size());
  const ActivateChoicesArguments a{.gate = gate.data(),
                                   .up = up.data(),
                                   .gate_bias = gate_bias.data(),
                                   .up_bias = up_bias.data(),
                                   .slots = choices_.slots().data(),
                                   .experts = choices_.experts().data(),
                                   .floats = found.data(),
                                   .int8 = int8.data(),
                                   .width = width,
                                   .activation = Activation::kClampedSwiglu};
  run({.grid_x = 2, .grid_y = static_cast<int>(choices_.count()), .threads = kRowThreads}, "octavo_activate_choices",
      &a);
  std::vector<float> expected(gate.size());
  for (std::size_t i = 0; i < choices_.count(); ++i) {
    std::vector<float> g = row_of(gate, slot(i), w), u = row_of(up, slot(i), w);
    kernels().add(g.data(), gate_bias.data() + expert(i) * w, width);
    kernels().add(u.data(), up_bias.data() + expert(i) * w, width);
    kernels().clamped_swiglu(g.data(), u.data(), width, expected.data() + slot(i) * w);
  }
  EXPECT_TRUE(same(found, expected));
  run(quantize_launch(expected.data(), width, choices_.num_slots(), width, of_rows.data()));
  const auto rows_of = [&](const std::vector<ActPair>& pairs, std::size_t row) {
    std::vector<std::int8_t> q;
    for (std::size_t p = 0; p < to_size(act_pairs(width)); ++p) {
      const ActPair& pair = pairs[row / kRowsOfTile * to_size(act_pairs(width)) + p];
      const auto* begin = &pair.q[row % kRowsOfTile][0][0][0][0];
      q.insert(q.end(), begin, begin + kPairCols);
    }
    return q;
  };
  for (std::size_t i = 0; i < choices_.count(); ++i) EXPECT_EQ(rows_of(int8, slot(i)), rows_of(of_rows, slot(i)));
}

TEST_P(PartsOfExperts, CombineAsTheProcessor) {
  const int width = 300;
  const auto w = to_size(width);
  const std::vector<float> results = normals(to_size(choices_.num_slots()) * w, 1), bias = normals(6 * w, 2),
                           scales = normals(6, 3), shared = normals(kRows * w, 4), gates = normals(kRows, 5, 3);
  std::vector<float> found(kRows * w), expected(kRows * w);
  const CombineChoicesArguments a{.results = results.data(),
                                  .bias = bias.data(),
                                  .scales = scales.data(),
                                  .slots = choices_.slots().data(),
                                  .experts = choices_.experts().data(),
                                  .weights = choices_.weights().data(),
                                  .out = found.data(),
                                  .width = width,
                                  .num_chosen = kSpec.num_chosen};
  run({.grid_x = 2, .grid_y = kRows, .threads = kRowThreads}, "octavo_combine_choices", &a);
  for (std::size_t i = 0; i < choices_.count(); ++i) {
    const std::size_t row = i / 3;
    std::vector<float> result = row_of(results, slot(i), w);
    kernels().add(result.data(), bias.data() + expert(i) * w, width);
    kernels().scale(result.data(), choices_.weights()[i] * scales[expert(i)], width);
    if (i % 3 == 0) std::copy(result.begin(), result.end(), expected.begin() + static_cast<std::ptrdiff_t>(row * w));
    if (i % 3 != 0) kernels().add(expected.data() + row * w, result.data(), width);
  }
  EXPECT_TRUE(same(found, expected));
  const AddSharedArguments plain{shared.data(), nullptr, found.data(), width},
      gated{shared.data(), gates.data(), found.data(), width};
  for (const auto& argument : {plain, gated})
    run({.grid_x = 2, .grid_y = kRows, .threads = kRowThreads}, "octavo_add_shared", &argument);
  for (std::size_t row = 0; row < kRows; ++row) {
    std::vector<float> result = row_of(shared, row, w);
    float weight = 1;
    kernels().add(expected.data() + row * w, result.data(), width);
    kernels().sigmoid_mul(&gates[row], &weight, 1, &weight);
    kernels().scale(result.data(), weight, width);
    kernels().add(expected.data() + row * w, result.data(), width);
  }
  EXPECT_TRUE(same(found, expected));
}

INSTANTIATE_TEST_SUITE_P(Orders, PartsOfExperts, ::testing::Values(Bits::kNative, Bits::kPortable));

}  // namespace
}  // namespace octavo::gpu

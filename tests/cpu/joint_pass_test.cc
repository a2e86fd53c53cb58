// The joint pass of rows that see each other: the same bits in any pieces, on any number of threads, beside any steps.
#include "cpu/joint_pass.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "base/to_size.h"
#include "support/load_runner.h"
#include "support/tiny_model.h"

namespace octavo::test {
namespace {

constexpr int kTextRows = 5, kPictureRows = 30;  // more than the window
constexpr std::uint64_t kAllAtOnce = std::numeric_limits<std::uint64_t>::max();

TinyModel tiny(const std::string& arch) {
  TinyModel model{.arch = arch, .layers = 6, .type = DType::kQ8_0};   // windows of 24
  if (arch == "gemma4") model.layers = 4, model.per_layer_width = 0;  // of those with mixtures
  return model;
}

struct Runner {
  explicit Runner(const std::string& arch, int threads = 1) : source(tiny(arch).source()), pool(threads) {
    ModelConfig config = ModelConfig::load(source).value();
    EXPECT_TRUE(config.joins_pictures());
    config.joint_rows = kPictureRows;
    width = config.width;
    EngineOptions options;
    options.isa = std::string(isa_name(supported_isa_levels().back()));
    options.kv_memory_bytes = 8U << 20;
    runner = load_cpu_runner(source, std::move(config), options, pool, budget).value();
  }

  /// Rows of a sequence whose blocks begin with `first_block`.
  Batch batch(const std::vector<std::int32_t>& tokens, int position, int first_block) const {
    Batch made;
    made.groups.resize(runner->info().room.num_blocks.size());
    made.clear();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      made.logit_rows.push_back(made.num_rows());
      made.add_row(tokens[i], position + static_cast<int>(i), position + static_cast<int>(i));
    }
    made.seq_begin.push_back(made.num_rows());
    made.kv_len.push_back(position + made.num_rows());
    for (Batch::Group& group : made.groups) {
      group.block_ids.resize(8);
      std::iota(group.block_ids.begin(), group.block_ids.end(), first_block);
      group.block_begin.push_back(8);
    }
    return made;
  }
  /// Logits of all rows.
  std::vector<float> compute(const Batch& batch) {
    const ThreadPool::Step workers(pool);
    runner->begin(batch);
    EXPECT_FALSE(runner->wait().is_refused);
    const std::span<const float> logits = runner->logits(0, static_cast<int>(batch.logit_rows.size()));
    return {logits.begin(), logits.end()};
  }
  void begin_pass(const std::vector<float>& vectors) {
    Batch rows = batch(std::vector<std::int32_t>(kPictureRows, 0), kTextRows, 0);
    rows.given = {{.first_row = 0, .num_rows = kPictureRows, .index = 0, .vectors = vectors.data(), .width = width}};
    rows.sight_end = kTextRows + kPictureRows;
    const ThreadPool::Step workers(pool);
    EXPECT_TRUE(runner->begin_joint_pass(rows));
  }
  bool advance(std::uint64_t most_work) {
    const ThreadPool::Step workers(pool);
    return runner->advance_joint_pass({most_work, most_work}).work > 0;
  }
  std::vector<float> end_pass() {
    Batch end;
    end.groups.resize(runner->info().room.num_blocks.size());
    end.clear();
    end.ends_joint_pass = true;
    for (int row = 0; row < kPictureRows; ++row) end.logit_rows.push_back(row);
    return compute(end);
  }
  std::vector<float> vectors(unsigned seed) const {
    std::mt19937 random(seed);
    std::vector<float> made(to_size(kPictureRows * width));
    for (float& value : made) value = static_cast<float>(random() % 2001) * 1e-3F - 1;
    return made;
  }

  MemorySource source;
  ThreadPool pool;
  MemoryBudget budget{0};
  std::unique_ptr<CpuRunner> runner;
  int width = 0;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Logits of text, a picture and text, with steps of another sequence between the pieces.
std::vector<float> answer(Runner& r, std::uint64_t most_work, const std::vector<float>& vectors, int company = 0) {
  std::vector<float> all = r.compute(r.batch({1, 2, 3, 4, 5}, 0, 0));
  r.begin_pass(vectors);
  int pieces = 0;
  while (r.advance(most_work)) {
    if (pieces < company) r.compute(r.batch({pieces % 7}, pieces, 16));
    ++pieces;
  }
  const std::vector<float> of_picture = r.end_pass(), behind = r.compute(r.batch({6, 7}, kTextRows + kPictureRows, 0));
  all.insert(all.end(), of_picture.begin(), of_picture.end());
  all.insert(all.end(), behind.begin(), behind.end());
  return all;
}

class JointPassTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Architectures, JointPassTest, ::testing::Values("gemma3", "gemma4"));

TEST_P(JointPassTest, PiecesThreadsAndCompanyChangeNoBit) {
  Runner alone(GetParam());
  const std::vector<float> vectors = alone.vectors(1), expected = answer(alone, kAllAtOnce, vectors);
  for (const int threads : {1, 2})
    for (const std::uint64_t most_work : {std::uint64_t{1}, std::uint64_t{1'500'000}, kAllAtOnce}) {
      Runner r(GetParam(), threads);
      EXPECT_TRUE(same_bits(answer(r, most_work, vectors, 100), expected)) << threads << " threads, " << most_work;
      EXPECT_TRUE(same_bits(answer(r, most_work, vectors), expected)) << "again";
    }
}

TEST_P(JointPassTest, EachRowSeesTheRowsBehindIt) {
  Runner r(GetParam());
  std::vector<float> vectors = r.vectors(1);
  const std::vector<float> before = answer(r, kAllAtOnce, vectors);
  vectors.back() += 1;  // of the last row
  const std::vector<float> after = answer(r, kAllAtOnce, vectors);
  const std::size_t vocab = to_size(r.runner->info().vocab_size);
  for (std::size_t row = 0; row < before.size() / vocab; ++row) {
    const bool is_same = std::equal(before.begin() + static_cast<std::ptrdiff_t>(row * vocab),
                                    before.begin() + static_cast<std::ptrdiff_t>((row + 1) * vocab),
                                    after.begin() + static_cast<std::ptrdiff_t>(row * vocab));
    EXPECT_EQ(is_same, row < kTextRows) << row;
  }
}

TEST_P(JointPassTest, OneThatIsGivenUpChangesNothing) {
  Runner r(GetParam());
  const std::vector<float> vectors = r.vectors(1), expected = answer(r, kAllAtOnce, vectors);
  r.begin_pass(r.vectors(2));
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(r.advance(1));
  EXPECT_TRUE(same_bits(answer(r, 1, vectors), expected));
  EXPECT_FALSE(r.advance(1)) << "it is whole";
}

}  // namespace
}  // namespace octavo::test

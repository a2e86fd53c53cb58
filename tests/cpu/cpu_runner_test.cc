// The forward pass: the same bits in any company, chunk, number of threads and place in memory.
#include "cpu/cpu_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include "model/model_state.h"
#include "source/open_model.h"
#include "support/load_runner.h"
#include "support/temp_file.h"
#include "support/tiny_encoder.h"
#include "support/tiny_model.h"

namespace octavo::test {
namespace {

using ::testing::HasSubstr;

struct Loaded {
  std::unique_ptr<TempFile> path;
  std::unique_ptr<const ModelSource> source;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<MemoryBudget> budget = std::make_unique<MemoryBudget>(0);
  std::unique_ptr<CpuRunner> runner;
  std::vector<std::int32_t> spoiled = {};  // of the last step
};

Result<Loaded> try_load(const TinyModel& model, EngineOptions options, int threads) {
  Loaded l;
  l.path = std::make_unique<TempFile>(model.bytes(), ".gguf");
  OCTAVO_TRY(l.source, open_model(l.path->path()));
  l.pool = std::make_unique<ThreadPool>(threads);
  options.kv_memory_bytes = options.kv_memory_bytes != 0 ? options.kv_memory_bytes : 8U << 20;
  OCTAVO_TRY(l.runner, load_cpu_runner(*l.source, options, *l.pool, *l.budget));
  return l;
}

Loaded load(const TinyModel& model, const EngineOptions& options = {}, int threads = 1) {
  Result<Loaded> l = try_load(model, options, threads);
  if (!l) throw std::runtime_error(l.error().message);
  return std::move(*l);
}

std::string error_of(const TinyModel& model, const EngineOptions& options = {}) {
  const Result<Loaded> l = try_load(model, options, 1);
  return l ? "no error" : l.error().message;
}

std::vector<std::int32_t> some_tokens(int count, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random() % 80);
  return tokens;
}

/// One sequence's rows of a step.
struct Rows {
  std::vector<std::int32_t> tokens;
  int position = 0;
  std::vector<std::int32_t> blocks;
};

/// A step of these rows, and of logits of those that `wanted` names.
Batch batch_of(const CpuRunner& runner, const std::vector<Rows>& sequences,
               const std::function<bool(int row)>& wanted) {
  Batch batch;
  batch.groups.resize(runner.info().room.num_blocks.size());
  batch.clear();
  for (const Rows& s : sequences) {
    for (std::size_t i = 0; i < s.tokens.size(); ++i) {
      if (wanted(batch.num_rows())) batch.logit_rows.push_back(batch.num_rows());
      const int position = s.position + static_cast<int>(i);
      batch.add_row(s.tokens[i], position, position);
    }
    batch.seq_begin.push_back(batch.num_rows());
    batch.kv_len.push_back(s.position + static_cast<int>(s.tokens.size()));
    for (Batch::Group& group : batch.groups) {
      group.block_ids.insert(group.block_ids.end(), s.blocks.begin(), s.blocks.end());
      group.block_begin.push_back(static_cast<std::int32_t>(group.block_ids.size()));
    }
  }
  return batch;
}

/// Logits of the rows of a step that `wanted` names (all, if there is none), [rows][vocab].
std::vector<float> step(
    Loaded& l, const std::vector<Rows>& sequences,
    const std::function<bool(int row)>& wanted = [](int) { return true; }) {
  const Batch batch = batch_of(*l.runner, sequences, wanted);
  const ThreadPool::Step workers(*l.pool);
  l.runner->begin(batch);
  const BatchOutcome outcome = l.runner->wait();
  EXPECT_FALSE(outcome.is_refused);
  l.spoiled.assign(outcome.spoiled.begin(), outcome.spoiled.end());
  std::vector<float> logits;
  const int count = static_cast<int>(batch.logit_rows.size());
  for (int first = 0; first < count; first += kMaxLogitRows) {
    const std::span<const float> part = l.runner->logits(first, std::min(kMaxLogitRows, count - first));
    logits.insert(logits.end(), part.begin(), part.end());
  }
  return logits;
}

std::vector<std::int32_t> blocks_from(int first, int count) {
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(count));
  std::iota(blocks.begin(), blocks.end(), first);
  return blocks;
}

/// Logits of a whole sequence read `chunk` tokens at a time.
std::vector<float> read(Loaded& l, const std::vector<std::int32_t>& tokens, std::size_t chunk,
                        const std::vector<std::int32_t>& blocks) {
  std::vector<float> logits;
  for (std::size_t i = 0; i < tokens.size(); i += chunk) {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = tokens.begin() + static_cast<std::ptrdiff_t>(std::min(tokens.size(), i + chunk));
    const std::vector<float> part = step(l, {{{begin, end}, static_cast<int>(i), blocks}});
    logits.insert(logits.end(), part.begin(), part.end());
  }
  return logits;
}

/// The same of the contiguous layout, whose memory grows as the sequence does.
std::vector<float> read_contiguous(Loaded& l, const std::vector<std::int32_t>& tokens, std::size_t chunk) {
  return read(l, tokens, chunk, {0});
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

class CpuRunnerTest : public ::testing::TestWithParam<std::string> {
 protected:
  TinyModel model() const { return {.arch = GetParam(), .layers = 6, .type = DType::kQ8_0}; }
  static EngineOptions options(KvType kv_type = kDefaultKvType) {
    return {.isa = std::string(isa_name(supported_isa_levels().back())), .kv_type = kv_type};
  }
};
INSTANTIATE_TEST_SUITE_P(Architectures, CpuRunnerTest, ::testing::Values("llama", "qwen2", "qwen3", "gemma3"));

TEST(CpuRunnerOfAnEncoder, LeavesAStepThatNobodyWantsAndTheNextOneHasItsBits) {
  const TempFile file(TinyEncoder("modern-bert").bytes(), ".gguf");
  const auto source = open_model(file.path());
  ASSERT_TRUE(source) << source.error().message;
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    MemoryBudget budget(0);
    const auto runner = load_cpu_runner(**source, {.kv_memory_bytes = 8U << 20}, pool, budget);
    ASSERT_TRUE(runner) << runner.error().message;
    Batch batch =
        batch_of(**runner, {{some_tokens(300, 1), 0, blocks_from(0, 20)}}, [](int row) { return row == 299; });
    const auto run = [&](BatchOutcome& outcome) -> std::vector<float> {
      const ThreadPool::Step workers(pool);
      (*runner)->begin(batch);
      outcome = (*runner)->wait();
      if (outcome.is_refused) return {};
      const std::span<const float> row = (*runner)->hidden_rows(0, 1);
      return {row.begin(), row.end()};
    };
    BatchOutcome outcome;
    const std::vector<float> expected = run(outcome);
    EXPECT_FALSE(outcome.is_refused);
    int num_asked = 0;
    batch.is_unwanted = [&num_asked] { return ++num_asked > 0; };
    run(outcome);
    EXPECT_TRUE(outcome.is_refused && outcome.is_left);
    EXPECT_EQ(num_asked, 1);
    batch.is_unwanted = [] { return false; };
    EXPECT_TRUE(same_bits(run(outcome), expected)) << threads;
    EXPECT_FALSE(outcome.is_left);
  }
}

TEST_P(CpuRunnerTest, AnyChunkGivesTheSameBits) {
  const std::vector<std::int32_t> tokens = some_tokens(150, 1);
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kQ8_0, KvType::kF32, KvType::kI16}) {
    Loaded l = load(model(), options(type));
    const std::vector<float> whole = read(l, tokens, tokens.size(), blocks_from(0, 10));
    for (const std::size_t chunk : {1, 7, 64})
      EXPECT_TRUE(same_bits(whole, read(l, tokens, chunk, blocks_from(0, 10)))) << "chunk " << chunk;
  }
}

// The last layer is computed for these rows only; K and V of the others must be there all the same.
TEST_P(CpuRunnerTest, LogitsOfSomeRowsHaveTheBitsTheyHaveAmongAll) {
  for (const int layers :
       {1, 6, 7}) {  // gemma3 looks back 24 tokens in its first and seventh, all the way in its sixth
    TinyModel recipe = model();
    recipe.layers = layers;
    Loaded l = load(recipe, options(), 2);
    const std::vector<Rows> before = {{some_tokens(70, 1), 0, blocks_from(0, 20)},
                                      {some_tokens(9, 2), 0, blocks_from(20, 20)}};
    const std::vector<Rows> chunks = {{some_tokens(150, 3), 70, blocks_from(0, 20)},
                                      {some_tokens(1, 4), 9, blocks_from(20, 20)},
                                      {some_tokens(33, 5), 0, blocks_from(40, 20)}};
    const std::vector<Rows> after = {{some_tokens(1, 6), 220, blocks_from(0, 20)},
                                     {some_tokens(1, 7), 33, blocks_from(40, 20)}};
    step(l, before);
    const std::vector<float> all = step(l, chunks), expected_after = step(l, after);
    const std::function<bool(int)> choices[] = {
        [](int) { return false; },
        [](int row) { return row == 149 || row == 150 || row == 183; },  // the last of each sequence
        [](int row) { return row % 3 == 1 || (row > 40 && row < 90); },
        [](int row) { return row != 7; },
    };
    for (const auto& wanted : choices) {
      step(l, before, [](int) { return false; });
      const std::vector<float> some = step(l, chunks, wanted);
      std::vector<float> expected;
      for (int row = 0; row < 184; ++row)
        if (wanted(row)) expected.insert(expected.end(), all.begin() + row * 80, all.begin() + (row + 1) * 80);
      EXPECT_TRUE(same_bits(expected, some)) << layers << " layers";
      EXPECT_TRUE(same_bits(expected_after, step(l, after))) << layers << " layers";
    }
  }
}

TEST_P(CpuRunnerTest, AnyNumberOfThreadsGivesTheSameBits) {
  const std::vector<std::int32_t> tokens = some_tokens(600, 2);  // beyond a split of attention
  Loaded one = load(model(), options(), 1);
  const std::vector<float> whole = read(one, tokens, 500, blocks_from(0, 38));
  for (const int threads : {2, 5}) {
    Loaded many = load(model(), options(), threads);
    EXPECT_TRUE(same_bits(whole, read(many, tokens, 500, blocks_from(0, 38)))) << threads << " threads";
  }
}

TEST_P(CpuRunnerTest, SequencesOfDifferentLengthsInOneBatchGetTheBitsTheyGetAlone) {
  Loaded l = load(model(), options(), 2);
  const int lengths[] = {1, 37, 90, 16, 17};
  std::vector<std::vector<float>> alone;
  for (const int length : lengths) alone.push_back(read(l, some_tokens(length, length), 64, blocks_from(0, 8)));

  // All but the last token of each first, then one batch in which each has its rows: 1, 10, 30, 1 and 17 of them.
  std::vector<Rows> batch;
  int next_block = 40;
  for (const int length : lengths) {
    const std::vector<std::int32_t> tokens = some_tokens(length, length);
    const int rows = std::min(length, length == 90 ? 30 : length == 37 ? 10 : length == 17 ? 17 : 1);
    const std::vector<std::int32_t> blocks = blocks_from(next_block, 8);
    next_block += 8;
    if (length > rows) step(l, {{{tokens.begin(), tokens.end() - rows}, 0, blocks}});
    batch.push_back({{tokens.end() - rows, tokens.end()}, length - rows, blocks});
  }
  const std::vector<float> together = step(l, batch);
  std::size_t at = 0;
  for (std::size_t s = 0; s < batch.size(); ++s) {
    const std::size_t size = batch[s].tokens.size() * 80;
    EXPECT_TRUE(same_bits(std::span(together).subspan(at, size), std::span(alone[s]).last(size))) << "sequence " << s;
    at += size;
  }
}

TEST_P(CpuRunnerTest, ScatteredBlocksAndOtherBlockSizesGiveTheSameBits) {
  const std::vector<std::int32_t> tokens = some_tokens(100, 3);
  Loaded l = load(model(), options());
  const std::vector<float> in_order = read(l, tokens, 64, blocks_from(0, 7));
  EXPECT_TRUE(same_bits(in_order, read(l, tokens, 64, {31, 2, 17, 90, 4, 60, 8})));
  for (const int block_size : {1, 8, 32, 256}) {
    EngineOptions other = options();
    other.block_size = block_size;
    Loaded sized = load(model(), other);
    EXPECT_TRUE(same_bits(in_order, read(sized, tokens, 64, blocks_from(0, 100 / block_size + 1)))) << block_size;
  }
}

TEST_P(CpuRunnerTest, TheContiguousLayoutGivesTheSameBits) {
  const std::vector<std::int32_t> tokens = some_tokens(300, 5);
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kF32, KvType::kI16}) {
    Loaded paged = load(model(), options(type));
    EngineOptions contiguous_options = options(type);
    contiguous_options.kv_layout = KvLayout::kContiguous;
    Loaded contiguous = load(model(), contiguous_options);
    // One token, then pieces: the cache grows a few times on the way.
    const std::vector<float> expected = read(paged, tokens, 70, blocks_from(0, 19));
    for (const std::size_t chunk : {1, 70})
      EXPECT_TRUE(same_bits(expected, read_contiguous(contiguous, tokens, chunk)));
  }
}

TEST_P(CpuRunnerTest, WeightsLeftInTheFileGiveTheSameBits) {
  const std::vector<std::int32_t> tokens = some_tokens(70, 6);
  for (const bool tied : {true, false}) {
    TinyModel recipe = model();
    recipe.tied = tied;
    Loaded packed = load(recipe, options(), 2);
    EngineOptions mapped_options = options();
    mapped_options.repack = false;
    Loaded mapped = load(recipe, mapped_options, 3);
    const std::vector<float> expected = read(packed, tokens, tokens.size(), blocks_from(0, 5));
    for (const std::size_t chunk : {1, 33})
      EXPECT_TRUE(same_bits(expected, read(mapped, tokens, chunk, blocks_from(0, 5)))) << "chunk " << chunk;
    EXPECT_EQ(packed.runner->info().mapped_weight_bytes, 0U);
    EXPECT_GT(mapped.runner->info().mapped_weight_bytes, mapped.runner->info().weight_bytes * 9 / 10);
  }
}

TEST_P(CpuRunnerTest, ACopiedBlockStandsForTheOneItCameFrom) {
  Loaded l = load(model(), options());
  const std::vector<std::int32_t> tokens = some_tokens(20, 4);
  const std::vector<float> expected = read(l, tokens, 20, {0, 1});
  Batch batch;
  batch.groups.resize(l.runner->info().room.num_blocks.size());
  batch.clear();
  batch.add_row(tokens.back(), 19, 19);
  batch.seq_begin = {0, 1};
  batch.kv_len = {20};
  batch.logit_rows = {0};
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    batch.groups[g] = {.block_begin = {0, 2}, .block_ids = {0, 5}};
    batch.copies.push_back({static_cast<std::int32_t>(g), 1, 5});
  }
  l.runner->begin(batch);
  EXPECT_FALSE(l.runner->wait().is_refused);
  EXPECT_TRUE(same_bits(l.runner->logits(0, 1), std::span(expected).last(80)));
}

// Keys and values of integers look like numbers whatever they were made of, so logits of later rows do.
TEST(CpuRunner, ASequenceWithARowThatIsNotFiniteIsNamed) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const auto embedding = [bad](GgufWriter& writer) {
      std::vector<float> rows(80UZ * 64, 0.25F);
      rows[7UZ * 64 + 5] = bad;
      writer.add_tensor("token_embd.weight", {64, 80}, DType::kF32, test::bytes_of(rows));
    };
    for (const std::uint32_t layers : {1U, 3U})
      for (const KvType type : {KvType::kI16, KvType::kF16, KvType::kF32}) {
        Loaded l = load({.layers = layers, .without = {"token_embd.weight"}, .extra = embedding}, {.kv_type = type}, 2);
        const auto is_last = [](int row) { return row == 2 || row == 5 || row == 6; };
        step(l, {{{1, 2, 3}, 0, blocks_from(0, 1)}, {{4, 7, 5}, 0, blocks_from(1, 1)}, {{6}, 0, blocks_from(2, 1)}},
             is_last);
        EXPECT_THAT(l.spoiled, testing::ElementsAre(1));
        step(l, {{{1, 2, 3}, 0, blocks_from(0, 1)}});
        EXPECT_TRUE(l.spoiled.empty());
      }
  }
}

TEST(CpuRunner, AMissingTensorIsNamed) {
  EXPECT_THAT(error_of({.without = {"blk.1.ffn_up.weight"}}), HasSubstr("no tensor blk.1.ffn_up.weight"));
  EXPECT_THAT(error_of({.arch = "qwen2", .without = {"blk.0.attn_k.bias"}}), HasSubstr("blk.0.attn_k.bias"));
  EXPECT_THAT(error_of({.arch = "gemma3", .without = {"blk.0.post_ffw_norm.weight"}}),
              HasSubstr("blk.0.post_ffw_norm.weight"));
}

TEST(CpuRunner, AWrongShapeIsNamedWithBothShapes) {
  for (const bool repack : {true, false})
    EXPECT_THAT(error_of({.transposed = {"blk.0.ffn_down.weight"}}, {.repack = repack}),
                HasSubstr("blk.0.ffn_down.weight has 96 rows of 64, expected 64 rows of 96"));
}

TEST(CpuRunner, AFileCutShortIsRefusedWhenItIsOpened) {
  const std::string bytes = TinyModel{}.bytes();
  for (const std::size_t missing : {1, 64, 5000}) {
    const TempFile path(std::string_view(bytes).substr(0, bytes.size() - missing), ".gguf");
    const auto source = open_model(path.path());
    ASSERT_FALSE(source) << missing;
    EXPECT_THAT(source.error().message, HasSubstr("truncated"));
  }
}

TEST(CpuRunner, AFileCutShortWhileItIsLoadedIsAnError) {
  const TempFile path(TinyModel{}.bytes(), ".gguf");
  const auto source = open_model(path.path()).value();
  ThreadPool pool(1);
  MemoryBudget budget(0);
  const auto runner = load_cpu_runner(
      *source,
      {.kv_memory_bytes = 8U << 20,
       .on_load_progress = [&](const LoadProgress&) { std::filesystem::resize_file(path.path(), 100); }},
      pool, budget);
  ASSERT_FALSE(runner);
  EXPECT_THAT(runner.error().message, HasSubstr(path.string() + ": the file was cut short while it was in use"));
}

TEST(CpuRunner, ContentHashesTellModelsApart) {
  const auto hash_of_model = [](const TinyModel& model, bool repack) {
    return load(model, {.repack = repack}).runner->info().content_hash;
  };
  EXPECT_EQ(hash_of_model({}, true), hash_of_model({}, true));
  for (const bool repack : {true, false}) {
    EXPECT_NE(hash_of_model({}, repack), hash_of_model({.seed = 99}, repack));
    EXPECT_NE(hash_of_model({}, repack), hash_of_model({.arch = "qwen3"}, repack));
  }
}

TEST(CpuRunner, AFileThatWasChangedHasAnotherHashWhereItsWeightsStayInIt) {
  const TempFile path(TinyModel{}.bytes(), ".gguf");
  ThreadPool pool(1);
  MemoryBudget budget(0);
  const auto hash = [&] {
    const auto source = open_model(path.path()).value();
    return load_cpu_runner(*source, {.kv_memory_bytes = 8U << 20, .repack = false}, pool, budget)
        .value()
        ->info()
        .content_hash;
  };
  const WeightsHash before = hash();
  EXPECT_EQ(before.basis, WeightsHash::Basis::kSizeTimeAndSamples);
  EXPECT_EQ(hash(), before);
  std::filesystem::last_write_time(path.path(), std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_NE(hash(), before);
}

TEST(CpuRunner, ATensorOfAnotherArchitectureIsRefused) {
  const TinyModel model{.extra = [](GgufWriter& writer) {
    writer.add_tensor("blk.0.ssm_in.weight", {4}, DType::kF32, std::string(16, '\0'));
  }};
  EXPECT_THAT(error_of(model), HasSubstr("'blk.0.ssm_in.weight' is not part of architecture llama"));
}

TEST(CpuRunner, TheKvMemoryIsAHardBudget) {
  const Loaded l = load({}, {.kv_memory_bytes = 1000000});
  EXPECT_LE(l.runner->info().room.bytes(), 1000000U);
  // 2 layers, 2 heads, K and V, 32 dimensions of 2 bytes and a scale of 2
  EXPECT_EQ(l.runner->info().room.layout.bytes_per_token(), 528U);
  EXPECT_EQ(l.runner->info().room.bytes(), 1000000U / (528 * 16) * (528 * 16));
  EXPECT_THAT(error_of({}, {.kv_memory_bytes = 100}), HasSubstr("100 bytes holds no block"));
}

TEST(CpuRunner, TheKvMemoryIsNoLargerThanWhatItsSequencesCanUse) {
  const std::uint64_t large = std::uint64_t{1} << 33;
  const std::uint64_t block = std::uint64_t{528} * 16;
  const Loaded one = load({}, {.kv_memory_bytes = large, .max_sequences = 1});
  EXPECT_EQ(one.runner->info().room.bytes(), (1024 / 16 + 1) * block)
      << "the context, and a block to copy one that is shared";
  EXPECT_EQ(one.runner->info().max_context, 1024);
  EXPECT_EQ(load({}, {.kv_memory_bytes = large, .max_context = 100, .max_sequences = 3}).runner->info().room.bytes(),
            (3 * 116 / 16 + 1) * block);
}

TEST(CpuRunner, TheLargestContextIsTheOneThatFits) {
  for (const TinyModel& model :
       {TinyModel{}, TinyModel{.arch = "gemma3", .layers = 6, .window = 24}, TinyModel{.arch = "qwen35", .layers = 4},
        TinyModel{.arch = "lfm2", .layers = 4}, TinyModel{.arch = "granitehybrid", .layers = 4}}) {
    const MemorySource source = model.source();
    const ModelConfig config = ModelConfig::load(source).value();
    for (const std::uint64_t budget : {std::uint64_t{20'000}, std::uint64_t{100'000}, std::uint64_t{300'001}}) {
      const int fits = largest_context(config, KvType::kI16, 16, budget);
      ASSERT_LT(fits, 1024) << budget;
      if (fits == 0) continue;
      EXPECT_EQ(load(model, {.kv_type = KvType::kI16, .kv_memory_bytes = budget, .max_context = fits})
                    .runner->info()
                    .max_context,
                fits);
      EXPECT_GT(kv_need(config, KvType::kI16, 16, fits + 1).bytes, budget);
    }
    EXPECT_EQ(largest_context(config, KvType::kI16, 16, std::uint64_t{1} << 40), 1024);
    EXPECT_EQ(largest_context(config, KvType::kI16, 16, 0), 0);
  }
}

// In a process of its own, whose address space is bounded.
void load_within_a_limit() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{.rlim_cur = pages * 4096 + (std::size_t{100} << 20), .rlim_max = RLIM_INFINITY};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const TempFile path(TinyModel{}.bytes(), ".gguf");
  const auto source = open_model(path.path());
  ASSERT_TRUE(source);
  ThreadPool pool(1);
  MemoryBudget budget(0);
  const auto runner = load_cpu_runner(**source, {.max_sequences = 256}, pool, budget);  // could use 140 MB
  ASSERT_TRUE(runner) << runner.error().message;
  ASSERT_LE((*runner)->info().room.bytes(), std::uint64_t{50} << 20);
  ASSERT_EQ((*runner)->info().max_context, 1024);
  ASSERT_THAT(error_of({}, {.kv_memory_bytes = std::uint64_t{130} << 20, .max_sequences = 256}),
              HasSubstr("no memory for a KV arena of "));
}

TEST(CpuRunnerDeathTest, TheDefaultKvMemoryIsLessWhereTheProcessMayNotHaveMore) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory needs the address space";
#endif
  EXPECT_EXIT(
      {
        load_within_a_limit();
        std::exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(CpuRunner, TheDefaultKvMemoryLeavesRoomForMappedWeights) {
  EXPECT_EQ(default_kv_memory(1000, 0), 500U);
  EXPECT_EQ(default_kv_memory(1000, 600), 200U);
  EXPECT_EQ(default_kv_memory(1000, 900), 125U);
  EXPECT_EQ(default_kv_memory(1000, 5000), 125U);
}

TEST(CpuRunner, AnExplicitContextThatCannotFitIsRefusedAnImplicitOneIsClamped) {
  EXPECT_THAT(error_of({}, {.kv_memory_bytes = 100000, .max_context = 1000}), HasSubstr("holds 176"));
  EXPECT_EQ(load({}, {.kv_memory_bytes = 100000}).runner->info().max_context, 176);
  EXPECT_THAT(error_of({}, {.max_context = 2000}), HasSubstr("max_context is 2000, expected 1 to 1024"));
}

TEST(CpuRunner, TheContiguousLayoutIsOneBlockWithinTheBudget) {
  const Loaded l = load({}, {.kv_layout = KvLayout::kContiguous, .kv_memory_bytes = 100000});
  EXPECT_THAT(l.runner->info().room.num_blocks, ::testing::ElementsAre(1));
  // 528 bytes a token, and a third layer's worth while one of the two grows
  EXPECT_EQ(l.runner->info().max_context, 100000 / 792);
  EXPECT_LE(l.runner->info().room.bytes(), 100000U);
  EXPECT_THAT(error_of({}, {.kv_type = KvType::kQ8_0, .kv_layout = KvLayout::kContiguous}), HasSubstr("found q8_0"));
}

TEST(CpuRunner, WrongOptionsAreNamed) {
  EXPECT_THAT(error_of({}, {.block_size = 24}), HasSubstr("block_size is 24"));
  EXPECT_THAT(error_of({.heads = 1, .kv_heads = 1, .head_dim = 1024}), HasSubstr("1024 dimensions"));
}

}  // namespace
}  // namespace octavo::test

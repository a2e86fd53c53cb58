// PagedKvCache where the system has no memory, and what it says of its bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "kv_library/kv_values.h"
#include "octavo/kv/paged_kv_cache.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OCTAVO_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OCTAVO_SANITIZED 1
#endif
#endif

namespace octavo {
namespace {

using ::testing::HasSubstr;

constexpr int kHeads = 8, kDim = 128;

PagedKvOptions contiguous(int num_layers, KvType type = KvType::kF32) {
  return {.type = type,
          .layout = KvLayout::kContiguous,
          .num_kv_heads = kHeads,
          .head_dim = kDim,
          .layer_windows = std::vector<int>(static_cast<std::size_t>(num_layers), 0),
          .memory_bytes = std::uint64_t{1} << 40,
          .max_tokens = 1 << 20};
}

rlim_t address_space() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

// Memory for one of two layers, then for both. Runs in a process of its own.
void grow_without_memory() {
  const auto cache = make_cache(contiguous(2));
  const SequenceId id = cache->create_sequence();
  const std::vector<float> token(kHeads * kDim, 3.0F), later(kHeads * kDim, 4.0F);
  for (const int layer : {0, 1}) ASSERT_TRUE(cache->write_kv(id, layer, 0, token, token));
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = address_space() + (rlim_t{200} << 20);  // a layer of 16,384 tokens takes 128 MiB
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Result<void> refused =
        attempt == 2 ? cache->ensure_capacity(id, 16'384) : cache->write_kv(id, 1, 16'383, later, later);
    ASSERT_FALSE(refused) << attempt;
    ASSERT_EQ(refused.error().message, "the system has no memory for keys and values of 16384 tokens");
    ASSERT_EQ(cache->token_capacity(id), 1 << 20) << "of the one block, which has memory for less";
  }
  limit.rlim_cur = before;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  ASSERT_TRUE(cache->write_kv(id, 1, 16'383, later, later));
  for (const int layer : {0, 1}) ASSERT_EQ((*cache->read_kv(id, layer, 0)).key.data[0], 3.0F);
  ASSERT_EQ((*cache->read_kv(id, 1, 16'383)).key.data[0], 4.0F);
  ASSERT_TRUE(cache->check_integrity());
}

TEST(PagedKvCacheDeathTest, ContiguousLayoutThatCannotGrowChangesNothingAndMayTryAgain) {
#ifdef OCTAVO_SANITIZED
  GTEST_SKIP() << "a sanitizer's own memory needs the address space";
#endif
  EXPECT_EXIT(
      {
        grow_without_memory();
        std::exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(PagedKvCache, ContiguousCapacityHasMemoryBehindIt) {
  const auto cache = make_cache(contiguous(2));
  const SequenceId id = cache->create_sequence();
  ASSERT_TRUE(cache->ensure_capacity(id, 100));
  cache->commit(id, 10);
  std::vector<float> key(kHeads * kDim), value(key.size());
  for (const int layer : {0, 1}) EXPECT_TRUE(cache->read_kv(id, layer, 9, key, value));
}

TEST(PagedKvCache, BytesThatSequencesHoldAreNeverMoreThanTheArena) {
  for (const KvLayout layout : {KvLayout::kPaged, KvLayout::kContiguous})
    for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kI16})
      for (const int head_dim : {1, 17, 63, 64, 65}) {
        PagedKvOptions options = contiguous(3, type);
        options.layout = layout;
        options.head_dim = head_dim;
        options.memory_bytes = 1 << 20;
        options.max_tokens = 1;
        const auto cache = make_cache(options);
        ASSERT_TRUE(cache->ensure_capacity(cache->create_sequence(), 1));
        EXPECT_EQ(cache->stats().referenced_bytes, cache->stats().arena_bytes)
            << kv_type_name(type) << ", " << head_dim << " dimensions";
      }
}

TEST(PagedKvCacheDeathTest, CommitOfWhatWasNotReservedIsABugOfTheCaller) {
  const auto cache =
      make_cache({.block_size = 8, .num_kv_heads = 1, .head_dim = 4, .layer_windows = {0}, .num_blocks = 4});
  const SequenceId parent = cache->create_sequence();
  ASSERT_TRUE(cache->reserve(parent, 0, 8));
  cache->commit(parent, 8);
  const SequenceId child = *cache->fork(parent);
  ASSERT_TRUE(cache->truncate(child, 6));
  ASSERT_TRUE(cache->drop_sequence(parent));
  EXPECT_DEATH(cache->commit(child, 8), "position 6 of sequence 1 was not reserved");
  ASSERT_TRUE(cache->reserve(child, 6, 8));
  cache->commit(child, 8);
  EXPECT_EQ(cache->sequence_length(child), 8);
}

}  // namespace
}  // namespace octavo

// Every allocation that a call of PagedKvCache makes fails once: the call throws, and the cache is in order.
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <string>
#include <vector>

#include "octavo/kv/paged_kv_cache.h"
#include "replaced_new.h"

namespace octavo {
namespace {

using test::allocations_left;
using test::num_allocations;

struct Call {
  const char* name;
  std::function<void(PagedKvCache&, SequenceId)> make;
};

std::vector<Call> calls() {
  static const std::vector<float> floats(128, 1.0F);
  static const std::vector<TokenId> tokens(64, 1);
  const std::span<const float> forty = std::span(floats).first(80);
  return {
      {"create_sequence", [](auto& cache, auto) { cache.create_sequence(1000); }},
      {"fork", [](auto& cache, auto id) { (void)cache.fork(id); }},
      {"write_kv", [=](auto& cache, auto id) { (void)cache.write_kv(id, 0, 20, forty, forty, 40); }},
      {"ensure_capacity", [](auto& cache, auto id) { (void)cache.ensure_capacity(id, 64); }},
      {"reserve",
       [](auto& cache, auto id) {
         const SequenceId child = *cache.fork(id);
         std::vector<BlockCopy> copies;
         (void)cache.reserve(child, 0, 60, &copies);
       }},
      {"attach_prefix", [](auto& cache, auto) { (void)cache.attach_prefix(cache.create_sequence(), tokens, ""); }},
      {"publish", [](auto& cache, auto id) { (void)cache.publish(id, tokens, "another"); }},
      {"truncate", [](auto& cache, auto id) { (void)cache.truncate(id, 9); }},
  };
}

/// False once the call makes fewer allocations than that.
bool survives(const Call& call, long allocation) {
  const std::vector<float> floats(36, 1.0F);
  const std::vector<TokenId> tokens(64, 1);
  const auto cache = *PagedKvCache::create({.type = KvType::kF32,
                                            .block_size = 4,
                                            .num_kv_heads = 1,
                                            .head_dim = 2,
                                            .layer_windows = {0, 8, 0},
                                            .num_blocks = 64});
  const SequenceId id = cache->create_sequence();
  for (int layer = 0; layer < 3; ++layer) EXPECT_TRUE(cache->write_kv(id, layer, 0, floats, floats, 18));
  EXPECT_TRUE(cache->publish(id, tokens, ""));
  bool failed = false;
  allocations_left = allocation;
  try {
    call.make(*cache, id);
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  allocations_left = -1;
  const Result<void> intact = cache->check_integrity();
  EXPECT_TRUE(intact) << call.name << ", allocation " << allocation << ": " << (intact ? "" : intact.error().message);
  std::vector<float> key(2), value(2);
  for (SequenceId each = 0; each < 3; ++each)  // what it has, and no more than that
    for (int position = 0; position < 80; ++position) {
      const bool found = cache->read_kv(each, 0, position, key, value).has_value();
      EXPECT_TRUE(!found || position < cache->token_capacity(each));
    }
  for (SequenceId each = 0; each < 4; ++each) (void)cache->drop_sequence(each);
  EXPECT_EQ(cache->utilization(), 0) << call.name << ", allocation " << allocation;
  return failed;
}

TEST(FailedAllocation, OfAnyCallLeavesTheManagerInOrder) {
  int failures = 0;
  for (const Call& call : calls())
    for (long allocation = 0; survives(call, allocation) && !::testing::Test::HasFailure(); ++allocation) ++failures;
  EXPECT_GE(failures, 16);
}

TEST(SpareSequences, BeginningOneOfAboutTheSizeOfADroppedOneAllocatesNothingAndFindsNothing) {
  const std::vector<float> floats(36, 1.0F);
  const auto cache = *PagedKvCache::create({.type = KvType::kF32,
                                            .block_size = 4,
                                            .num_kv_heads = 1,
                                            .head_dim = 2,
                                            .layer_windows = {0, 8},
                                            .num_blocks = 64});
  const SequenceId dropped = cache->create_sequence(200);
  for (int layer = 0; layer < 2; ++layer) EXPECT_TRUE(cache->write_kv(dropped, layer, 0, floats, floats, 18));
  cache->commit(dropped, 18);
  ASSERT_TRUE(cache->drop_sequence(dropped));
  const long before = num_allocations;
  const SequenceId next = cache->create_sequence(150);
  EXPECT_EQ(num_allocations, before);
  EXPECT_NE(next, dropped);
  EXPECT_FALSE(cache->has_sequence(dropped));
  for (int group = 0; group < 2; ++group) {
    EXPECT_EQ(cache->sequence_length(next, group), 0);
    EXPECT_EQ(cache->token_capacity(next, group), 0);
    EXPECT_EQ(cache->table(next, group).first_held(), 0);
  }
  std::vector<float> key(2), value(2);
  EXPECT_FALSE(cache->read_kv(next, 0, 0, key, value));
  EXPECT_TRUE(cache->check_integrity());
}

}  // namespace
}  // namespace octavo

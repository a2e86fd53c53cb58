// The bytes of keys and values of some of a model's layers. What all layers of a model do is in kv_library and cpu.
#include "kv/kv_arena.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kv/kv_budget.h"

namespace octavo {
namespace {

/// Two layers that look back a little, between them one that sees everything.
StateRoom room() {
  const KvLayerShape windowed{.num_kv_heads = 1, .k_dim = 8, .v_dim = 8, .window = 16},
      full{.num_kv_heads = 2, .k_dim = 8, .v_dim = 8};
  const std::vector<std::optional<KvLayerShape>> layers = {windowed, full, windowed};
  return make_room(StateLayout::create(KvType::kF32, KvLayout::kPaged, 16, layers).value(), {.num_blocks = 3}).value();
}

TEST(KvArena, LayersThatLieElsewhereTakeNoMemoryAndAreNotCopied) {
  KvArena arena = KvArena::create(room(), {.first = 1, .end = 2}).value();
  EXPECT_EQ(arena.layer(0, 0).data, nullptr);
  EXPECT_EQ(arena.layer(0, 1).data, nullptr);
  const KvLayer& own = arena.layer(1, 0);
  ASSERT_NE(own.data, nullptr);
  std::memset(own.data, 5, own.block_bytes);
  const BlockCopy copies[] = {{.group = 0, .from = 0, .to = 1}, {.group = 1, .from = 0, .to = 2}};
  arena.copy_blocks(copies);
  EXPECT_EQ(std::memcmp(own.data, own.data + 2 * own.block_bytes, own.block_bytes), 0);
  EXPECT_EQ(own.data[own.block_bytes], 0);
  const BlockRun runs[] = {{.group = 0, .first = 0, .count = 3}, {.group = 1, .first = 0, .count = 3}};
  arena.release(runs);  // whole pages alone, of which these are none
}

TEST(KvArena, NoLayerTakesNoMemory) {
  KvArena arena = KvArena::create(room(), {.first = 3}).value();
  EXPECT_EQ(arena.resident_bytes(), 0U);
  const BlockRun runs[] = {{.group = 1, .first = 0, .count = 3}};
  arena.release(runs);
  const BlockCopy copies[] = {{.group = 1, .from = 0, .to = 2}};
  arena.copy_blocks(copies);
}

}  // namespace
}  // namespace octavo

// The KV memory alone, from an installed Octavo: one position written, read back and attended to.
#include <octavo/kv.h>

#include <cstdio>
#include <vector>

int main() {
  auto cache = octavo::PagedKvCache::create(
      {.type = octavo::KvType::kF32, .num_kv_heads = 1, .head_dim = 4, .layer_windows = {0}, .num_blocks = 8});
  auto attention = octavo::BatchedAttention::create(1);
  if (!cache || !attention) return 1;
  const octavo::SequenceId id = (*cache)->create_sequence();
  const std::vector<float> values(4, 1.5F);
  std::vector<float> key(4), value(4), out(4);
  if (!(*cache)->write_kv(id, 0, 0, values, values) || !(*cache)->read_kv(id, 0, 0, key, value)) return 1;
  if (!attention->decode(**cache, 0, {&id, 1}, values, {.num_heads = 1, .scale = 0.5F}, out)) return 1;
  const octavo::KvStats stats = (*cache)->stats();
  std::printf("read back %g, %d of %d blocks, attention gives %g\n", static_cast<double>(value[3]),
              stats.blocks_referenced, stats.blocks_total, static_cast<double>(out[0]));
  return 0;
}

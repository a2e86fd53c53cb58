// PagedKvCache: memory that goes back to the system.
#include "base/aligned_buffer.h"
#include "base/to_size.h"
#include "kv/paged_kv_impl.h"

namespace octavo {
namespace {

/// The next run of free blocks from `from` on that is worth giving back in a layer: pages of 2 MiB that hold other
/// blocks too would be broken into small ones for less. Count 0: there is none.
BlockPool::Run next_run(const BlockPool& pool, BlockId from, std::size_t layer_block_bytes) {
  for (;;) {
    const BlockPool::Run run = pool.free_run(from);
    const bool is_large = to_size(run.count) * layer_block_bytes >= kHugePageBytes;
    if (run.count == 0 || run.count == pool.total_count() || is_large) return run;
    from = run.first + run.count;
  }
}

}  // namespace

// Neighbours in memory are given back together, the end of a layer with the beginning of the next one, so that a page
// that both lie in goes too. No memory is taken here: it may be what is short.
void PagedKvCache::Impl::release_arena() {
  const std::uint8_t *begin = nullptr, *end = nullptr;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const BlockPool& pool = groups[g]->pool;
    for (std::size_t i = 0; i < groups[g]->group.layers.size(); ++i) {
      const KvLayer& layer = storage.layer(static_cast<int>(g), static_cast<int>(i));
      for (BlockPool::Run run = next_run(pool, 0, layer.block_bytes); run.count > 0;
           run = next_run(pool, run.first + run.count, layer.block_bytes)) {
        const std::uint8_t* first = layer.data + to_size(run.first) * layer.block_bytes;
        if (first != end) {
          storage.release(begin, end);
          begin = first;
        }
        end = first + to_size(run.count) * layer.block_bytes;
      }
    }
  }
  storage.release(begin, end);
}

void PagedKvCache::release_memory(bool cached) {
  Impl& impl = *impl_;
  for (const auto& books : impl.groups)
    if (cached) books->pool.evict_all();
  if (impl.storage.is_contiguous()) {
    for (const auto& books : impl.groups)
      if (books->pool.free_count() == 0) return;
    for (const auto& books : impl.groups) books->written.clear_from(0, 0);  // else growing would keep it
    return impl.storage.release_caches();
  }
  impl.release_arena();
  for (std::size_t g = 0; g < impl.groups.size(); ++g) {
    BlockPool& pool = impl.groups[g]->pool;
    const std::size_t block_bytes = impl.storage.layer(static_cast<int>(g), 0).block_bytes;
    for (BlockPool::Run run = next_run(pool, 0, block_bytes); run.count > 0;
         run = next_run(pool, run.first + run.count, block_bytes))
      pool.give_back(run);
    pool.sort_free();
  }
}

}  // namespace octavo

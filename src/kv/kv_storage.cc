#include "kv/kv_storage.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>

#include "base/to_size.h"
#include "kv/kv_element.h"

namespace octavo {
namespace {

/// Bytes of K of one head and block; types with scales pad to pairs of dimensions.
std::size_t k_bytes(const KvShape& shape) {
  const auto dim = to_size(shape.head_dim);
  const std::size_t stored = scale_dims(shape.type) > 0 ? (dim + 1) / 2 * 2 : dim;
  return stored * to_size(shape.block_size) * element_bytes(shape.type);
}

}  // namespace

std::size_t KvShape::head_bytes() const {
  const auto dim = to_size(head_dim), tokens = to_size(block_size);
  if (scale_dims(type) == 0) return k_bytes(*this) + tokens * dim * element_bytes(type);
  const std::size_t v_bytes = (tokens + 1) / 2 * 2 * dim * element_bytes(type);  // pairs of tokens
  const std::size_t scales = tokens * scales_per_head(type, head_dim);           // of K, and as many of V
  return k_bytes(*this) + v_bytes + 2 * scales * sizeof(std::uint16_t);
}

int KvShape::num_layers() const { return std::accumulate(group_layers.begin(), group_layers.end(), 0); }

std::size_t KvShape::group_block_bytes(int group) const {
  return to_size(group_layers[to_size(group)]) * to_size(num_kv_heads) * head_bytes();
}

std::size_t KvShape::block_bytes() const { return to_size(num_layers()) * to_size(num_kv_heads) * head_bytes(); }

Result<KvStorage> KvStorage::create(const KvShape& shape, std::span<const int> num_blocks) {
  KvStorage storage;
  storage.shape_ = shape;
  storage.num_blocks_.assign(num_blocks.begin(), num_blocks.end());
  for (int group = 0; group < shape.num_groups(); ++group)
    storage.arena_bytes_ += static_cast<std::uint64_t>(storage.num_blocks(group)) * shape.group_block_bytes(group);
  try {
    // Attention prefetches over page borders: with small pages it waits for translations, one in 64 lines.
    storage.arena_ = PageMemory(to_size(storage.arena_bytes_));
  } catch (const std::bad_alloc&) {
    return fail("no memory for a KV arena of {} bytes: the system's or the process's limits forbid so much",
                storage.arena_bytes_);
  }
  const std::size_t layer_block_bytes = to_size(shape.num_kv_heads) * shape.head_bytes();
  std::uint8_t* next = storage.arena_.data();
  for (int group = 0; group < shape.num_groups(); ++group) {
    std::vector<KvLayer>& layers = storage.layers_.emplace_back();
    for (int i = 0; i < shape.group_layers[to_size(group)]; ++i) {
      layers.push_back({.data = next,
                        .block_bytes = layer_block_bytes,
                        .head_bytes = shape.head_bytes(),
                        .v_offset = static_cast<std::ptrdiff_t>(k_bytes(shape)),
                        .token_bytes = shape.head_bytes() / to_size(shape.block_size),
                        .k_order = KOrder::kDimMajor,
                        .block_size = shape.block_size,
                        .num_kv_heads = shape.num_kv_heads,
                        .head_dim = shape.head_dim,
                        .token_stride = shape.head_dim});
      next += to_size(storage.num_blocks(group)) * layer_block_bytes;
    }
  }
  return storage;
}

Result<KvStorage> KvStorage::create_contiguous(const KvShape& shape) {
  KvStorage storage;
  storage.shape_ = shape;
  storage.num_blocks_.assign(shape.group_layers.size(), 1);
  for (const int count : shape.group_layers) {
    std::vector<ContiguousKvCache>& caches = storage.caches_.emplace_back();
    std::vector<KvLayer>& layers = storage.layers_.emplace_back();
    for (int i = 0; i < count; ++i) {
      OCTAVO_TRY(ContiguousKvCache cache, ContiguousKvCache::create({.type = shape.type,
                                                                     .batch = 1,
                                                                     .num_kv_heads = shape.num_kv_heads,
                                                                     .head_dim = shape.head_dim,
                                                                     .initial_capacity = 0,
                                                                     .max_seq_len = shape.block_size}));
      layers.push_back(cache.layer());
      caches.push_back(std::move(cache));
    }
  }
  for (int group = 0; group < shape.num_groups(); ++group) storage.arena_bytes_ += storage.block_bytes(group);
  return storage;
}

std::uint64_t KvStorage::block_bytes(int group) const {
  if (!is_contiguous()) return shape_.group_block_bytes(group);
  std::uint64_t bytes = 0;
  for (const ContiguousKvCache& cache : caches_[to_size(group)])
    bytes += std::uint64_t{cache.layer().token_bytes} * static_cast<std::uint64_t>(shape_.num_kv_heads) *
             static_cast<std::uint64_t>(shape_.block_size);
  return bytes;
}

// Of the layer that has grown least: where memory ran out, those before it may have grown.
int KvStorage::block_capacity() const {
  int capacity = shape_.block_size;
  for (const std::vector<KvLayer>& layers : layers_)
    for (const KvLayer& layer : layers) capacity = std::min(capacity, layer.block_size);
  return capacity;
}

bool KvStorage::grow(int num_written, int num_tokens) {
  for (std::size_t group = 0; group < caches_.size(); ++group) {
    for (std::size_t i = 0; i < caches_[group].size(); ++i) {
      ContiguousKvCache& cache = caches_[group][i];
      cache.reset();
      OCTAVO_CHECK(num_tokens <= cache.max_seq_len() && cache.increment(0, num_written).has_value(),
                   "{} tokens, {} of them written, in a cache of {} of at most {}", num_tokens, num_written,
                   cache.capacity(), cache.max_seq_len());
      if (!cache.reserve(num_tokens)) return false;
      layers_[group][i] = cache.layer();
    }
  }
  return true;
}

void KvStorage::release(const std::uint8_t* begin, const std::uint8_t* end) {
  if (begin == end) return;
  arena_.release(to_size(begin - arena_.data()), to_size(end - arena_.data()));
}

void KvStorage::release_caches() {
  for (std::size_t group = 0; group < caches_.size(); ++group) {
    for (std::size_t i = 0; i < caches_[group].size(); ++i) {
      caches_[group][i].release();
      layers_[group][i] = caches_[group][i].layer();
    }
  }
}

std::uint64_t KvStorage::grown_bytes() const {
  std::uint64_t bytes = 0;
  for (const std::vector<ContiguousKvCache>& caches : caches_)
    for (const ContiguousKvCache& cache : caches) bytes += cache.bytes();
  return bytes;
}

void KvStorage::copy_block(int group, std::int32_t from, std::int32_t to) {
  OCTAVO_CHECK(from >= 0 && from < num_blocks(group) && to >= 0 && to < num_blocks(group), "copy {} to {} of {}", from,
               to, num_blocks(group));
  for (const KvLayer& layer : layers_[to_size(group)])
    std::memcpy(layer.data + to_size(to) * layer.block_bytes, layer.data + to_size(from) * layer.block_bytes,
                layer.block_bytes);
}

}  // namespace octavo

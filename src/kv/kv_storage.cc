#include "kv/kv_storage.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace octavo {
namespace {

std::size_t element_bytes(KvType type) {
  switch (type) {
    case KvType::kF32: return 4;
    case KvType::kQ8_0: return 1;
    case KvType::kF16:
    case KvType::kBF16: return 2;
  }
  return 0;
}

}  // namespace

std::size_t KvShape::head_bytes() const {
  const auto dim = static_cast<std::size_t>(head_dim), tokens = static_cast<std::size_t>(block_size);
  const std::size_t scales =
      type == KvType::kQ8_0 ? (dim + kKvScaleDims - 1) / kKvScaleDims * sizeof(std::uint16_t) : 0;
  return 2 * tokens * (dim * element_bytes(type) + scales);  // K and V
}

int KvShape::num_layers() const { return std::accumulate(group_layers.begin(), group_layers.end(), 0); }

std::size_t KvShape::block_bytes() const {
  return static_cast<std::size_t>(num_layers()) * static_cast<std::size_t>(num_kv_heads) * head_bytes();
}

Result<KvStorage> KvStorage::create(const KvShape& shape, std::uint64_t budget_bytes, std::int64_t max_blocks) {
  KvStorage storage;
  storage.shape_ = shape;
  const std::uint64_t fitting = budget_bytes / shape.block_bytes();
  if (fitting == 0)
    return fail("a KV memory of {} bytes holds no block: one of {} tokens takes {} bytes", budget_bytes,
                shape.block_size, shape.block_bytes());
  constexpr std::int64_t kMaxId = std::numeric_limits<std::int32_t>::max();
  const std::int64_t limit = std::min(max_blocks, kMaxId);
  storage.num_blocks_ = static_cast<int>(std::min(fitting, static_cast<std::uint64_t>(limit)));
  try {
    storage.arena_ = AlignedBuffer<std::uint8_t>(static_cast<std::size_t>(storage.num_blocks_) * shape.block_bytes());
  } catch (const std::bad_alloc&) {
    return fail("no memory for a KV cache of {} blocks of {} bytes", storage.num_blocks_, shape.block_bytes());
  }
  const std::size_t layer_block_bytes = static_cast<std::size_t>(shape.num_kv_heads) * shape.head_bytes();
  std::uint8_t* next = storage.arena_.data();
  for (const int count : shape.group_layers) {
    std::vector<KvLayer>& layers = storage.layers_.emplace_back();
    for (int i = 0; i < count; ++i) {
      layers.push_back({.data = next,
                        .block_bytes = layer_block_bytes,
                        .head_bytes = shape.head_bytes(),
                        .v_offset = element_bytes(shape.type) * static_cast<std::size_t>(shape.head_dim) *
                                    static_cast<std::size_t>(shape.block_size),
                        .k_order = KOrder::kDimMajor,
                        .block_size = shape.block_size,
                        .num_kv_heads = shape.num_kv_heads,
                        .head_dim = shape.head_dim});
      next += static_cast<std::size_t>(storage.num_blocks_) * layer_block_bytes;
    }
  }
  return storage;
}

Result<KvStorage> KvStorage::create_contiguous(const KvShape& shape, std::uint64_t budget_bytes, int max_tokens) {
  KvStorage storage;
  storage.shape_ = shape;
  const auto layers = static_cast<std::uint64_t>(shape.num_layers());
  const std::uint64_t token_bytes = shape.bytes_per_token() / layers * (layers + 1);
  const std::uint64_t fitting = budget_bytes / token_bytes;
  if (fitting == 0)
    return fail("a KV memory of {} bytes holds no token: one takes {} bytes", budget_bytes, token_bytes);
  storage.num_blocks_ = 1;
  storage.shape_.block_size =
      static_cast<int>(std::min<std::uint64_t>(fitting, static_cast<std::uint64_t>(max_tokens)));
  for (const int count : shape.group_layers) {
    std::vector<ContiguousKvCache>& caches = storage.caches_.emplace_back();
    storage.layers_.emplace_back(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      OCTAVO_TRY(ContiguousKvCache cache, ContiguousKvCache::create({.type = shape.type,
                                                                     .num_kv_heads = shape.num_kv_heads,
                                                                     .head_dim = shape.head_dim,
                                                                     .initial_capacity = 0,
                                                                     .max_seq_len = storage.shape_.block_size}));
      caches.push_back(std::move(cache));
    }
  }
  return storage;
}

void KvStorage::prepare(int first, int end) {
  for (std::size_t group = 0; group < caches_.size(); ++group)
    for (std::size_t i = 0; i < caches_[group].size(); ++i) {
      const Result<void> grown = caches_[group][i].reserve(end, first);
      OCTAVO_CHECK(grown.has_value(), "{}", grown.error().message);
      layers_[group][i] = caches_[group][i].layer();
    }
}

void KvStorage::copy_block(int group, std::int32_t from, std::int32_t to) {
  OCTAVO_CHECK(from >= 0 && from < num_blocks_ && to >= 0 && to < num_blocks_, "copy {} to {}", from, to);
  for (const KvLayer& layer : layers_[static_cast<std::size_t>(group)])
    std::memcpy(layer.data + static_cast<std::size_t>(to) * layer.block_bytes,
                layer.data + static_cast<std::size_t>(from) * layer.block_bytes, layer.block_bytes);
}

}  // namespace octavo

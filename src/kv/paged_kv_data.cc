// PagedKvCache: keys and values, checked and decoded.
#include <algorithm>
#include <limits>

#include "base/to_size.h"
#include "kv/decode_kv.h"
#include "kv/paged_kv_impl.h"

namespace octavo {

bool PagedKvCache::Impl::is_visible(const GroupState& state, int g, int layer_index, std::int64_t position) const {
  if (position < 0 || position >= state.table.token_capacity()) return false;
  const std::int64_t index = position / block_size;
  const int slot = static_cast<int>(position % block_size);
  if (index < state.table.first_held() || slot >= state.visible[to_size(index)]) return false;
  const BlockId block = state.table.block_ids()[to_size(index)];
  return groups[to_size(g)]->written.test(block, layer_index, slot);
}

KvResult<void> PagedKvCache::write_kv(SequenceId id, int layer, std::int64_t position, std::span<const float> keys,
                                      std::span<const float> values, int num_positions) {
  const std::size_t one = to_size(num_kv_heads()) * to_size(head_dim());
  const std::size_t all = one * to_size(std::max(num_positions, 0));
  for (const std::span<const float> given : {keys, values})
    if (given.size() != all) return std::unexpected(DimMismatch{all, given.size()});
  SequenceState* sequence = impl_->find(id);
  if (sequence == nullptr) return std::unexpected(SequenceNotFound{id});
  if (layer < 0 || layer >= num_layers()) return std::unexpected(LayerOutOfRange{layer, num_layers()});
  if (position < 0 || position > std::numeric_limits<std::int64_t>::max() - std::max(num_positions, 0))
    return std::unexpected(PositionOutOfRange{id, position});
  if (num_positions <= 0) return {};

  const auto [g, index] = impl_->layer_places[to_size(layer)];
  const std::int64_t end = position + num_positions;
  if (const auto reserved = impl_->reserve_groups(id, *sequence, g, g + 1, position, end, nullptr); !reserved)
    return reserved;
  GroupState& state = sequence->groups[to_size(g)];
  WrittenBits& written = impl_->groups[to_size(g)]->written;
  const KvLayer& memory = impl_->storage.layer(g, index);
  for (std::int64_t at = position; at < end; ++at) {
    const BlockId block = state.table.block_ids()[to_size(at / block_size())];
    const int slot = static_cast<int>(at % block_size());
    const std::size_t from = to_size(at - position) * one;
    impl_->write_token(memory, block, slot, keys.data() + from, values.data() + from);
    written.set(block, index, slot, slot + 1);
  }
  if (position <= state.length) impl_->update_length(state, g);
  return {};
}

KvResult<BlockId> PagedKvCache::Impl::find_written(SequenceId id, int layer, std::int64_t position) const {
  const SequenceState* sequence = find(id);
  if (sequence == nullptr) return std::unexpected(SequenceNotFound{id});
  if (layer < 0 || layer >= num_layers()) return std::unexpected(LayerOutOfRange{layer, num_layers()});
  const auto [g, index] = layer_places[to_size(layer)];
  const GroupState& state = sequence->groups[to_size(g)];
  if (!is_visible(state, g, index, position)) return std::unexpected(PositionOutOfRange{id, position});
  return state.table.block_ids()[to_size(position / block_size)];
}

KvResult<KvView> PagedKvCache::read_kv(SequenceId id, int layer, std::int64_t position) const {
  const KvResult<BlockId> block = impl_->find_written(id, layer, position);
  if (!block) return std::unexpected(block.error());
  if (type() != KvType::kF32) return std::unexpected(WrongElementType{KvType::kF32, type()});
  const auto [g, index] = impl_->layer_places[to_size(layer)];
  return view_kv(impl_->storage.layer(g, index), *block, static_cast<int>(position % block_size()));
}

KvResult<void> PagedKvCache::read_kv(SequenceId id, int layer, std::int64_t position, std::span<float> key,
                                     std::span<float> value) const {
  const std::size_t one = to_size(num_kv_heads()) * to_size(head_dim());
  for (const std::span<float> given : {key, value})
    if (given.size() != one) return std::unexpected(DimMismatch{one, given.size()});
  const KvResult<BlockId> block = impl_->find_written(id, layer, position);
  if (!block) return std::unexpected(block.error());
  const auto [g, index] = impl_->layer_places[to_size(layer)];
  decode_kv(impl_->storage.layer(g, index), type(), *block, static_cast<int>(position % block_size()), key.data(),
            value.data());
  return {};
}

}  // namespace octavo

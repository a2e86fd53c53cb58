#include "attention/attention_stretch.h"

#include <algorithm>
#include <cstdint>

#include "base/to_size.h"

namespace octavo {

AttentionItem AttentionStretch::item(int i) const {
  AttentionItem item = first;
  item.kv_head += i;
  if (item.partial != nullptr) item.partial += i * head_floats;
  if (item.states != nullptr) item.states += i * head_floats;
  return item;
}

AttentionAhead::Part AttentionStretch::first_tile(int block_size) const {
  AttentionAhead::Part part = blocks_of_tile(first, first.begin / kTileTokens * kTileTokens, block_size);
  part.num_heads = num_heads;
  return part;
}

std::size_t StretchQueue::block_bytes(const AttentionAhead::Part& part) const {
  return to_size(part.num_heads * kv_.block_size) * kv_.token_bytes;
}

// Whether to fetch further: not beyond a stretch of several tiles, as it would have left the cache when these are done.
bool StretchQueue::wants_more(std::size_t bytes) const {
  if (count_ == 0) return true;
  return count_ < waiting_.size() && bytes_ < std::min(fetched_ + bytes, kStretchBytes) &&
         waiting_[count_ - 1].stretch.is_one_tile();
}

void StretchQueue::push(const AttentionStretch& stretch) {
  Waiting& added = waiting_[count_++];
  added = {.stretch = stretch, .left = stretch.first_tile(kv_.block_size)};
  added.bytes = to_size(added.left.num_blocks) * block_bytes(added.left);
  bytes_ += added.bytes;
}

AttentionStretch StretchQueue::pop() {
  const Waiting first = waiting_[0];
  std::move(waiting_.begin() + 1, waiting_.begin() + static_cast<std::ptrdiff_t>(count_), waiting_.begin());
  --count_;
  bytes_ -= first.bytes;
  fetched_ -= first.bytes - to_size(first.left.num_blocks) * block_bytes(first.left);
  return first.stretch;
}

AttentionAhead StretchQueue::fetch(int part, int parts, std::size_t bytes) {
  AttentionAhead ahead;
  if (count_ == 0) return ahead;
  const std::size_t portion = waiting_[0].bytes * to_size(part + 1) / to_size(parts);
  const std::size_t until = std::max(portion, std::min(fetched_ + bytes, kStretchBytes));
  for (std::size_t i = 0; i < count_ && fetched_ < until; ++i) {
    AttentionAhead::Part& left = waiting_[i].left;
    if (left.num_blocks == 0) continue;
    const std::size_t each = block_bytes(left), blocks = (until - fetched_ + each - 1) / each;
    AttentionAhead::Part taken = left;
    taken.num_blocks = static_cast<std::int32_t>(std::min<std::size_t>(blocks, taken.num_blocks));
    left.blocks += taken.num_blocks;
    left.num_blocks -= taken.num_blocks;
    fetched_ += to_size(taken.num_blocks) * each;
    ahead.parts[ahead.num_parts++] = taken;
  }
  return ahead;
}

}  // namespace octavo

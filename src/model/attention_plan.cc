#include "model/attention_plan.h"

#include <algorithm>

namespace octavo {
namespace {

// With fewer items than this a thread, sequences are cut along their length as well.
constexpr int kItemsPerThread = 4;

int num_tiles(int queries) { return (queries + kMaxTileQueries - 1) / kMaxTileQueries; }

}  // namespace

AttentionPlan::AttentionPlan(const ModelConfig& config, int num_threads, int max_context, const float* q, float* out)
    : config_(config), num_threads_(num_threads), q_(q), out_(out) {
  const auto most_splits = static_cast<std::size_t>(max_context / kSplitTokens + 1);
  const auto query_floats = static_cast<std::size_t>(kMaxTileQueries * (config.head_dim + 2));
  partial_ = AlignedBuffer<float>(static_cast<std::size_t>(num_threads * kItemsPerThread) * most_splits * query_floats);
}

void AttentionPlan::build(const Batch& batch, int group, int window) {
  items_.clear();
  merges_.clear();
  partial_used_ = 0;
  const int heads_per_kv = config_.num_heads / config_.num_kv_heads;
  int whole_items = 0;
  for (int s = 0; s < batch.num_seqs(); ++s) {
    const auto i = static_cast<std::size_t>(s);
    whole_items += config_.num_kv_heads * num_tiles((batch.seq_begin[i + 1] - batch.seq_begin[i]) * heads_per_kv);
  }
  const bool split = num_threads_ > 1 && whole_items < num_threads_ * kItemsPerThread;
  for (int s = 0; s < batch.num_seqs(); ++s) add_sequence(batch, group, s, window, split);
}

void AttentionPlan::add_sequence(const Batch& batch, int group, int sequence, int window, bool split) {
  const auto s = static_cast<std::size_t>(sequence);
  const Batch::Group& tables = batch.groups[static_cast<std::size_t>(group)];
  const int first_row = batch.seq_begin[s];
  const int heads_per_kv = config_.num_heads / config_.num_kv_heads;
  const int queries = (batch.seq_begin[s + 1] - first_row) * heads_per_kv;
  const std::size_t offset = static_cast<std::size_t>(first_row) * static_cast<std::size_t>(config_.q_width());
  AttentionItem item{.blocks = tables.block_ids.data() + tables.block_begin[s],
                     .num_blocks = tables.block_begin[s + 1] - tables.block_begin[s],
                     .q = q_ + offset,
                     .out = out_ + offset,
                     .partial = nullptr,
                     .first_query = 0,
                     .num_queries = 0,
                     .first_position = batch.positions[static_cast<std::size_t>(first_row)],
                     .kv_head = 0,
                     .group = heads_per_kv,
                     .num_heads = config_.num_heads,
                     .window = window,
                     .split_begin = 0,
                     .split_end = 0};
  for (int head = 0; head < config_.num_kv_heads; ++head)
    for (int first = 0; first < queries; first += kMaxTileQueries) {
      item.kv_head = head;
      item.first_query = first;
      item.num_queries = std::min(kMaxTileQueries, queries - first);
      const int first_position = item.first_position + first / heads_per_kv;
      const int last_position = item.first_position + (first + item.num_queries - 1) / heads_per_kv;
      item.split_begin = (window > 0 ? std::max(0, first_position - window + 1) : 0) / kSplitTokens;
      item.split_end = last_position / kSplitTokens + 1;
      if (split && item.split_end - item.split_begin > 1) {
        add_splits(item);
      } else {
        items_.push_back(item);
      }
    }
}

void AttentionPlan::add_splits(const AttentionItem& whole) {
  const std::size_t split_floats =
      static_cast<std::size_t>(whole.num_queries) * static_cast<std::size_t>(config_.head_dim + 2);
  Merge merge{whole, whole.split_end - whole.split_begin};
  merge.item.partial = partial_.data() + partial_used_;
  for (int i = 0; i < merge.num_splits; ++i) {
    AttentionItem item = whole;
    item.partial = merge.item.partial + static_cast<std::size_t>(i) * split_floats;
    item.split_begin = whole.split_begin + i;
    item.split_end = item.split_begin + 1;
    items_.push_back(item);
  }
  partial_used_ += static_cast<std::size_t>(merge.num_splits) * split_floats;
  merges_.push_back(merge);
}

}  // namespace octavo

#include "gpu/card_step.h"

#include <algorithm>
#include <bit>

#include "base/to_size.h"

namespace octavo::gpu {
namespace {

/// Whether the scores of two layers have the same scale.
bool same_scale(const AttentionSpec& a, const AttentionSpec& b) {
  return a.scale == b.scale && a.temperature == b.temperature;
}

int heads_of_kv(const AttentionSpec& spec) { return spec.num_heads / spec.num_kv_heads; }

}  // namespace

CardStep::CardStep(CudaDevice& device, const StageParts& parts, LayerRange layers, const float* rope_factors)
    : pool_(parts.pool),
      math_(parts.options.bits),
      rows_(parts.max_rows),
      arrays_(device),
      tables_(math_, parts.max_rows),
      layers_(to_size(layers.end)),
      groups_(parts.room.layout.groups.size()),
      recurrent_(parts.max_rows) {
  for (int i = layers.first; i < layers.end; ++i) {
    is_recurrent_ = is_recurrent_ || parts.config.layer(i).state_bytes() > 0;
    if (parts.config.layer(i).attention() == nullptr) continue;
    const AttentionSpec& spec = *parts.config.layer(i).attention();
    Layer& layer = layers_[to_size(i)];
    layer.group = parts.room.layout.place(i).group;
    layer.rope = tables_.add(spec.rope, rope_factors);
    const auto scale = std::ranges::find_if(scales_, [&](const Scale& known) { return same_scale(*known.spec, spec); });
    layer.scale = to_size(scale - scales_.begin());
    if (scale == scales_.end()) scales_.push_back({.spec = &spec});
    if (std::ranges::find(entries_, heads_of_kv(spec), &Entries::heads_of_kv) == entries_.end())
      entries_.push_back({.heads_of_kv = heads_of_kv(spec)});
  }
  ropes_.resize(tables_.size());
}

void CardStep::begin(const StepRows& rows) {
  rows_ = rows;
  const Batch& batch = rows_.batch();
  tables_.fill(batch, pool_);
  arrays_.clear();
  positions_ = arrays_.add(std::span(batch.positions));
  logit_rows_ = arrays_.add(std::span(batch.logit_rows));
  if (is_recurrent_) send_ranges(batch);
  send_groups(batch);
  send_angles(batch);
  if (!rows_.are_kept())
    for (Entries& entries : entries_) send_entries(entries, 0);
  if (batch.logit_rows.size() < batch.tokens.size()) {
    rows_.keep_logit_rows();
    for (Entries& entries : entries_) send_entries(entries, 1);
    rows_ = rows;
  }
  arrays_.upload();
}

void CardStep::send_groups(const Batch& batch) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    groups_[g].blocks = arrays_.add_growing(std::span(batch.groups[g].block_ids));
    const auto [place, first_block] = arrays_.add<std::int32_t>(batch.tokens.size());
    groups_[g].first_block = place;
    for (int row = 0; row < batch.num_rows(); ++row)
      first_block[to_size(row)] = batch.groups[g].block_begin[to_size(rows_.sequence_of(row))];
  }
}

void CardStep::send_angles(const Batch& batch) {
  const std::size_t num_rows = batch.tokens.size();
  for (std::size_t i = 0; i < ropes_.size(); ++i)
    ropes_[i] = {arrays_.add(tables_[i].cosines(num_rows)), arrays_.add(tables_[i].sines(num_rows))};
  for (Scale& scale : scales_) {
    const auto [place, scales] = arrays_.add<float>(num_rows);
    scale.scales = place;
    for (std::size_t row = 0; row < num_rows; ++row)
      scales[row] = score_scale(*scale.spec, math_, batch.positions[row]);
  }
}

void CardStep::send_ranges(const Batch& batch) {
  recurrent_.plan(batch);
  const std::span<const RecurrentRows::Range> planned = recurrent_.ranges();
  const auto [place, ranges] = arrays_.add<DeltaRange>(planned.size());
  ranges_ = place;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    ranges[i] = {.first_row = planned[i].first_row,
                 .num_known = planned[i].num_known(),
                 .num_drafted = planned[i].num_drafted,
                 .state_slot = planned[i].state_slot,
                 .begins = planned[i].begins ? 1 : 0,
                 .first_kept = planned[i].first_kept};
  range_of_ = arrays_.add(recurrent_.range_numbers());
}

/// Shares out attention among blocks of threads. A block takes rows of a sequence with all query heads of a KV head, as
/// many as fit; or one row with a part of these heads.
void CardStep::send_entries(Entries& entries, int phase) {
  const int heads = std::min(entries.heads_of_kv, kMaxCardQueries), most_rows = kMaxCardQueries / heads;
  made_.clear();
  int most = 1;
  rows_.for_ranges([&](std::int64_t first, int num_rows) {
    for (int row = 0; row < num_rows; row += most_rows) {
      const int count = std::min(most_rows, num_rows - row);
      for (int head = 0; head < entries.heads_of_kv; head += heads) {
        const int num_heads = std::min(heads, entries.heads_of_kv - head);
        made_.push_back({static_cast<std::int32_t>(first) + row, count, head, num_heads});
        most = std::max(most, count * num_heads);
      }
    }
  });
  const auto p = to_size(phase);
  entries.place[p] = arrays_.add(std::span<const AttentionEntry>(made_));
  entries.count[p] = static_cast<int>(made_.size());
  entries.queries[p] = static_cast<int>(std::bit_ceil(static_cast<unsigned>(most)));
}

CardRows CardStep::rows_of(int layer) const {
  const Layer& l = layers_[to_size(layer)];
  const Group& group = groups_[to_size(l.group)];
  return {.positions = arrays_.at<std::int32_t>(positions_),
          .first_block = arrays_.at<std::int32_t>(group.first_block),
          .blocks = arrays_.at<std::int32_t>(group.blocks),
          .cosines = arrays_.at<float>(ropes_[l.rope].cosines),
          .sines = arrays_.at<float>(ropes_[l.rope].sines),
          .scales = arrays_.at<float>(scales_[l.scale].scales)};
}

CardRanges CardStep::ranges() const {
  return {.ranges = arrays_.at<DeltaRange>(ranges_),
          .range_of = arrays_.at<std::int32_t>(range_of_),
          .count = static_cast<int>(recurrent_.ranges().size())};
}

CardEntries CardStep::entries_of(int heads_of_kv) const {
  const auto entries = std::ranges::find(entries_, heads_of_kv, &Entries::heads_of_kv);
  const std::size_t phase = rows_.are_kept() ? 1 : 0;
  return {.entries = arrays_.at<AttentionEntry>(entries->place[phase]),
          .count = entries->count[phase],
          .queries = entries->queries[phase]};
}

int CardStep::tiles_of(int window) const {
  int most = 1;
  rows_.for_ranges([&](std::int64_t first, int num_rows) {
    const int position = rows_.batch().positions[to_size(rows_.batch_row(first))];
    const int begin = window > 0 ? std::max(0, position + 1 - window) : 0;
    const int end = position + num_rows;
    most = std::max(most, (end - 1) / kTileTokens + 1 - begin / kTileTokens);
  });
  return most;
}

}  // namespace octavo::gpu

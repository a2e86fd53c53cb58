#include "engine/batch_builder.h"

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {

BatchBuilder::BatchBuilder(const KvBooks& kv, const Scheduler::Limits& limits) : kv_(kv) {
  const auto rows = to_size(limits.max_step_tokens);
  const auto sequences = to_size(limits.max_sequences);
  batch_.tokens.reserve(rows);
  batch_.positions.reserve(rows);
  batch_.logit_rows.reserve(rows);
  logit_rows_.reserve(rows);
  batch_.seq_begin.reserve(sequences + 1);
  batch_.kv_len.reserve(sequences);
  batch_.groups.resize(to_size(kv.num_groups()));
  batch_.releases.reserve(kv.most_released_runs());
  batch_.copies.reserve(sequences * to_size(kv.num_pools()));
  if (kv.has_snapshots()) batch_.seats.reserve(sequences);
  for (Batch::Group& group : batch_.groups) group.block_begin.reserve(sequences + 1);
}

void BatchBuilder::reserve_tables(std::size_t num_blocks) {
  for (Batch::Group& group : batch_.groups)
    if (group.block_ids.capacity() < num_blocks) group.block_ids.reserve(2 * num_blocks);
}

void BatchBuilder::build(std::span<const ScheduledSequence> plan, std::span<const BlockCopy> copies) {
  batch_.clear();
  batch_.copies.assign(copies.begin(), copies.end());
  logit_rows_.clear();
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Sequence& sequence = *plan[i].sequence;
    add_rows(static_cast<int>(i), sequence, plan[i].num_tokens);
    add_tables(sequence, sequence.num_computed + plan[i].num_tokens);
  }
}

void BatchBuilder::build_release(KvBooks& kv, bool cached) {
  batch_.clear();
  logit_rows_.clear();
  kv.release_memory(cached, batch_.releases);
}

void BatchBuilder::add_rows(int planned, const Sequence& sequence, int num_tokens) {
  const int end = sequence.num_computed + num_tokens;
  OCTAVO_CHECK(num_tokens >= 1 && end <= sequence.num_tokens(), "{} of {} tokens", end, sequence.num_tokens());
  const int first_logits = end - sequence.num_logit_rows(end);
  for (int position = sequence.num_computed; position < end; ++position) {
    if (position >= first_logits) {
      batch_.logit_rows.push_back(batch_.num_rows());
      logit_rows_.push_back({.planned = planned, .position = position, .draws = sequence.draws_after(position)});
    }
    batch_.tokens.push_back(sequence.tokens[to_size(position)]);
    batch_.positions.push_back(position);
  }
  batch_.seq_begin.push_back(batch_.num_rows());
  batch_.kv_len.push_back(end);
}

void BatchBuilder::add_tables(const Sequence& sequence, int kv_len) {
  const auto num_blocks = to_size((kv_len - 1) / kv_.block_size() + 1);
  for (std::size_t g = 0; g < batch_.groups.size(); ++g) {
    Batch::Group& group = batch_.groups[g];
    const std::span<const BlockId> blocks = kv_.table(sequence.kv, static_cast<int>(g)).block_ids();
    OCTAVO_CHECK(num_blocks <= blocks.size(), "{} tokens in {} blocks", kv_len, blocks.size());
    group.block_ids.insert(group.block_ids.end(), blocks.begin(),
                           blocks.begin() + static_cast<std::ptrdiff_t>(num_blocks));
    group.block_begin.push_back(static_cast<std::int32_t>(group.block_ids.size()));
  }
  if (!kv_.has_snapshots()) return;
  const std::optional<BlockId> seat = kv_.table(sequence.kv, kv_.num_groups()).get(0);
  OCTAVO_CHECK(seat.has_value(), "sequence {} has no seat", sequence.kv);
  batch_.seats.push_back(*seat);
}

}  // namespace octavo

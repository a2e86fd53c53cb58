#include "engine/drive/batch_builder.h"

#include <algorithm>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

/// Adds the token types of the sequence's rows, which were added last.
void add_token_types(Batch& batch, const Sequence& sequence) {
  const std::vector<std::uint8_t>& types = sequence.token_types;
  if (types.empty() && batch.token_types.empty()) return;
  batch.token_types.resize(batch.tokens.size());
  const auto first = to_size(batch.seq_begin.back());
  for (std::size_t row = first; row < batch.tokens.size(); ++row)
    if (const auto position = to_size(batch.positions[row]); position < types.size())
      batch.token_types[row] = types[position];
}

/// Adds the given rows (such as pictures') among the sequence's rows in the batch: `count` rows from `first_row` on,
/// which is at `position`.
void add_given(Batch& batch, const Sequence& sequence, int first_row, int position, int count) {
  for (std::size_t i = 0; i < sequence.given.rows.size(); ++i) {
    const GivenRows& given = sequence.given.rows[i];
    const int begin = std::max(given.first, position), end = std::min(given.end(), position + count);
    if (begin >= end) continue;
    batch.given.push_back({.first_row = first_row + begin - position,
                           .num_rows = end - begin,
                           .index = given.index + begin - given.first,
                           .vectors = sequence.given.pictures[i]->vectors,
                           .width = sequence.given.pictures[i]->row_floats});
  }
}

/// Moves sequences that want vectors to the end, in place, so that rows of logits are one range and those of vectors
/// another. The order is kept otherwise.
void put_vectors_last(std::vector<ScheduledSequence>& sequences) {
  auto end = sequences.begin();  // the end of those that want no vectors
  for (auto at = sequences.begin(); at != sequences.end(); ++at) {
    if (at->sequence->params.makes_vector) continue;
    std::rotate(end, at, at + 1);
    ++end;
  }
}

void add_rows(StepPlan& plan, int planned, int& num_drafted_rows) {
  const ScheduledSequence& scheduled = plan.sequences[to_size(planned)];
  const Sequence* sequence = scheduled.sequence;
  const int num_tokens = scheduled.num_tokens, num_drafted = scheduled.num_drafted;
  Batch& batch = plan.batch;
  const int end = sequence->num_computed + num_tokens;
  const int num_known = sequence->num_tokens();
  OCTAVO_CHECK(num_tokens > num_drafted && end - num_drafted <= num_known, "{} tokens of {}, {} are drafted", end,
               num_known, num_drafted);
  const PositionRange wanted = sequence->wanted_rows(end);
  for (int position = sequence->num_computed; position < end; ++position) {
    if (wanted.begin <= position && position < wanted.end) {
      batch.logit_rows.push_back(batch.num_rows());
      plan.logit_rows.push_back({.planned = planned,
                                 .position = position,
                                 .draws = sequence->draws_after(position),
                                 .drafted = position < num_known ? -1 : num_drafted_rows++});
    }
    batch.add_row(position < num_known ? sequence->tokens[to_size(position)]
                                       : sequence->draft.tokens[to_size(position - num_known)],
                  position, sequence->rope_position(position));
  }
  add_given(batch, *sequence, batch.seq_begin.back(), sequence->num_computed, num_tokens);
  add_token_types(batch, *sequence);
  batch.seq_begin.push_back(batch.num_rows());
  batch.kv_len.push_back(end);
}

void add_tables(Batch& batch, const KvCacheManager& kv, SequenceId sequence, int kv_len, int num_drafted) {
  const auto num_blocks = to_size((kv_len - 1) / kv.block_size() + 1);
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    Batch::Group& group = batch.groups[g];
    const std::span<const BlockId> blocks = kv.table(sequence, static_cast<int>(g)).block_ids();
    OCTAVO_CHECK(num_blocks <= blocks.size(), "{} tokens in {} blocks", kv_len, blocks.size());
    group.block_ids.insert(group.block_ids.end(), blocks.begin(),
                           blocks.begin() + static_cast<std::ptrdiff_t>(num_blocks));
    group.block_begin.push_back(static_cast<std::int32_t>(group.block_ids.size()));
  }
  if (!kv.has_snapshots()) return;
  const std::optional<BlockId> state_slot = kv.table(sequence, kv.num_groups()).get(0);
  OCTAVO_CHECK(state_slot.has_value(), "sequence {} has no state_slot", sequence);
  batch.state_slots.push_back(*state_slot);
  batch.num_drafted.push_back(num_drafted);
}

}  // namespace

void build_batch(StepPlan& plan, const KvCacheManager& kv) {
  plan.batch.clear();
  plan.batch.copies.assign(plan.copies.begin(), plan.copies.end());
  plan.batch.advances.assign(plan.advances.begin(), plan.advances.end());
  ++plan.num_batches;
  plan.logit_rows.clear();
  plan.first_vector_row = 0;
  put_vectors_last(plan.sequences);
  int num_drafted_rows = 0;
  for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
    const ScheduledSequence& planned = plan.sequences[i];
    const Sequence& sequence = *planned.sequence;
    add_rows(plan, static_cast<int>(i), num_drafted_rows);
    add_tables(plan.batch, kv, sequence.kv, sequence.num_computed + planned.num_tokens, planned.num_drafted);
    if (!sequence.params.makes_vector) plan.first_vector_row = plan.logit_rows.size();
  }
}

void build_joint_pass(Batch& batch, const KvCacheManager& kv, const Sequence& sequence,
                      std::span<const BlockCopy> copies) {
  batch.clear();
  batch.copies.assign(copies.begin(), copies.end());
  const int first = sequence.num_computed, end = sequence.notes.joint_end;
  const PositionRange wanted = sequence.wanted_rows(end);
  for (int position = first; position < end; ++position) {
    if (wanted.begin <= position && position < wanted.end) batch.logit_rows.push_back(batch.num_rows());
    batch.add_row(sequence.tokens[to_size(position)], position, sequence.rope_position(position));
  }
  add_given(batch, sequence, 0, first, end - first);
  batch.seq_begin.push_back(batch.num_rows());
  batch.kv_len.push_back(end);
  batch.sight_end = end;
  add_tables(batch, kv, sequence.kv, end, 0);
}

void build_joint_end(StepPlan& plan) {
  plan.batch.clear();
  plan.batch.advances.assign(plan.advances.begin(), plan.advances.end());
  plan.batch.ends_joint_pass = true;
  plan.logit_rows.clear();
  const Sequence& sequence = *plan.sequences.front().sequence;
  const int first = sequence.num_computed, end = first + plan.sequences.front().num_tokens;
  const PositionRange wanted = sequence.wanted_rows(end);
  for (int position = std::max(first, wanted.begin); position < std::min(end, wanted.end); ++position) {
    plan.batch.logit_rows.push_back(position - first);
    plan.logit_rows.push_back({.planned = 0, .position = position, .draws = sequence.draws_after(position)});
  }
  if (!plan.logit_rows.empty()) ++plan.num_batches;  // otherwise hidden rows of the one before stay
  plan.first_vector_row = sequence.params.makes_vector ? 0 : plan.logit_rows.size();
}

void build_guesses(GuessBatch& batch, const KvCacheManager& kv, std::span<Sequence* const> sequences,
                   bool of_assistant) {
  for (const Sequence* sequence : sequences) {
    OCTAVO_CHECK(sequence->num_uncomputed() == 1, "{} tokens are not computed", sequence->num_uncomputed());
    const int end = sequence->num_computed + (of_assistant ? 0 : sequence->draft.num_wanted);
    batch.rows.add_row(sequence->tokens.back(), sequence->num_computed,
                       sequence->rope_position(sequence->num_computed));
    batch.rows.seq_begin.push_back(batch.rows.num_rows());
    batch.rows.kv_len.push_back(end);
    batch.num_guesses.push_back(sequence->draft.num_wanted);
    if (of_assistant) batch.hidden_rows.push_back(sequence->draft.hidden.row);
    add_tables(batch.rows, kv, sequence->kv, end, 0);
  }
}

void build_release(StepPlan& plan, KvCacheManager& kv, bool cached) {
  plan.clear();
  plan.batch.advances.assign(plan.advances.begin(), plan.advances.end());
  kv.release_memory(cached, plan.batch.releases);
}

}  // namespace octavo

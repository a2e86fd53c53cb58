#include "engine/schedule/step_plan.h"

#include "base/to_size.h"
#include "model/model_runner.h"

namespace octavo {

StepPlan::StepPlan(const StepLimits& limits, const KvCacheManager& kv, const CostModel* cost)
    : claims(kv.block_size(), limits.max_step_tokens, limits.max_sequences),
      budget(limits.max_step_tokens, limits.step_ms, cost) {
  const auto rows = to_size(limits.max_step_tokens);
  const auto most_sequences = to_size(limits.max_sequences);
  sequences.reserve(most_sequences);
  beginning.reserve(most_sequences);
  newly_admitted.reserve(2 * most_sequences + 1);  // Admission never admits more in a step
  copies.reserve(most_sequences * to_size(kv.num_pools()));
  logit_rows.reserve(rows);
  batch.groups.resize(to_size(kv.num_groups()));
  batch.reserve(rows, most_sequences);
  batch.releases.reserve(kv.most_released_runs());
  batch.copies.reserve(most_sequences * to_size(kv.num_pools()));
  if (kv.has_snapshots()) {
    batch.state_slots.reserve(most_sequences);
    batch.num_drafted.reserve(most_sequences);
    advances.reserve(kMaxDraftedRows);
    batch.advances.reserve(kMaxDraftedRows);
  }
  samples.all.reserve(most_sequences);
}

void StepPlan::reserve_guesses() {
  guesses.rows.groups.resize(batch.groups.size());
  guesses.rows.reserve(to_size(kMaxLogitRows), to_size(kMaxLogitRows));
  guesses.rows.state_slots.reserve(to_size(kMaxLogitRows));
  guesses.rows.num_drafted.reserve(to_size(kMaxLogitRows));
  guesses.rows.copies.reserve(batch.copies.capacity());
  guesses.rows.advances.reserve(to_size(kMaxDraftedRows));
  guesses.num_guesses.reserve(to_size(kMaxLogitRows));
  guesses.draws.reserve(to_size(kMaxLogitRows));
  guesses.hidden_rows.reserve(to_size(kMaxLogitRows));
  guesses.candidate_begin.reserve(to_size(kMaxLogitRows) + 1);
}

void StepPlan::reserve_tables(std::size_t num_blocks) {
  for (std::vector<Batch::Group>* groups : {&batch.groups, &guesses.rows.groups})
    for (Batch::Group& group : *groups)
      if (group.block_ids.capacity() < num_blocks) group.block_ids.reserve(2 * num_blocks);
}

void StepPlan::clear() {
  sequences.clear();
  beginning.clear();
  newly_admitted.clear();
  copies.clear();
  ends_joint_pass = false;
  claims.clear();
  batch.clear();
  logit_rows.clear();
  samples.clear();
}

}  // namespace octavo

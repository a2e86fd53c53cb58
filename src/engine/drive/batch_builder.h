// Turns a step's plan into the flat arrays that a ModelRunner reads, and lists the rows whose logits it asks for.
//
// Only the thread that drives the engine may call these. The plan's arrays grow to the largest step seen and stay.
#pragma once

#include "engine/schedule/step_plan.h"
#include "kv/kv_cache_manager.h"

namespace octavo {

/// Fills plan.batch and plan.logit_rows: plan.sequences in order, the rows of each in order. `kv` has their tables.
/// Logits are asked for where a token is drawn and for prompt rows whose logits are wanted.
void build_batch(StepPlan& plan, const KvCacheManager& kv);

/// Adds the rows of guesses to a batch that has its copies and advances: the last token of each sequence, and as many
/// guesses as its draft wants, but for their candidates and draws. An assistant begins with the hidden rows of the
/// drafts and writes nothing.
void build_guesses(GuessBatch& batch, const KvCacheManager& kv, std::span<Sequence* const> sequences,
                   bool of_assistant);

/// Fills plan.batch with memory that `kv` gives back, and no rows: KvCacheManager::release_memory(). Allocates nothing.
void build_release(StepPlan& plan, KvCacheManager& kv, bool cached);

}  // namespace octavo

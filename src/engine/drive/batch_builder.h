// Turns a step's plan into the flat arrays that a ModelRunner reads, and lists the rows whose logits are wanted.
//
// Only the thread that drives the engine may call these. The plan's arrays grow to the largest step seen and stay.
#pragma once

#include "engine/schedule/step_plan.h"
#include "kv/kv_cache_manager.h"

namespace octavo {

/// Fills plan.batch and plan.logit_rows, in the order of plan.sequences and of the rows of each. `kv` has the block
/// tables. Logits are wanted where a token is drawn, and of prompt rows where the request asks for them.
void build_batch(StepPlan& plan, const KvCacheManager& kv);

/// Fills a batch with the rows of the joint pass that is under way for a sequence, and the copies of blocks before it.
void build_joint_pass(Batch& batch, const KvCacheManager& kv, const Sequence& sequence,
                      std::span<const BlockCopy> copies);

/// Fills plan.batch and plan.logit_rows for the step that ends the joint pass of its only sequence.
void build_joint_end(StepPlan& plan);

/// Adds the rows for guesses to a batch that has its copies and advances: each sequence's last token, and as many
/// guesses as its draft wants. Candidates and draws are added elsewhere. An assistant begins with the hidden rows of
/// the drafts and writes nothing.
void build_guesses(GuessBatch& batch, const KvCacheManager& kv, std::span<Sequence* const> sequences,
                   bool of_assistant);

/// Fills plan.batch, without rows, with memory that `kv` gives back (release_memory()). Allocates nothing.
void build_release(StepPlan& plan, KvCacheManager& kv, bool cached);

}  // namespace octavo

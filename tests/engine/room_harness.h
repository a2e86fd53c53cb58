// The scheduler's parts that make room, over a manager of blocks alone, for tests of each by itself.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "base/to_size.h"
#include "engine/schedule/admission.h"
#include "engine/schedule/block_budget.h"
#include "engine/schedule/preemption.h"
#include "engine/schedule/prefix_sharing.h"
#include "engine/scheduler_harness.h"

namespace octavo::test {

struct RoomHarness {
  explicit RoomHarness(const Cache& cache, int max_sequences = 4)
      : kv(make_cache(cache)),
        queues(max_sequences),
        pins(*kv, {}),
        block_budget(*kv, pins, 64),
        sharing(*kv, counts),
        preemption(*kv, queues, block_budget, counts),
        admission({*kv, queues, block_budget, sharing, preemption}) {
    queues.begin_step();
  }

  /// A waiting sequence of `num_tokens` tokens. Ranks are in the order of these calls; its owner is its own.
  Sequence& add(int num_tokens, int first_token = -1, int num_forks = 0) {
    Sequence& sequence = sequences.emplace_back();
    sequence.params.id = sequences.size();
    sequence.num_forks = num_forks;
    sequence.tokens.assign(to_size(num_tokens), 0);
    sequence.tokens[0] = first_token >= 0 ? first_token : 1000 + static_cast<TokenId>(sequences.size());
    sequence.params.prompt_tokens = sequence.params.max_cached = num_tokens;
    sequence.pending.prompt_logits_from = num_tokens;
    sequence.notes.counts_of_owner = &owners.emplace_back();
    sequence.notes.rank = {.virtual_arrival = static_cast<std::int64_t>(sequences.size())};
    sequence.kv = kv->create_sequence();
    sequence.hash_blocks(kv->hashing());
    queues.reserve_for(sequence);
    queues.add(sequence);
    return sequence;
  }

  /// A running one whose first `num_computed` tokens are in the cache.
  Sequence& run(int num_tokens, int num_computed, int first_token = -1) {
    Sequence& sequence = add(num_tokens, first_token);
    EXPECT_EQ(queues.waiting().front(), &sequence) << "waiting sequences come after those that run";
    queues.start_first(false);
    sequence.notes.was_admitted = true;
    sequence.notes.num_admitted_tokens = num_tokens;
    compute(sequence, num_computed);
    block_budget.count_promises(queues.running());
    return sequence;
  }

  void compute(Sequence& sequence, int end) {
    EXPECT_TRUE(kv->reserve(sequence.kv, sequence.num_computed, end, copies));
    sharing.commit(sequence, end);
  }

  std::unique_ptr<KvCacheManager> kv;
  SchedulerCounts counts = {};
  SequenceQueues queues;
  PinnedPrefixes pins;
  BlockBudget block_budget;
  PrefixSharing sharing;
  Preemption preemption;
  Admission admission;
  std::deque<Sequence> sequences = {};  // each stays where it is
  std::deque<OwnerCounts> owners = {};
  std::vector<BlockCopy> copies = {};
  std::vector<Sequence*> newly_admitted = {};
};

}  // namespace octavo::test

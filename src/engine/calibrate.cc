#include "engine/calibrate.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

using Clock = Choice::Clock;

constexpr auto kLongest = std::chrono::milliseconds(250);  // after that no further step is begun

/// A step to time: this many rows, the first at this position, and logits of that many.
struct Probe {
  int rows, depth, logit_rows = 1;
};
// The small ones first: a large model has time for these alone. Repeats, because a step may be disturbed. One has many
// rows of logits: where each step has one, what it costs cannot be told from what a step costs.
constexpr std::array kProbes = {Probe{1, 0},     Probe{16, 0}, Probe{16, 0, 16}, Probe{1, 1024}, Probe{64, 0},
                                Probe{64, 1024}, Probe{4, 0},  Probe{1, 1024},   Probe{128, 0}};

/// A timed step; 0 ms if the KV memory has no room for it.
struct Timed {
  double ms = 0;
  std::uint64_t expert_bytes = 0;
};

/// A step of `rows` rows behind `depth` tokens, and of the rows of logits that it wants. Keys and values of these
/// tokens are whatever the memory holds. Nothing of it stays.
Timed time_step(const StepParts& parts, Sequence& sequence, int depth, int rows) {
  KvBooks& kv = parts.kv;
  std::vector<BlockCopy> copies;  // none: nobody shares
  sequence.kv = kv.create_sequence();
  sequence.num_computed = depth;
  const KvResult<void> reserved = kv.reserve(sequence.kv, 0, depth + rows, copies);
  Timed timed;
  if (reserved) {
    const ScheduledSequence planned{.sequence = &sequence, .num_tokens = rows};
    sequence.tokens.resize(to_size(depth + rows));
    sequence.notes.num_admitted_tokens = sequence.num_tokens();
    parts.builder.build({&planned, 1}, {});
    const ThreadPool::Step workers(parts.threads);
    const Clock::time_point start = Clock::now();
    const BatchOutcome outcome = compute_batch(parts);
    if (!outcome.is_refused) {
      timed.expert_bytes = outcome.expert_bytes;
      parts.runner.logits(0, static_cast<int>(parts.builder.logit_rows().size()));
      timed.ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }
  }
  const KvResult<void> dropped = kv.drop_sequence(sequence.kv);
  OCTAVO_CHECK(dropped.has_value(), "{}", describe(dropped.error()));
  return timed;
}

}  // namespace

void calibrate(const StepParts& parts, int max_context) {
  const int context = std::min(max_context, static_cast<int>(parts.kv.max_sequence_tokens()));
  Sequence sequence;
  sequence.tokens.assign(to_size(context), 0);
  sequence.asked.prompt_tokens = context;
  const Clock::time_point begin = Clock::now();
  bool is_warm = false;
  for (const Probe& probe : kProbes) {
    const int rows = std::min({probe.rows, parts.scheduler.limits().max_step_tokens, context / 2});
    const int depth = std::min(probe.depth, context / 2);
    if (rows < 1) return;
    const int logit_rows = std::min(probe.logit_rows, rows);
    sequence.owed.prompt_logits_from = depth + rows - logit_rows;
    if (!is_warm) time_step(parts, sequence, 0, rows);  // the first one touches memory for the first time
    is_warm = true;
    const Timed timed = time_step(parts, sequence, depth, rows);
    if (timed.ms > 0) parts.cost.observe(parts.cost.work(depth, rows, logit_rows), timed.ms, timed.expert_bytes);
    if (Clock::now() - begin > kLongest) return;
  }
}

}  // namespace octavo

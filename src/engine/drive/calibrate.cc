#include "engine/drive/calibrate.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/to_size.h"
#include "engine/drive/batch_builder.h"

namespace octavo {
namespace {

using Clock = Choice::Clock;

constexpr auto kLongest = std::chrono::milliseconds(250);  // no step begins that would end later
constexpr double kLargeMs = 60;                            // a step of a few rows; there is time for one or two more

/// A step to time: so many rows, the first at this position, and so many of them with logits.
struct Probe {
  int rows, depth, logit_rows = 1;
};
// It touches memory for the first time, which makes it slower than later ones. It counts for a large model all the
// same, as nothing else is known of a row's cost.
constexpr Probe kFirst{4, 0};
// Small steps come first, and some are repeated, because a step may be disturbed. One has many rows of logits: if each
// step had one, the cost of a row of logits could not be told from that of a step.
constexpr std::array kProbes = {Probe{1, 0},     Probe{16, 0}, Probe{16, 0, 16}, Probe{1, 1024}, Probe{64, 0},
                                Probe{64, 1024}, Probe{4, 0},  Probe{1, 1024},   Probe{128, 0}};

/// A timed step; 0 ms where the KV memory has no room for it.
struct Timed {
  double ms = 0;
  std::uint64_t expert_bytes = 0;
};

/// Times a step of `rows` rows after `depth` tokens, and their logits. Keys and values of the earlier tokens are
/// whatever the memory holds. Nothing of it stays in the cache.
Timed time_step(const StepParts& parts, Sequence& sequence, int depth, int rows) {
  KvCacheManager& kv = parts.kv;
  std::vector<BlockCopy> copies;  // stays empty: no sequence shares blocks
  sequence.kv = kv.create_sequence();
  sequence.num_computed = depth;
  const Result<void> reserved = kv.reserve(sequence.kv, 0, depth + rows, copies);
  Timed timed;
  if (reserved) {
    sequence.tokens.resize(to_size(depth + rows));
    sequence.notes.num_admitted_tokens = sequence.num_tokens();
    parts.plan.clear();
    parts.plan.sequences.push_back({.sequence = &sequence, .num_tokens = rows});
    build_batch(parts.plan, kv);
    const ThreadPool::Step workers(parts.threads);
    const Clock::time_point start = Clock::now();
    const BatchOutcome outcome = compute_batch(parts);
    if (!outcome.is_refused) {
      timed.expert_bytes = outcome.expert_bytes;
      const auto wanted = static_cast<int>(parts.plan.logit_rows.size());
      sequence.params.makes_vector ? parts.runner.hidden_rows(0, wanted) : parts.runner.logits(0, wanted);
      timed.ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }
  }
  kv.drop(sequence.kv);
  return timed;
}

}  // namespace

void calibrate(const StepParts& parts, int max_context, const std::stop_token& stop) {
  const int context = std::min(max_context, static_cast<int>(parts.kv.max_sequence_tokens()));
  if (context < 2) return;
  Sequence sequence;
  sequence.tokens.assign(to_size(context), 0);
  sequence.params.prompt_tokens = context;
  sequence.params.makes_vector = parts.runner.info().is_encoder;
  // Times a step, and counts it if it took longer than `least_ms`.
  const auto run = [&](const Probe& probe, double least_ms) {
    const int rows = std::min({probe.rows, parts.scheduler.limits().max_step_tokens, context / 2});
    const int depth = sequence.params.makes_vector ? 0 : std::min(probe.depth, context / 2);
    const int logit_rows = std::min(probe.logit_rows, rows);
    sequence.pending.prompt_logits_from = depth + rows - logit_rows;
    sequence.pending.vector_rows = {.begin = rows - logit_rows, .end = rows};
    const Timed timed = time_step(parts, sequence, depth, rows);
    if (timed.ms > least_ms) parts.cost.observe(parts.cost.work(depth, rows, logit_rows), timed.ms, timed.expert_bytes);
    return std::chrono::duration<double, std::milli>(timed.ms);
  };
  const Clock::time_point begin = Clock::now();
  if (stop.stop_requested()) return;
  run(kFirst, kLargeMs);
  for (const Probe& probe : kProbes) {
    if (stop.stop_requested()) return;
    const auto last = run(probe, 0);
    if (Clock::now() - begin + last > kLongest) return;  // the next step takes at least as long
  }
}

}  // namespace octavo

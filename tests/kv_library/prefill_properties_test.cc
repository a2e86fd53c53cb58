// Chunked prefill under any configuration and any order of calls.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>

#include "kv_library/prefill_cases.h"

namespace octavo {
namespace {

PrefillConfig any_config() {
  const int chunk = *rc::gen::inRange(1, 20);
  return PrefillConfig(chunk)
      .with_overlap(*rc::gen::inRange(0, chunk))
      .with_max_yields(*rc::gen::inRange(0, 4))
      .with_priority(*rc::gen::element(PrefillPriority::kPrefillFirst, PrefillPriority::kInterleaved,
                                       PrefillPriority::kDecodePriority));
}

RC_GTEST_PROP(PrefillProperty, C2_C3_a_plan_covers_the_prompt_exactly_but_for_the_overlap, ()) {
  const std::vector<TokenId> tokens = prompt_of(*rc::gen::inRange(0, 200));
  const PrefillConfig config = any_config();
  int covered = 0;
  for (const PrefillChunk& chunk : plan_of(tokens, config)) {
    RC_ASSERT(chunk.start == std::max(0, covered - config.overlap));
    RC_ASSERT(chunk.overlap == covered - chunk.start);
    RC_ASSERT(chunk.end > covered);  // not wholly inside the one before
    RC_ASSERT(chunk.size() <= config.chunk_size);
    RC_ASSERT(chunk.is_last == (chunk.end == static_cast<int>(tokens.size())));
    RC_ASSERT(chunk.is_last || chunk.size() == config.chunk_size);
    RC_ASSERT(chunk.tokens.front() == tokens[static_cast<std::size_t>(chunk.start)]);
    covered = chunk.end;
  }
  RC_ASSERT(covered == static_cast<int>(tokens.size()));
}

RC_GTEST_PROP(PrefillProperty, C4_without_limits_the_chunks_handed_out_are_the_plan, ()) {
  const std::vector<TokenId> tokens = prompt_of(*rc::gen::inRange(0, 200));
  const PrefillConfig config = any_config();
  const std::vector<PrefillChunk> plan = plan_of(tokens, config);
  PrefillScheduler scheduler = make(tokens, config);
  std::size_t handed_out = 0;
  for (;;) {
    RC_ASSERT(scheduler.total_chunks() == static_cast<int>(plan.size()));
    const PrefillAction action = scheduler.next_action();
    if (action.kind == PrefillAction::kStartDecode) break;
    if (action.kind == PrefillAction::kYieldToDecode) continue;
    RC_ASSERT(handed_out < plan.size());
    RC_ASSERT(range(action.chunk) == range(plan[handed_out]));
    RC_ASSERT(action.chunk.index == plan[handed_out].index);
    RC_ASSERT(action.chunk.is_last == plan[handed_out].is_last);
    ++handed_out;
  }
  RC_ASSERT(handed_out == plan.size());
}

// Any order of calls: progress never goes back, the chunks that are out lie one behind the other, and in the end every
// token was computed once (but for the overlap).
RC_GTEST_PROP(PrefillProperty, C4_C6_any_order_of_calls_computes_each_token_once, ()) {
  const std::vector<TokenId> tokens = prompt_of(*rc::gen::inRange(1, 100));
  PrefillScheduler scheduler = make(tokens, any_config());
  std::minstd_rand random(*rc::gen::inRange(1U, 1U << 30));
  const auto draw = [&](int first, int end) {
    return first + static_cast<int>(random() % static_cast<unsigned>(end - first));
  };
  std::vector<PrefillChunk> out;
  std::vector<int> computed(tokens.size(), 0);
  const auto complete_first = [&] {
    const PrefillChunk chunk = out.front();
    for (int p = chunk.start + chunk.overlap; p < chunk.end; ++p) ++computed[static_cast<std::size_t>(p)];
    scheduler.complete(chunk);
    out.erase(out.begin());
  };
  for (int calls = 0; !scheduler.is_complete(); ++calls) {
    RC_ASSERT(calls < 10000);
    const int before = scheduler.num_computed();
    const int what = draw(0, 8);
    if (what == 0 && !out.empty()) {
      scheduler.retract(out.back());
      out.pop_back();
    } else if (what <= 2 && !out.empty()) {
      complete_first();
    } else if (what == 3 && out.empty()) {
      const int to = draw(before, std::min(before + 10, scheduler.total_tokens()) + 1);
      RC_ASSERT(scheduler.skip_to(to).has_value());
      for (int p = before; p < to; ++p) ++computed[static_cast<std::size_t>(p)];
    } else {
      const int room = draw(0, 25);
      const PrefillAction action = scheduler.next_action(room, draw(0, 2) == 0);
      if (action.kind == PrefillAction::kPrefill) {
        RC_ASSERT(action.chunk.size() <= room);
        RC_ASSERT(action.chunk.start + action.chunk.overlap == (out.empty() ? before : out.back().end));
        out.push_back(action.chunk);
      } else if (action.kind == PrefillAction::kStartDecode) {
        RC_ASSERT(!out.empty() && out.back().is_last);
      }
    }
    RC_ASSERT(scheduler.num_computed() >= before);
    RC_ASSERT(scheduler.total_chunks() >= static_cast<int>(out.size()));
  }
  RC_ASSERT(std::ranges::all_of(computed, [](int count) { return count == 1; }));
}

}  // namespace
}  // namespace octavo

// Chunked prefill: which chunks a prompt is cut into, and in which order they and the decodes of others take turns.
#include "octavo/kv/prefill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "kv_library/prefill_cases.h"

namespace octavo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A scheduler has no memory of its own: it can be copied as bytes.
static_assert(std::is_trivially_copyable_v<PrefillScheduler>);

// P for a chunk (computed at once), Y for a yield, D for the start of decoding, up to the first D.
std::string trace(std::span<const TokenId> tokens, const PrefillConfig& config, bool decode_waiting = true) {
  PrefillScheduler scheduler = make(tokens, config);
  std::string result;
  for (;;) {
    const PrefillAction action = scheduler.next_action(PrefillScheduler::kNoLimit, decode_waiting);
    if (action.kind == PrefillAction::kStartDecode) return result + "D";
    if (action.kind == PrefillAction::kPrefill) scheduler.complete(action.chunk);
    result += action.kind == PrefillAction::kPrefill ? 'P' : 'Y';
  }
}

PrefillChunk next_chunk(PrefillScheduler& scheduler, int max_tokens = PrefillScheduler::kNoLimit) {
  const PrefillAction action = scheduler.next_action(max_tokens);
  EXPECT_EQ(action.kind, PrefillAction::kPrefill);
  return action.chunk;
}

TEST(Prefill, T3_C1_defaults_are_chunks_of_512_without_overlap_prompt_first) {
  const PrefillConfig config;
  EXPECT_EQ(config.chunk_size, 512);
  EXPECT_EQ(config.overlap, 0);
  EXPECT_EQ(config.priority, PrefillPriority::kPrefillFirst);
  EXPECT_TRUE(config.check());
  EXPECT_EQ(PrefillConfig(64).chunk_size, 64);
}

TEST(Prefill, T4_C1_the_builder_sets_one_field_at_a_time_and_leaves_its_origin) {
  const PrefillConfig origin(256);
  const PrefillConfig built = origin.with_overlap(32).with_priority(PrefillPriority::kInterleaved).with_max_yields(3);
  EXPECT_EQ(built.chunk_size, 256);
  EXPECT_EQ(built.overlap, 32);
  EXPECT_EQ(built.priority, PrefillPriority::kInterleaved);
  EXPECT_EQ(built.max_yields, 3);
  EXPECT_EQ(built.with_chunk_size(100).chunk_size, 100);
  EXPECT_EQ(origin.overlap, 0);
  EXPECT_EQ(origin.priority, PrefillPriority::kPrefillFirst);
}

TEST(Prefill, T5_C2_an_empty_prompt_gives_no_chunks) {
  EXPECT_TRUE(plan_of({}, PrefillConfig(4)).empty());
  EXPECT_EQ(trace({}, PrefillConfig(4)), "D");
}

TEST(Prefill, C2_chunks_of_the_origins_own_prompts) {
  const std::vector<TokenId> tokens = prompt_of(1500);
  const std::span<const TokenId> all = tokens;
  EXPECT_THAT(ranges(all.first(100), {}), ElementsAre("0-100"));
  EXPECT_THAT(ranges(all.first(1024), {}), ElementsAre("0-512", "512-1024"));
  EXPECT_THAT(ranges(all.first(1000), {}), ElementsAre("0-512", "512-1000"));
  EXPECT_THAT(ranges(all, {}), ElementsAre("0-512", "512-1024", "1024-1500"));
  EXPECT_THAT(ranges(all.first(512), {}), ElementsAre("0-512"));
  EXPECT_THAT(ranges(all.first(3), PrefillConfig(1)), ElementsAre("0-1", "1-2", "2-3"));
}

TEST(Prefill, C2_chunks_are_views_with_an_index_and_exactly_the_final_one_is_last) {
  const std::vector<TokenId> tokens = prompt_of(10);
  const std::vector<PrefillChunk> chunks = plan_of(tokens, PrefillConfig(4));
  ASSERT_EQ(chunks.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    const PrefillChunk& chunk = chunks[static_cast<std::size_t>(i)];
    EXPECT_EQ(chunk.index, i);
    EXPECT_EQ(chunk.is_last, i == 2);
    EXPECT_EQ(chunk.tokens.data(), tokens.data() + chunk.start);  // not copied
    EXPECT_EQ(chunk.tokens.size(), static_cast<std::size_t>(chunk.size()));
  }
  EXPECT_EQ(chunks[2].size(), 2);
}

TEST(Prefill, C2_a_chunk_size_below_1_is_refused) {
  for (const int size : {0, -4}) {
    const Result<PrefillPlan> plan = PrefillPlan::create({}, PrefillConfig(size));
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().message, "prefill: chunk_size is " + std::to_string(size) + ", expected at least 1");
    EXPECT_FALSE(PrefillScheduler::create({}, PrefillConfig(size)));
  }
}

TEST(Prefill, C3_overlap_shares_exactly_that_many_tokens) {
  const std::vector<TokenId> tokens = prompt_of(1200);
  const std::vector<PrefillChunk> chunks = plan_of(tokens, PrefillConfig(512).with_overlap(64));
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0].overlap, 0);
  for (std::size_t i = 1; i < chunks.size(); ++i) {
    EXPECT_EQ(chunks[i - 1].end - chunks[i].start, 64);
    EXPECT_EQ(chunks[i].overlap, 64);
  }
  EXPECT_EQ(range(chunks[2]), "896-1200");
}

TEST(Prefill, C3_no_chunk_lies_wholly_inside_the_one_before) {
  const std::vector<TokenId> tokens = prompt_of(6);
  // A stride of 2: a third chunk, 4-6, would hold nothing new.
  EXPECT_THAT(ranges(tokens, PrefillConfig(4).with_overlap(2)), ElementsAre("0-4", "2-6"));
  EXPECT_THAT(ranges(std::span(tokens).first(5), PrefillConfig(4).with_overlap(2)), ElementsAre("0-4", "2-5"));
  EXPECT_THAT(ranges(std::span(tokens).first(4), PrefillConfig(4).with_overlap(3)), ElementsAre("0-4"));
}

TEST(Prefill, C3_an_overlap_of_a_whole_chunk_or_more_is_refused) {
  for (const int overlap : {4, 5, -1}) {
    const Result<PrefillScheduler> scheduler = PrefillScheduler::create({}, PrefillConfig(4).with_overlap(overlap));
    ASSERT_FALSE(scheduler);
    EXPECT_EQ(scheduler.error().message,
              "prefill: overlap is " + std::to_string(overlap) + ", expected 0 to 3 (less than chunk_size)");
  }
  EXPECT_TRUE(PrefillConfig(4).with_overlap(3).check());
  EXPECT_THAT(PrefillConfig(4).with_max_yields(-1).check().error().message, HasSubstr("max_yields is -1"));
}

TEST(Prefill, C4_a_limit_cuts_the_next_chunk) {
  const std::vector<TokenId> tokens = prompt_of(10);
  PrefillScheduler scheduler = make(tokens, PrefillConfig(4));
  EXPECT_EQ(range(next_chunk(scheduler, 3)), "0-3");
  EXPECT_EQ(range(next_chunk(scheduler, 100)), "3-7");  // chunk_size is the smaller one
  EXPECT_EQ(range(next_chunk(scheduler, 1)), "7-8");
  const PrefillChunk last = next_chunk(scheduler, 2);
  EXPECT_EQ(range(last), "8-10");
  EXPECT_EQ(last.index, 3);
  EXPECT_TRUE(last.is_last);
  EXPECT_EQ(scheduler.next_action(0).kind, PrefillAction::kStartDecode);
}

TEST(Prefill, C4_a_chunk_ends_at_a_border) {
  const PrefillConfig config(8);
  PrefillTurns turns;
  EXPECT_EQ(next_chunk_size(config, {.tokens_left = 20, .to_border = 3}, turns), 3);
  EXPECT_EQ(next_chunk_size(config, {.tokens_left = 20, .to_border = 9}, turns), 8);
  EXPECT_EQ(next_chunk_size(config, {.tokens_left = 2, .to_border = 3}, turns), 2);
  EXPECT_EQ(next_chunk_size(config, {.tokens_left = 20, .max_tokens = 1, .to_border = 3}, turns), 1);
}

TEST(Prefill, C4_no_room_yields_under_every_priority) {
  const std::vector<TokenId> tokens = prompt_of(10);
  for (const PrefillPriority priority :
       {PrefillPriority::kPrefillFirst, PrefillPriority::kInterleaved, PrefillPriority::kDecodePriority}) {
    PrefillScheduler scheduler = make(tokens, PrefillConfig(4).with_priority(priority).with_max_yields(0));
    EXPECT_EQ(scheduler.next_action(0).kind, PrefillAction::kYieldToDecode);
    EXPECT_EQ(scheduler.next_action(-5).kind, PrefillAction::kYieldToDecode);
    EXPECT_EQ(range(next_chunk(scheduler)), "0-4");
  }
}

TEST(Prefill, C4_a_limit_that_ends_within_the_overlap_yields_instead_of_going_in_circles) {
  const std::vector<TokenId> tokens = prompt_of(10);
  PrefillScheduler scheduler = make(tokens, PrefillConfig(6).with_overlap(3));
  EXPECT_EQ(range(next_chunk(scheduler, 2)), "0-2");  // shorter than the overlap: the next one begins at 0 again
  EXPECT_EQ(scheduler.next_action(2).kind, PrefillAction::kYieldToDecode);
  EXPECT_EQ(range(next_chunk(scheduler, 3)), "0-3");
  EXPECT_EQ(range(next_chunk(scheduler)), "0-6");
  EXPECT_EQ(scheduler.next_action(3).kind, PrefillAction::kYieldToDecode);
  const PrefillChunk chunk = next_chunk(scheduler, 4);
  EXPECT_EQ(range(chunk), "3-7");
  EXPECT_EQ(chunk.overlap, 3);
}

TEST(Prefill, C4_skip_to_goes_on_behind_cached_blocks) {
  const std::vector<TokenId> tokens = prompt_of(10);
  PrefillScheduler scheduler = make(tokens, PrefillConfig(4));
  EXPECT_EQ(scheduler.total_chunks(), 3);
  ASSERT_TRUE(scheduler.skip_to(5));
  EXPECT_EQ(scheduler.num_computed(), 5);
  EXPECT_DOUBLE_EQ(scheduler.progress(), 0.5);
  EXPECT_EQ(scheduler.total_chunks(), 2);
  const PrefillChunk chunk = next_chunk(scheduler);
  EXPECT_EQ(range(chunk), "5-9");
  EXPECT_EQ(chunk.index, 0);
  EXPECT_THAT(scheduler.skip_to(10).error().message, HasSubstr("positions 5 to 9 are out"));
  scheduler.complete(chunk);
  EXPECT_EQ(scheduler.skip_to(8).error().message, "prefill: cannot go on at position 8, expected 9 to 10");
  EXPECT_EQ(scheduler.skip_to(11).error().message, "prefill: cannot go on at position 11, expected 9 to 10");
  EXPECT_EQ(scheduler.num_computed(), 9);
  ASSERT_TRUE(scheduler.skip_to(10));
  EXPECT_TRUE(scheduler.is_complete());
  EXPECT_EQ(scheduler.next_action().kind, PrefillAction::kStartDecode);
}

TEST(Prefill, C4_an_empty_prompt_is_complete_at_once) {
  PrefillScheduler scheduler = make({}, PrefillConfig().with_priority(PrefillPriority::kInterleaved));
  EXPECT_TRUE(scheduler.is_complete());
  EXPECT_DOUBLE_EQ(scheduler.progress(), 1.0);
  EXPECT_FALSE(scheduler.decode_available());
  EXPECT_EQ(scheduler.total_chunks(), 0);
  EXPECT_EQ(scheduler.next_action().kind, PrefillAction::kStartDecode);
}

TEST(Prefill, C4_decodes_may_run_between_chunks_unless_the_prompt_goes_first) {
  const std::vector<TokenId> tokens = prompt_of(4);
  for (const PrefillPriority priority : {PrefillPriority::kInterleaved, PrefillPriority::kDecodePriority}) {
    PrefillScheduler scheduler = make(tokens, PrefillConfig(4).with_priority(priority).with_max_yields(0));
    EXPECT_TRUE(scheduler.decode_available());
    const PrefillChunk chunk = next_chunk(scheduler);
    EXPECT_TRUE(scheduler.decode_available());  // handed out, not yet computed
    scheduler.complete(chunk);
    EXPECT_FALSE(scheduler.decode_available());
  }
  EXPECT_FALSE(make(tokens, PrefillConfig(4)).decode_available());
}

TEST(Prefill, C4_start_decode_comes_for_ever_once_all_chunks_were_handed_out) {
  const std::vector<TokenId> tokens = prompt_of(4);
  PrefillScheduler scheduler = make(tokens, PrefillConfig(4).with_priority(PrefillPriority::kInterleaved));
  next_chunk(scheduler);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(scheduler.next_action().kind, PrefillAction::kStartDecode);
}

TEST(Prefill, C5_three_priorities_give_three_traces_of_the_same_prompt) {
  const std::vector<TokenId> tokens = prompt_of(1500);
  const PrefillConfig config = PrefillConfig(512).with_max_yields(2);
  EXPECT_EQ(trace(tokens, config.with_priority(PrefillPriority::kPrefillFirst)), "PPPD");
  EXPECT_EQ(trace(tokens, config.with_priority(PrefillPriority::kInterleaved)), "PYPYPD");
  EXPECT_EQ(trace(tokens, config.with_priority(PrefillPriority::kDecodePriority)), "YYPYYPYYPD");
}

TEST(Prefill, C5_decode_priority_runs_chunks_while_no_decode_waits) {
  const std::vector<TokenId> tokens = prompt_of(12);
  const PrefillConfig config = PrefillConfig(4).with_priority(PrefillPriority::kDecodePriority);
  EXPECT_EQ(trace(tokens, config, false), "PPPD");
  EXPECT_EQ(trace(tokens, config.with_priority(PrefillPriority::kInterleaved), false), "PYPYPD");
}

TEST(Prefill, C5_decode_priority_ages_past_its_limit) {
  const std::vector<TokenId> tokens = prompt_of(8);
  const PrefillConfig config = PrefillConfig(4).with_priority(PrefillPriority::kDecodePriority);
  EXPECT_EQ(trace(tokens, config.with_max_yields(5)), "YYYYYPYYYYYPD");
  EXPECT_EQ(trace(tokens, config.with_max_yields(0)), "PPD");
  PrefillScheduler scheduler = make(tokens, config.with_max_yields(1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(scheduler.next_action(0).kind, PrefillAction::kYieldToDecode);  // no room
  EXPECT_EQ(range(next_chunk(scheduler)), "0-4");                                                       // old enough
  EXPECT_EQ(scheduler.next_action().kind, PrefillAction::kYieldToDecode);
}

TEST(Prefill, C6_progress_counts_what_was_computed_not_what_was_handed_out) {
  const std::vector<TokenId> tokens = prompt_of(1024);
  PrefillScheduler scheduler = make(tokens, {});
  const PrefillChunk first = next_chunk(scheduler);
  EXPECT_DOUBLE_EQ(scheduler.progress(), 0.0);
  scheduler.complete(first);
  EXPECT_DOUBLE_EQ(scheduler.progress(), 0.5);
  const PrefillChunk second = next_chunk(scheduler);
  EXPECT_EQ(scheduler.next_action().kind, PrefillAction::kStartDecode);
  EXPECT_DOUBLE_EQ(scheduler.progress(), 0.5);
  EXPECT_FALSE(scheduler.is_complete());
  scheduler.complete(second);
  EXPECT_DOUBLE_EQ(scheduler.progress(), 1.0);
  EXPECT_TRUE(scheduler.is_complete());
}

TEST(Prefill, C6_a_chunk_taken_back_is_handed_out_again) {
  const std::vector<TokenId> tokens = prompt_of(10);
  PrefillScheduler scheduler = make(tokens, PrefillConfig(4).with_overlap(1));
  const PrefillChunk first = next_chunk(scheduler), second = next_chunk(scheduler), third = next_chunk(scheduler);
  EXPECT_TRUE(third.is_last);
  scheduler.complete(first);
  scheduler.retract(third);
  scheduler.retract(second);
  EXPECT_EQ(scheduler.num_computed(), 4);
  const PrefillChunk again = next_chunk(scheduler, 2);  // now with less room
  EXPECT_EQ(range(again), "3-5");
  EXPECT_EQ(again.index, 1);
  EXPECT_EQ(again.overlap, 1);
  EXPECT_EQ(scheduler.total_chunks(), 4);
}

TEST(Prefill, C6_a_chunk_taken_back_keeps_the_age_of_its_prompt) {
  const std::vector<TokenId> tokens = prompt_of(8);
  PrefillScheduler aged =
      make(tokens, PrefillConfig(4).with_priority(PrefillPriority::kDecodePriority).with_max_yields(1));
  EXPECT_EQ(aged.next_action().kind, PrefillAction::kYieldToDecode);
  aged.retract(next_chunk(aged));
  EXPECT_EQ(range(next_chunk(aged)), "0-4");
  PrefillScheduler interleaved = make(tokens, PrefillConfig(4).with_priority(PrefillPriority::kInterleaved));
  interleaved.retract(next_chunk(interleaved));
  EXPECT_EQ(range(next_chunk(interleaved)), "0-4");
}

TEST(PrefillDeathTest, C6_chunks_are_completed_in_order_and_taken_back_in_reverse) {
  const std::vector<TokenId> tokens = prompt_of(12);
  PrefillScheduler scheduler = make(tokens, PrefillConfig(4));
  const PrefillChunk first = next_chunk(scheduler), second = next_chunk(scheduler);
  EXPECT_DEATH(scheduler.complete(second), "not the first one out");
  EXPECT_DEATH(scheduler.retract(first), "not the last one out");
  PrefillChunk changed = first;
  changed.end = 7;
  EXPECT_DEATH(scheduler.complete(changed), "not the first one out");
  changed = second;
  changed.start -= 5, changed.overlap += 5;
  EXPECT_DEATH(scheduler.retract(changed), "not the last one out");
  scheduler.complete(first);
  EXPECT_DEATH(scheduler.complete(first), "not the first one out");
  scheduler.complete(second);
  EXPECT_DEATH(scheduler.retract(second), "not the last one out");
}

TEST(Prefill, C7_scores_are_chunk_times_total_past) {
  const Result<PrefillMemoryEstimate> estimate = estimate_prefill_memory(2048, 512, 8);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->full_bytes, 8ULL * 2048 * 2048 * 4);
  EXPECT_EQ(estimate->chunked_bytes, 8ULL * 512 * 2048 * 4);
  EXPECT_DOUBLE_EQ(estimate->savings, 0.75);
  EXPECT_EQ(estimate->num_chunks, 4);
  EXPECT_EQ(estimate->summary(), "128.0 MiB -> 32.0 MiB (75 % less, 4 chunks)");
  EXPECT_EQ(estimate_prefill_memory(1000, 512, 1)->num_chunks, 2);
}

TEST(Prefill, C7_savings_are_never_negative) {
  const Result<PrefillMemoryEstimate> longer = estimate_prefill_memory(100, 512, 8);
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->chunked_bytes, longer->full_bytes);
  EXPECT_EQ(longer->savings, 0.0);
  EXPECT_EQ(longer->summary(), "0.3 MiB -> 0.3 MiB (0 % less, 1 chunk)");
  for (const auto& [tokens, heads] : {std::pair{0, 8}, std::pair{0, 0}, std::pair{2048, 0}}) {
    const Result<PrefillMemoryEstimate> none = estimate_prefill_memory(tokens, 512, heads);
    ASSERT_TRUE(none);
    EXPECT_EQ(none->full_bytes, 0U);
    EXPECT_EQ(none->savings, 0.0);
  }
}

TEST(Prefill, C7_what_cannot_be_estimated_is_refused) {
  EXPECT_THAT(estimate_prefill_memory(10, 0, 1).error().message, HasSubstr("chunk_size is 0"));
  EXPECT_THAT(estimate_prefill_memory(-1, 4, 1).error().message, HasSubstr("found -1 tokens"));
  EXPECT_THAT(estimate_prefill_memory(1, 4, -1).error().message, HasSubstr("found -1 heads"));
  const int most = std::numeric_limits<int>::max();
  EXPECT_THAT(estimate_prefill_memory(most, most, most).error().message, HasSubstr("64 bits"));
  EXPECT_EQ(estimate_prefill_memory(most, most, 1)->full_bytes,
            static_cast<std::uint64_t>(most) * static_cast<std::uint64_t>(most) * 4);
}

}  // namespace
}  // namespace octavo

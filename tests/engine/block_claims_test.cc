#include "engine/schedule/block_claims.h"

#include <gtest/gtest.h>

#include "engine/scheduler_harness.h"

namespace octavo {
namespace {

constexpr int kBlockSize = 4;

/// `num_tokens` tokens of one text, of which the first ones are computed.
Sequence make_sequence(const BlockHasher& hasher, int num_tokens, int num_computed, int priority = 0) {
  Sequence sequence;
  sequence.state = Sequence::State::kRunning;
  sequence.params.priority = priority;
  sequence.tokens.assign(to_size(num_tokens), 7);
  sequence.params.prompt_tokens = sequence.pending.prompt_logits_from = num_tokens;
  sequence.num_computed = num_computed;
  sequence.hash_blocks({.hasher = hasher, .block_size = kBlockSize});
  return sequence;
}

TEST(BlockClaims, WhoComputesABlockIsFoundByThoseWhoNeedItNext) {
  const BlockHasher hasher = make_block_hasher().value();
  Sequence claimant = make_sequence(hasher, 30, 4), at_it = make_sequence(hasher, 21, 8),
           beyond = make_sequence(hasher, 30, 12);
  BlockClaims claims(kBlockSize, 64, 4);
  claims.claim(claimant, 8);  // positions 4 to 11: its second and third block
  EXPECT_EQ(claims.claimant_of_next_block(at_it), &claimant);
  EXPECT_EQ(claims.claimant_of_next_block(beyond), nullptr);
  EXPECT_EQ(claims.claimant_of_next_block(claimant), nullptr) << "it does not wait for itself";
  claims.clear();
  EXPECT_EQ(claims.claimant_of_next_block(at_it), nullptr);
}

TEST(BlockClaims, NobodyWaitsForABlockThatHeCouldNotAttachTo) {
  const BlockHasher hasher = make_block_hasher().value();
  Sequence claimant = make_sequence(hasher, 30, 0), ends_there = make_sequence(hasher, 8, 4),
           within = make_sequence(hasher, 30, 6), reader = make_sequence(hasher, 30, 4);
  reader.pending.prompt_logits_from = 0;
  BlockClaims claims(kBlockSize, 64, 4);
  claims.claim(claimant, 16);
  EXPECT_EQ(claims.claimant_of_next_block(ends_there), nullptr) << "its last token is computed by itself";
  EXPECT_EQ(claims.claimant_of_next_block(within), nullptr) << "it has begun the block";
  EXPECT_EQ(claims.claimant_of_next_block(reader), nullptr) << "it wants the logits of its rows";
}

TEST(BlockClaims, TokensOfAnAnswerClaimNothing) {
  const BlockHasher hasher = make_block_hasher().value();
  Sequence answer = make_sequence(hasher, 10, 8), other = make_sequence(hasher, 30, 8);
  answer.num_computed = 10;
  answer.tokens.push_back(7);
  BlockClaims claims(kBlockSize, 64, 4);
  claims.claim(answer, 1);
  EXPECT_EQ(claims.claimant_of_next_block(other), nullptr);
}

TEST(BlockClaims, HalfDoneBlockHasTheBestPriorityOfThoseWhoWaitForIt) {
  const BlockHasher hasher = make_block_hasher().value();
  Sequence begun = make_sequence(hasher, 30, 6), waiter = make_sequence(hasher, 30, 4, 9),
           other = make_sequence(hasher, 30, 12, 5);
  Sequence* prompts[] = {&begun, &waiter, &other};
  BlockClaims claims(kBlockSize, 64, 4);
  claims.claim_half_done_blocks(prompts);
  EXPECT_EQ(claims.claimant_of_next_block(waiter), &begun);
  EXPECT_EQ(begun.notes.priority_in_step, 9);
  EXPECT_EQ(waiter.notes.priority_in_step, 9);
  EXPECT_EQ(other.notes.priority_in_step, 5);
}

}  // namespace
}  // namespace octavo

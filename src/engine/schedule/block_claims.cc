#include "engine/schedule/block_claims.h"

#include <algorithm>

namespace octavo {

namespace {

/// Whether another one may wait for a claimant. One that has given way claims nothing any more; one that waits for a
/// picture's vectors may wait for the memory of those that the other needs in the same block.
bool is_kept(const Sequence& claimant, const Sequence& other) {
  if (!claimant.is_running()) return false;
  const bool has_vectors = claimant.awaits_joint_pass() || claimant.notes.joint_end > 0;
  return !claimant.waits() || has_vectors || !other.given.has_rows(other.num_computed, claimant.num_computed);
}

}  // namespace

BlockClaims::BlockClaims(int block_size, int max_step_tokens, int max_sequences) : block_size_(block_size) {
  claims_.reserve(to_size(max_sequences) + to_size(max_step_tokens));
}

void BlockClaims::claim_half_done_blocks(std::span<Sequence* const> prompts) {
  for (Sequence* sequence : prompts) {
    sequence->notes.priority_in_step = sequence->params.priority;
    const auto next = to_size(sequence->num_computed / block_size_);
    if (sequence->num_computed % block_size_ == 0 || next >= sequence->chain.size()) continue;
    claims_.push_back({.block = sequence->chain.hashes()[next], .claimant = sequence});
  }
  if (claims_.empty()) return;
  for (const Sequence* sequence : prompts) {
    Sequence* claimant = claimant_of_next_block(*sequence);
    if (claimant != nullptr)
      claimant->notes.priority_in_step = std::max(claimant->notes.priority_in_step, sequence->params.priority);
  }
}

void BlockClaims::claim_hashed(Sequence& sequence, int num_tokens) {
  const int end = sequence.num_computed + num_tokens;
  const auto last = std::min(to_size((end + block_size_ - 1) / block_size_), sequence.chain.size());
  for (auto i = to_size(sequence.num_computed / block_size_); i < last; ++i)
    claims_.push_back({.block = sequence.chain.hashes()[i], .claimant = &sequence});
}

Sequence* BlockClaims::claimant_of_next_block(const Sequence& sequence) const {
  const int next = sequence.num_computed / block_size_;
  const bool attaches = sequence.may_use_cache() && sequence.num_computed % block_size_ == 0 &&
                        to_size(next) < sequence.chain.size() && (next + 1) * block_size_ < sequence.num_tokens();
  if (!attaches) return nullptr;
  for (const Claim& claim : claims_) {
    if (claim.block != sequence.chain.hashes()[to_size(next)] || !is_kept(*claim.claimant, sequence)) continue;
    return claim.claimant == &sequence ? nullptr : claim.claimant;
  }
  return nullptr;
}

}  // namespace octavo

#include "engine/schedule/prefix_sharing.h"

#include <algorithm>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {

int PrefixSharing::extend(Sequence& sequence) {
  sequence.notes.publications_seen = num_publications_;
  if (!sequence.may_use_cache()) return 0;
  const Result<int> attached = kv_.extend_prefix(sequence.kv, sequence.rows(), sequence.chain);
  OCTAVO_CHECK(attached.has_value(), "{}", attached.error().message);
  sequence.num_computed += *attached;
  return *attached;
}

void PrefixSharing::attach_published(Sequence& sequence) {
  if (sequence.notes.publications_seen == num_publications_ || sequence.notes.joint_end > 0) return;
  const auto next = to_size(sequence.num_computed / kv_.block_size());
  if (next >= sequence.chain.size() || !kv_.is_published(sequence.chain.hashes()[next])) return;
  if (extend(sequence) > 0) count_cached(sequence);
}

void PrefixSharing::count_cached(Sequence& sequence) {
  const int found =
      std::max(0, std::min(sequence.num_computed, sequence.params.prompt_tokens) - sequence.notes.max_computed);
  sequence.cached_tokens += found;
  counts_.cached_tokens += static_cast<std::uint64_t>(found);
  sequence.notes.max_computed = std::max(sequence.notes.max_computed, sequence.num_computed);
}

void PrefixSharing::find_divergence(Sequence& sequence) {
  if (!sequence.may_use_cache()) return;
  sequence.diverged_at = kv_.parting(sequence.kv, sequence.rows(), sequence.chain);
  if (sequence.diverged_at >= sequence.params.prompt_tokens) sequence.diverged_at = -1;  // in an answer that goes on
  if (sequence.diverged_at >= 0) ++counts_.diverged_prompts;
}

void PrefixSharing::count_lookup(const Sequence& sequence) {
  counts_.prompt_tokens += static_cast<std::uint64_t>(sequence.params.prompt_tokens);
  const int most = (sequence.params.prompt_tokens - 1) / kv_.block_size() * kv_.block_size();
  if (sequence.may_use_cache() && kv_.hashing().hasher) counts_.lookup_tokens += static_cast<std::uint64_t>(most);
}

// One block at a time, so that each is published before later positions push it out of a window.
void PrefixSharing::commit(Sequence& sequence, int end) {
  const int block_size = kv_.block_size();
  while (sequence.num_computed < end) {
    const int left_in_block = block_size - sequence.num_computed % block_size;
    sequence.num_computed += std::min(left_in_block, end - sequence.num_computed);
    sequence.notes.max_computed = std::max(sequence.notes.max_computed, sequence.num_computed);
    kv_.commit(sequence.kv, sequence.num_computed);
    if (sequence.num_computed % block_size != 0 || !kv_.hashing().hasher) continue;
    sequence.chain.extend(kv_.hashing().hasher, block_size, sequence.rows());
    const Result<void> published = kv_.publish(sequence.kv, sequence.rows(), sequence.chain);
    OCTAVO_CHECK(published.has_value(), "{}", published.error().message);
    if (!kv_.keeps_checkpoints()) ++num_publications_;
  }
  if (!is_at_place(sequence)) return;
  kv_.keep_checkpoint(sequence.kv,
                      sequence.num_computed == sequence.notes.checkpoint_at ? sequence.notes.checkpoint_uses : 0);
  ++num_publications_;
}

bool PrefixSharing::is_at_place(const Sequence& sequence) const {
  const int at = sequence.num_computed;
  return kv_.keeps_checkpoints() && at > 0 && at % kv_.block_size() == 0 &&
         (at == sequence.notes.checkpoint_at || at % kv_.checkpoint_interval() == 0);
}

}  // namespace octavo

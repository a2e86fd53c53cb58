#include "engine/schedule/checkpoint_places.h"

#include <algorithm>
#include <limits>

#include "base/to_size.h"

namespace octavo {
namespace {

/// How many leading hashed blocks two sequences have in common; a hash covers all blocks before it.
std::size_t common_blocks(const BlockChain& a, const BlockChain& b) {
  if (a.root_hash() != b.root_hash()) return 0;
  std::size_t common = 0, end = std::min(a.size(), b.size()) + 1;  // the first `end` blocks differ
  while (end - common > 1) {
    const std::size_t middle = (common + end) / 2;
    (a.hashes()[middle - 1] == b.hashes()[middle - 1] ? common : end) = middle;
  }
  return common;
}

}  // namespace

void CheckpointPlaces::plan(Sequence& sequence) const {
  const int at = sequence.num_computed, block_size = kv_.block_size();
  Place place{.at = static_cast<int>(std::min<std::int64_t>(std::numeric_limits<int>::max(), end_of_interval(at)))};
  const int settled =
      (sequence.params.prompt_tokens - sequence.params.generation_prompt_tokens) / block_size * block_size;
  if (settled > at && settled <= place.at) place = {.at = settled, .uses = 1};  // where the next turn begins
  const int pictures = behind_pictures(sequence);
  if (pictures > at && pictures < place.at) place = {.at = pictures, .uses = 1};  // where another question begins
  place = place_of_others(sequence, place);
  sequence.notes.checkpoint_at = place.at;
  sequence.notes.checkpoint_uses = place.uses;
}

/// The end of the interval that contains a position; or of as many intervals as fit a chunk: a chunk that ended earlier
/// would cost more than it saves, and places where others part are found elsewhere.
std::int64_t CheckpointPlaces::end_of_interval(int at) const {
  const std::int64_t interval = kv_.checkpoint_interval();
  const std::int64_t step = std::max<std::int64_t>(1, max_chunk_tokens_ / interval) * interval;
  return (at / step + 1) * step;
}

/// The last whole block of a prompt's last picture: what follows it changes from question to question. 0: there is no
/// picture, or a chunk that ends there would cost more than it saves.
int CheckpointPlaces::behind_pictures(const Sequence& sequence) const {
  const std::vector<GivenRows>& rows = sequence.given.rows;
  const int least = kLeastSavedBlocks * kv_.block_size();
  if (rows.empty() || rows.back().count < least) return 0;
  return rows.back().end() / kv_.block_size() * kv_.block_size();
}

/// The first place before `before` at which others part from the sequence; `before` itself if there is none.
CheckpointPlaces::Place CheckpointPlaces::place_of_others(const Sequence& sequence, Place before) const {
  const int last_kept = static_cast<int>(kv_.longest_cut(sequence.kv, sequence.num_computed));
  for (int passed = sequence.num_computed;;) {
    Place nearest{.at = before.at};
    const auto look_at = [&](const Sequence* other) {
      const int at = divergence(sequence, *other);
      if (at <= passed || at > nearest.at) return;
      nearest = {.at = at, .uses = at < nearest.at ? 1 : nearest.uses + 1};
    };
    std::ranges::for_each(queues_.running(), look_at);
    std::ranges::for_each(queues_.waiting(), look_at);
    if (nearest.at == before.at) return {.at = before.at, .uses = before.uses + nearest.uses};
    const std::int64_t saved = std::int64_t{nearest.uses} * (nearest.at - last_kept);
    if (saved >= kLeastSavedBlocks * kv_.block_size()) return nearest;
    passed = nearest.at;
  }
}

/// The last position from which `other` could continue if the sequence kept its state there; 0 where it needs none.
int CheckpointPlaces::divergence(const Sequence& sequence, const Sequence& other) const {
  const int block_size = kv_.block_size();
  const auto next = to_size(sequence.num_computed / block_size);
  const BlockChain &own = sequence.chain, &others = other.chain;
  const bool goes_on_alike = &other != &sequence && other.may_use_cache() &&
                             next < std::min(own.size(), others.size()) && own.hashes()[next] == others.hashes()[next];
  if (!goes_on_alike || (other.is_running() && !other.is_catching_up())) return 0;
  const int most = (other.num_tokens() - 1) / block_size;  // the last token is computed whatever is cached
  const int at = std::min(static_cast<int>(common_blocks(own, others)), most) * block_size;
  return at > other.num_computed ? at : 0;
}

Sequence* CheckpointPlaces::claimant(const Sequence& sequence, std::span<Sequence* const> prompts) const {
  const int at = sequence.num_computed, block_size = kv_.block_size();
  if (!sequence.may_use_cache() || at % block_size != 0) return nullptr;
  const auto found = std::ranges::find_if(prompts, [&](const Sequence* other) {
    const int place = other->notes.checkpoint_at;
    const bool is_first = other->num_computed > at || (other->num_computed == at && queues_.has_rows(*other));
    if (other == &sequence || !is_first || place <= other->num_computed || place >= sequence.num_tokens()) return false;
    const auto last = to_size(place / block_size - 1);
    return place <= other->notes.num_admitted_tokens && last < std::min(sequence.chain.size(), other->chain.size()) &&
           sequence.chain.root_hash() == other->chain.root_hash() &&
           sequence.chain.hashes()[last] == other->chain.hashes()[last];
  });
  return found == prompts.end() ? nullptr : *found;
}

void CheckpointPlaces::raise_priorities(std::span<Sequence* const> prompts) const {
  for (const Sequence* sequence : prompts) {
    Sequence* first = claimant(*sequence, prompts);
    if (first != nullptr)
      first->notes.priority_in_step = std::max(first->notes.priority_in_step, sequence->params.priority);
  }
}

}  // namespace octavo

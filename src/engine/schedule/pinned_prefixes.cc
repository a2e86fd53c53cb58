#include "engine/schedule/pinned_prefixes.h"

#include <algorithm>
#include <limits>
#include <new>

#include "kv/kv_budget.h"

namespace octavo {

PinnedPrefixes::PinnedPrefixes(KvCacheManager& kv, const StepLimits& limits)
    : kv_(kv), longest_sequence_(limits.max_context), pools_(to_size(kv.num_pools())) {
  if (!kv.hashing().hasher || longest_sequence_ == 0) return;
  std::int64_t max_blocks = std::numeric_limits<int>::max() / kv.block_size();
  for (int p = 0; p < kv.num_pools(); ++p) {
    const bool is_state = p == kv.num_groups();
    const int window = is_state ? 0 : kv.group(p).window;
    // A choice that begins writes into a block of its own.
    const std::int64_t of_longest =
        is_state ? limits.max_sequences
                 : blocks_of_sequence(longest_sequence_, window, kv.block_size(), limits.joint_rows) + 1;
    const std::int64_t left = std::max<std::int64_t>(0, kv.pool(p).total_count() - of_longest);
    pools_[to_size(p)].max_pinned = static_cast<int>(left);
    if (window == 0 && !is_state) max_blocks = std::min(max_blocks, left);
    if (left == 0) max_blocks = 0;
  }
  max_tokens_ = static_cast<int>(max_blocks) * kv.block_size();
}

std::span<const BlockId> PinnedPrefixes::blocks_of(SequenceId pin, int pool) const {
  const BlockTable& table = kv_.table(pin, pool);
  return table.block_ids().subspan(to_size(table.first_held()));
}

Result<void> PinnedPrefixes::pin(const Sequence& prompt) {
  SequenceId pin = 0;
  try {
    for (int p = 0; p < kv_.num_pools(); ++p) pools_[to_size(p)].pins.resize(to_size(kv_.pool(p).total_count()));
    const auto place = pins_.try_emplace(prompt.params.id).first;
    pin = place->second = kv_.create_sequence(prompt.num_tokens());
    attach(pin, prompt);
  } catch (const std::bad_alloc&) {
    if (kv_.has_sequence(pin)) kv_.drop(pin);
    pins_.erase(prompt.params.id);
    return fail_as(ErrorKind::kOutOfMemory, "no memory to pin {} tokens", prompt.num_tokens());
  }
  count(pin, true);
  const Result<void> counts = check_counts(prompt);
  if (!counts) unpin(prompt.params.id);
  return counts;
}

/// Attaches the pin to the prompt's blocks. A sequence never attaches to its last token, so one more token is given,
/// which does not count.
void PinnedPrefixes::attach(SequenceId pin, const Sequence& prompt) {
  std::vector<TokenId> tokens = prompt.tokens;
  tokens.push_back(prompt.tokens.back());
  const Result<int> attached = kv_.extend_prefix(pin, RowSource(tokens, prompt.given.rows), prompt.chain);
  OCTAVO_CHECK(attached.has_value(), "{}", attached.error().message);
}

void PinnedPrefixes::count(SequenceId pin, bool is_held) {
  for (int p = 0; p < kv_.num_pools(); ++p) {
    Pool& pool = pools_[to_size(p)];
    for (const BlockId block : blocks_of(pin, p)) {
      std::uint32_t& pins = pool.pins[to_size(block)];
      if (is_held && pins++ == 0) ++pool.num_pinned;
      if (!is_held && --pins == 0) --pool.num_pinned;
    }
  }
}

Result<void> PinnedPrefixes::check_counts(const Sequence& prompt) const {
  for (const Pool& pool : pools_)
    if (pool.num_pinned > pool.max_pinned)
      return fail_as(ErrorKind::kOutOfBlocks,
                     "found {} tokens, which make {} pinned blocks, expected at most {}: the others are kept for a "
                     "context of {} tokens",
                     prompt.num_tokens(), pool.num_pinned, pool.max_pinned, longest_sequence_);
  return {};
}

bool PinnedPrefixes::unpin(RequestId id) {
  const auto pin = pins_.find(id);
  if (pin == pins_.end()) return false;
  count(pin->second, false);
  kv_.drop(pin->second);
  pins_.erase(pin);
  return true;
}

std::uint64_t PinnedPrefixes::bytes() const {
  std::uint64_t bytes = 0;
  for (int p = 0; p < kv_.num_pools(); ++p) {
    const std::size_t block = p == kv_.num_groups() ? kv_.layout().snapshot.bytes : kv_.layout().block_bytes(p);
    bytes += to_size(num_blocks(p)) * block;
  }
  return bytes;
}

}  // namespace octavo

#include "octavo/kv/prefill.h"

#include <algorithm>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {

Result<PrefillPlan> PrefillPlan::create(std::span<const TokenId> tokens, const PrefillConfig& config) {
  OCTAVO_TRY(PrefillScheduler scheduler,
             PrefillScheduler::create(tokens, config.with_priority(PrefillPriority::kPrefillFirst)));
  PrefillPlan plan;
  plan.chunks_.reserve(to_size(scheduler.total_chunks()));
  for (PrefillAction action = scheduler.next_action(); action.kind == PrefillAction::kPrefill;
       action = scheduler.next_action())
    plan.chunks_.push_back(action.chunk);
  return plan;
}

Result<PrefillScheduler> PrefillScheduler::create(std::span<const TokenId> tokens, const PrefillConfig& config) {
  OCTAVO_TRY_VOID(config.check());
  if (tokens.size() > to_size(std::numeric_limits<int>::max()))
    return fail("prefill: a prompt of {} tokens, expected at most {}", tokens.size(), std::numeric_limits<int>::max());
  return PrefillScheduler(tokens, config);
}

PrefillAction PrefillScheduler::next_action(int max_tokens, bool decode_waiting) {
  if (handed_out_ == total_tokens()) return {.kind = PrefillAction::kStartDecode};
  const ChunkRequest request{.tokens_left = total_tokens() - next_start_,
                             .overlap = handed_out_ - next_start_,
                             .max_tokens = max_tokens,
                             .decode_waiting = decode_waiting};
  const int yields = turns_.yields;
  const int size = next_chunk_size(config_, request, turns_);
  if (size == 0) return {.kind = PrefillAction::kYieldToDecode};
  yields_at_chunk_ = yields;
  return {.kind = PrefillAction::kPrefill, .chunk = hand_out(size)};
}

PrefillChunk PrefillScheduler::hand_out(int size) {
  const PrefillChunk chunk{.tokens = tokens_.subspan(to_size(next_start_), to_size(size)),
                           .start = next_start_,
                           .end = next_start_ + size,
                           .index = next_index_++,
                           .is_last = next_start_ + size == total_tokens(),
                           .overlap = handed_out_ - next_start_};
  handed_out_ = chunk.end;
  next_start_ = std::max(0, chunk.end - config_.overlap);
  return chunk;
}

bool PrefillScheduler::has_handed_out(const PrefillChunk& chunk) const {
  return chunk.start >= 0 && chunk.end >= chunk.start && chunk.end <= handed_out_ &&
         chunk.tokens.data() == tokens_.data() + chunk.start && chunk.tokens.size() == to_size(chunk.end - chunk.start);
}

void PrefillScheduler::retract(const PrefillChunk& chunk) {
  OCTAVO_CHECK(has_handed_out(chunk) && chunk.index == next_index_ - 1 && chunk.end == handed_out_ &&
                   chunk.start + chunk.overlap >= computed_,
               "chunk {} of positions {} to {} is not the last one out: that is {}, ending at {}, computed {}",
               chunk.index, chunk.start, chunk.end, next_index_ - 1, handed_out_, computed_);
  handed_out_ = chunk.start + chunk.overlap;
  next_start_ = chunk.start;
  next_index_ = chunk.index;
  turns_ = {.owes_yield = false, .yields = yields_at_chunk_};
}

void PrefillScheduler::complete(const PrefillChunk& chunk) {
  OCTAVO_CHECK(has_handed_out(chunk) && chunk.start + chunk.overlap == computed_ && chunk.end > computed_,
               "chunk {} of positions {} to {} is not the first one out: {} computed, {} handed out", chunk.index,
               chunk.start, chunk.end, computed_, handed_out_);
  computed_ = chunk.end;
}

Result<void> PrefillScheduler::skip_to(int position) {
  if (handed_out_ != computed_)
    return fail("prefill: positions {} to {} are out and not computed; nothing can be skipped", computed_, handed_out_);
  if (position < computed_ || position > total_tokens())
    return fail("prefill: cannot go on at position {}, expected {} to {}", position, computed_, total_tokens());
  computed_ = handed_out_ = next_start_ = position;
  return {};
}

double PrefillScheduler::progress() const {
  return tokens_.empty() ? 1.0 : static_cast<double>(computed_) / static_cast<double>(total_tokens());
}

bool PrefillScheduler::decode_available() const {
  return !is_complete() && config_.priority != PrefillPriority::kPrefillFirst;
}

int PrefillScheduler::total_chunks() const {
  if (handed_out_ == total_tokens()) return next_index_;
  // The next chunk ends at next_end; each later one adds its size less the overlap.
  const std::int64_t next_end = static_cast<std::int64_t>(next_start_) + config_.chunk_size;
  const std::int64_t behind = std::max<std::int64_t>(0, total_tokens() - next_end);
  const std::int64_t stride = config_.chunk_size - config_.overlap;
  return next_index_ + 1 + static_cast<int>((behind + stride - 1) / stride);
}

std::string PrefillMemoryEstimate::summary() const {
  constexpr double kMiB = 1024.0 * 1024.0;
  return fmt::format("{:.1f} MiB -> {:.1f} MiB ({:.0f} % less, {} chunk{})", static_cast<double>(full_bytes) / kMiB,
                     static_cast<double>(chunked_bytes) / kMiB, savings * 100, num_chunks, num_chunks == 1 ? "" : "s");
}

Result<PrefillMemoryEstimate> estimate_prefill_memory(int num_tokens, int chunk_size, int num_heads) {
  if (chunk_size < 1) return fail("prefill: chunk_size is {}, expected at least 1", chunk_size);
  if (num_tokens < 0) return fail("prefill: found {} tokens, expected at least 0", num_tokens);
  if (num_heads < 0) return fail("prefill: found {} heads, expected at least 0", num_heads);
  const auto total = static_cast<std::uint64_t>(num_tokens);
  const std::uint64_t rows = std::min(total, static_cast<std::uint64_t>(chunk_size));
  const std::uint64_t row_bytes = static_cast<std::uint64_t>(num_heads) * sizeof(float);  // the scores of one position
  PrefillMemoryEstimate estimate;
  // total * total fits: both are below 2^31.
  if (__builtin_mul_overflow(total * total, row_bytes, &estimate.full_bytes))
    return fail("prefill: the scores of {} heads over {} tokens have more bytes than 64 bits count", num_heads, total);
  estimate.chunked_bytes = rows * total * row_bytes;
  if (estimate.full_bytes != 0) estimate.savings = 1.0 - static_cast<double>(rows) / static_cast<double>(total);
  estimate.num_chunks =
      static_cast<int>((total + static_cast<std::uint64_t>(chunk_size) - 1) / static_cast<std::uint64_t>(chunk_size));
  return estimate;
}

}  // namespace octavo

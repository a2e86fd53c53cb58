// Chunked prefill: a prompt is read in chunks, so that other sequences get their turn in between.
//
//     const PrefillConfig config = PrefillConfig(512).with_priority(PrefillPriority::kInterleaved);
//     PrefillScheduler prefill = *PrefillScheduler::create(tokens, config);
//     for (;;) {
//       const PrefillAction action = prefill.next_action(room);          // cut to at most `room` tokens
//       if (action.kind == PrefillAction::kPrefill) { compute(action.chunk); prefill.complete(action.chunk); }
//       if (action.kind == PrefillAction::kYieldToDecode) decode_others();
//       if (action.kind == PrefillAction::kStartDecode) break;
//     }
//
// An engine whose steps compute decode rows beside a chunk has given the decodes their turn with that step.
//
// Plain values, for one thread at a time; a PrefillScheduler owns no memory and takes none. Tokens are views that must
// outlive the plan.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "octavo/kv/chunk_size.h"
#include "octavo/token.h"

namespace octavo {

struct PrefillChunk {
  std::span<const TokenId> tokens;  // a view of the prompt
  int start = 0, end = 0;           // positions in the prompt, end exclusive
  int index = 0;                    // the number of chunks before it
  bool is_last = false;             // the chunk ends the prompt
  int overlap = 0;                  // leading tokens that an earlier chunk had, or that were skipped

  int size() const { return end - start; }
};

/// All chunks of a prompt at once, as PrefillScheduler hands them out where nothing cuts them; none if the prompt is
/// empty. With overlap each chunk begins that many tokens before the end of the previous one, and no chunk lies wholly
/// within the previous one.
class PrefillPlan {
 public:
  /// Makes a plan. Errors: those of PrefillConfig::check(); a prompt of more than 2^31 - 1 tokens.
  static Result<PrefillPlan> create(std::span<const TokenId> tokens, const PrefillConfig& config);
  std::span<const PrefillChunk> chunks() const { return chunks_; }

 private:
  std::vector<PrefillChunk> chunks_;
};

struct PrefillAction {
  enum Kind : std::uint8_t { kPrefill, kStartDecode, kYieldToDecode };
  Kind kind = kStartDecode;
  PrefillChunk chunk = {};  // the chunk of a kPrefill
};

/// Hands out the chunks of one prompt, one at a time, by its priority.
class PrefillScheduler {
 public:
  static constexpr int kNoLimit = ChunkRequest::kNoLimit;

  /// Makes a scheduler. Errors: those of PrefillConfig::check(); a prompt of more than 2^31 - 1 tokens.
  static Result<PrefillScheduler> create(std::span<const TokenId> tokens, const PrefillConfig& config);

  /// The next action. A chunk has at most min(chunk_size, max_tokens) tokens; where the chunk would have no token that
  /// the previous one did not have (max_tokens is at most the overlap), the action is a yield. Only kDecodePriority
  /// looks at `decode_waiting`. Once all chunks were handed out, the action is always kStartDecode.
  PrefillAction next_action(int max_tokens = kNoLimit, bool decode_waiting = true);
  /// Takes back a chunk that was not computed, whose tokens will be handed out again. Several chunks are taken back in
  /// reverse order. CHECKs that the chunk is the last one handed out, and not complete.
  void retract(const PrefillChunk& chunk);
  /// Notes that a chunk was computed. CHECKs that it is the first one handed out and not complete.
  void complete(const PrefillChunk& chunk);
  /// Makes the next chunk begin at `position`: tokens before it were found in a cache and count as computed. Errors,
  /// which change nothing: a position outside [num_computed(), total_tokens()]; a chunk is not complete.
  Result<void> skip_to(int position);

  int total_tokens() const { return static_cast<int>(tokens_.size()); }
  int num_computed() const { return computed_; }  // the number of leading computed tokens
  /// The share of computed tokens, 0 to 1; 1 for an empty prompt.
  double progress() const;
  /// Whether all tokens are computed; true for an empty prompt.
  bool is_complete() const { return computed_ == total_tokens(); }
  /// Whether decodes may run between the chunks: the prompt is not complete, and its priority is not kPrefillFirst.
  bool decode_available() const;
  /// The number of chunks handed out so far, plus those that the rest makes where nothing cuts them.
  int total_chunks() const;

 private:
  PrefillScheduler(std::span<const TokenId> tokens, const PrefillConfig& config) : tokens_(tokens), config_(config) {}
  PrefillChunk hand_out(int size);
  bool has_handed_out(const PrefillChunk& chunk) const;

  std::span<const TokenId> tokens_;
  PrefillConfig config_;
  int computed_ = 0;    // <= handed_out_
  int handed_out_ = 0;  // the end of the last chunk handed out
  int next_start_ = 0;  // where the next chunk begins: handed_out_ less the overlap
  int next_index_ = 0;  // the next chunk's index
  PrefillTurns turns_;
  int yields_at_chunk_ = 0;  // turns_.yields when the last chunk was handed out, to which retract() goes back
};

/// The bytes of scores that chunks save: at most float32 [heads, chunk, past] in place of [heads, total, total].
struct PrefillMemoryEstimate {
  std::uint64_t full_bytes = 0, chunked_bytes = 0;
  double savings = 0;  // the share of full_bytes that is saved, 0 to 1; 0 without scores
  int num_chunks = 0;  // without overlap
  /// A line such as "12.0 MiB -> 3.0 MiB (75 % less, 4 chunks)".
  std::string summary() const;
};
/// Makes the estimate. Error: chunk_size below 1, negative counts, more bytes than 64 bits hold.
Result<PrefillMemoryEstimate> estimate_prefill_memory(int num_tokens, int chunk_size, int num_heads);

}  // namespace octavo

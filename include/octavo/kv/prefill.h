// Chunked prefill: a prompt is read in chunks, so that others get their turn in between.
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
// An engine whose steps compute decode rows beside a chunk has given the decodes their turn when it takes the yield.
//
// Plain values, one thread at a time; a PrefillScheduler owns no memory and takes none. Tokens are views: they must
// outlive the plan.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "octavo/kv/types.h"

namespace octavo {

enum class PrefillPriority : std::uint8_t {
  kPrefillFirst,    // all chunks, then decode
  kInterleaved,     // after each chunk decodes get a turn
  kDecodePriority,  // a chunk only when no decode waits, or the prompt has waited too long
};

struct PrefillConfig {
  int chunk_size = 512;  // tokens, at least 1
  int overlap = 0;       // tokens of the chunk before that are computed again; for models without a cache; < chunk_size
  PrefillPriority priority = PrefillPriority::kPrefillFirst;
  int max_yields = 8;  // kDecodePriority: yields in a row before a chunk runs all the same; 0: it never waits

  PrefillConfig() = default;
  explicit PrefillConfig(int chunk) : chunk_size(chunk) {}
  PrefillConfig with_chunk_size(int tokens) const;
  PrefillConfig with_overlap(int tokens) const;
  PrefillConfig with_priority(PrefillPriority value) const;
  PrefillConfig with_max_yields(int yields) const;
  /// Error: chunk_size, overlap or max_yields out of range; found and expected.
  Result<void> check() const;
};

struct PrefillChunk {
  std::span<const TokenId> tokens;  // of the prompt, not copied
  int start = 0, end = 0;           // positions in the prompt, end exclusive
  int index = 0;                    // chunks before it
  bool is_last = false;             // it ends the prompt
  int overlap = 0;                  // leading tokens that were handed out, or skipped, before

  int size() const { return end - start; }
};

/// All chunks of a prompt at once: those that PrefillScheduler hands out where nothing cuts them. None for an empty
/// prompt. With overlap each begins that many tokens before the end of the one before; none lies wholly inside the one
/// before.
class PrefillPlan {
 public:
  /// Error: as PrefillConfig::check(); a prompt of more than 2^31 - 1 tokens.
  static Result<PrefillPlan> create(std::span<const TokenId> tokens, const PrefillConfig& config);
  std::span<const PrefillChunk> chunks() const { return chunks_; }

 private:
  std::vector<PrefillChunk> chunks_;
};

/// The turns that the chunks of a prompt and the decodes of others have taken so far.
struct PrefillTurns {
  bool owes_yield = false;  // kInterleaved: a chunk was handed out since the last yield
  int yields = 0;           // kDecodePriority: in a row
};

/// A prompt that asks for its next chunk.
struct ChunkRequest {
  static constexpr int kNoLimit = std::numeric_limits<int>::max();

  int tokens_left = 0;         // of the prompt, behind the beginning of the chunk
  int overlap = 0;             // of these, tokens that the chunk before had as well
  int max_tokens = kNoLimit;   // room for the chunk
  int to_border = kNoLimit;    // tokens until a position at which a chunk must end, the overlap included; at least 1
  bool decode_waiting = true;  // matters to kDecodePriority only
};

/// Tokens of the next chunk: no more than chunk_size, than there is room for, than are left and until a border. 0 where
/// the prompt yields to decodes: as its priority says, or because the chunk would have no token that the one before did
/// not have. Counts the turn in `turns`. Every chunk comes from here, those of PrefillScheduler and those of the
/// engine.
int next_chunk_size(const PrefillConfig& config, const ChunkRequest& request, PrefillTurns& turns);

struct PrefillAction {
  enum Kind : std::uint8_t { kPrefill, kStartDecode, kYieldToDecode };
  Kind kind = kStartDecode;
  PrefillChunk chunk = {};  // of kPrefill
};

/// Hands out the chunks of one prompt, one at a time, by its priority.
class PrefillScheduler {
 public:
  static constexpr int kNoLimit = ChunkRequest::kNoLimit;

  /// Error: as PrefillConfig::check(); a prompt of more than 2^31 - 1 tokens.
  static Result<PrefillScheduler> create(std::span<const TokenId> tokens, const PrefillConfig& config);

  /// The next thing to do. A chunk has at most min(chunk_size, max_tokens) tokens; where that gives no token that the
  /// chunk before did not have (max_tokens 0, or no more than the overlap) it yields. `decode_waiting` matters to
  /// kDecodePriority only. kStartDecode, for ever, once all chunks were handed out.
  PrefillAction next_action(int max_tokens = kNoLimit, bool decode_waiting = true);
  /// Takes back the last chunk that is out: it was not computed, and what it held will be handed out again. Several
  /// are taken back last one first. CHECKs that it is the last one, and not complete.
  void retract(const PrefillChunk& chunk);
  /// A chunk was computed. CHECKs that it is the first one that is out.
  void complete(const PrefillChunk& chunk);
  /// The next chunk begins at `position`: what lies before it was found in a cache and counts as computed. Errors, and
  /// nothing is changed: a position outside [num_computed(), total_tokens()], or while a chunk is out.
  Result<void> skip_to(int position);

  int total_tokens() const { return static_cast<int>(tokens_.size()); }
  int num_computed() const { return computed_; }  // leading tokens
  /// Tokens computed of all, 0 to 1; 1 for an empty prompt.
  double progress() const;
  /// All tokens are computed; at once for an empty prompt.
  bool is_complete() const { return computed_ == total_tokens(); }
  /// Decodes of others may run between this prompt's chunks: it is not complete and its priority is not kPrefillFirst.
  bool decode_available() const;
  /// Chunks in all: those handed out so far and those that the rest makes if nothing cuts them shorter.
  int total_chunks() const;

 private:
  PrefillScheduler(std::span<const TokenId> tokens, const PrefillConfig& config) : tokens_(tokens), config_(config) {}
  PrefillChunk hand_out(int size);
  bool has_handed_out(const PrefillChunk& chunk) const;

  std::span<const TokenId> tokens_;
  PrefillConfig config_;
  int computed_ = 0;    // <= handed_out_
  int handed_out_ = 0;  // end of the last chunk handed out
  int next_start_ = 0;  // of the next chunk: handed_out_ less the overlap
  int next_index_ = 0;  // of the next chunk
  PrefillTurns turns_;
  int yields_at_chunk_ = 0;  // turns_.yields when the last chunk was handed out: retract() goes back to it
};

/// Bytes of scores that chunks save: float32 [heads, chunk, past] at its largest against [heads, total, total].
struct PrefillMemoryEstimate {
  std::uint64_t full_bytes = 0, chunked_bytes = 0;
  double savings = 0;  // share of full_bytes, 0 to 1; 0 where there are no scores
  int num_chunks = 0;  // without overlap
  /// "12.0 MiB -> 3.0 MiB (75 % less, 4 chunks)"
  std::string summary() const;
};
/// Error: chunk_size below 1, negative counts, more bytes than 64 bits count.
Result<PrefillMemoryEstimate> estimate_prefill_memory(int num_tokens, int chunk_size, int num_heads);

}  // namespace octavo

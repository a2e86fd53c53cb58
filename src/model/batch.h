// One step's work, as flat arrays of numbers: the only thing that crosses from the scheduler to the model.
//
// Built by the engine, read by a ModelRunner. Rows are grouped by sequence; prefill, chunk and decode differ
// only in how many rows a sequence has.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kv/state_layout.h"
#include "octavo/kv/types.h"

namespace octavo {

/// Rows of drafted tokens of an earlier batch that turned out right: a recurrent state advances by them.
struct StateAdvance {
  std::int32_t state_slot;
  std::int32_t first_row, num_rows;  // among the drafted rows of the last batch that had any
};

/// The draw of a sequence's guesses: by these of its request's settings, each with the key (seed, choice, position) of
/// the token that it guesses.
struct GuessDraw {
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;
  float temperature = 0;  // 0: the likeliest words
  std::int32_t top_k = 0;
  float top_p = 1, min_p = 0;
};

struct Batch {
  std::vector<std::int32_t> tokens;       // [num_rows]
  std::vector<std::int32_t> positions;    // [num_rows] absolute position in the row's sequence
  std::vector<std::uint8_t> token_types;  // [num_rows] the part of a pair that the row's token belongs to; empty: all 0
  std::vector<std::int32_t> seq_begin;    // [num_seqs + 1] rows of sequence s: seq_begin[s] .. seq_begin[s + 1]
  std::vector<std::int32_t> kv_len;       // [num_seqs] tokens in the cache after this step's rows are written

  /// Block tables of one attention group (layers with the same span).
  struct Group {
    std::vector<std::int32_t> block_begin;  // [num_seqs + 1] offsets into block_ids
    std::vector<std::int32_t> block_ids;    // block i of sequence s: block_ids[block_begin[s] + i], covers
                                            // positions i * block_size .. (i + 1) * block_size - 1; kNoBlock:
                                            // given back, no row of this step looks at it
  };
  std::vector<Group> groups;
  std::vector<std::int32_t> state_slots;  // [num_seqs] the snapshot that holds a sequence's recurrent state and is
                                          // written in place; one that begins at position 0 begins with zeros. Without
                                          // recurrent layers: empty
  std::vector<std::int32_t> num_drafted;  // [num_seqs] rows of drafted tokens, the last ones of a sequence. Recurrent
                                          // layers keep what these rows bring, up to kMaxDraftedRows in all, and leave
                                          // the state as it is before them. Without recurrent layers: empty
  std::vector<StateAdvance> advances;     // made first of all
  std::vector<BlockRun> releases;        // blocks whose memory goes back to the system, before copies; groups ascending
  std::vector<BlockCopy> copies;         // made before anything is written
  std::vector<std::int32_t> logit_rows;  // rows whose logits are wanted, ascending

  // A batch of guesses goes through the draft head, or the assistant, alone. It has one row a sequence: the last token,
  // whose position is behind all that the model has computed. The tables hold the places of the guesses, too, up to
  // kv_len.
  std::vector<std::int32_t> num_guesses;  // [num_seqs] tokens that the head guesses, at least 1. Otherwise empty
  std::vector<GuessDraw> guess_draws;     // [num_seqs] where there are guesses
  std::vector<std::int32_t> hidden_rows;  // [num_seqs] the hidden row in front of that token, where an assistant
                                          // guesses: among the logit rows of the last batch that had any, below
                                          // kMaxLogitRows. The tables hold no place of a guess then. Otherwise empty
  std::vector<std::int32_t> candidate_begin;  // [num_seqs + 1] offsets into candidates
  std::vector<std::int32_t> candidates;       // tokens behind the first kCommonTokens that a guess may be, ascending

  /// Whether nobody wants the rows any more, so that a runner may leave them half done: asked now and then by a long
  /// step, on its thread. Empty: they are wanted.
  std::function<bool()> is_unwanted = {};

  int num_rows() const { return static_cast<int>(tokens.size()); }
  int num_seqs() const { return static_cast<int>(kv_len.size()); }

  void clear() {
    tokens.clear();
    positions.clear();
    token_types.clear();
    seq_begin.assign(1, 0);
    kv_len.clear();
    for (Group& group : groups) {
      group.block_begin.assign(1, 0);
      group.block_ids.clear();
    }
    state_slots.clear();
    num_drafted.clear();
    advances.clear();
    releases.clear();
    copies.clear();
    logit_rows.clear();
    num_guesses.clear();
    guess_draws.clear();
    hidden_rows.clear();
    candidate_begin.assign(1, 0);
    candidates.clear();
  }
};

}  // namespace octavo

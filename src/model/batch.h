// One step's work, as flat arrays of numbers: the only thing that crosses from the scheduler to the model.
//
// Built by the engine, read by a ModelRunner. Rows are grouped by sequence; prefill, chunk and decode differ
// only in how many rows a sequence has. Guesses are a batch of another kind.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <vector>

#include "kv/state_layout.h"
#include "model/rope_position.h"
#include "octavo/kv/types.h"

namespace octavo {

/// The rows of drafted tokens of an earlier batch that turned out right, by which a recurrent state advances.
struct StateAdvance {
  std::int32_t state_slot;
  std::int32_t first_row, num_rows;  // among the drafted rows of the last batch that had any
};

/// How a sequence's guesses are drawn: by these settings of its request, each with the key (seed, choice, position) of
/// the guessed token.
struct GuessDraw {
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;
  float temperature = 0;  // 0: the likeliest words
  std::int32_t top_k = 0;
  float top_p = 1, min_p = 0;
};

/// Consecutive rows that are places in something that was given (RowSource): they begin with its vectors, unchanged, in
/// place of their tokens' embeddings.
struct GivenVectors {
  std::int32_t first_row, num_rows;
  std::int32_t index;    // the place of the first row
  const float* vectors;  // the vectors of all places, [places, width]; they stay valid until the batch is computed
  std::int32_t width;    // that of the model, or a multiple of it: layers add what lies behind the first (DeepStack)

  const float* at(std::int64_t row) const { return vectors + (index + row - first_row) * width; }
};

struct Batch {
  std::vector<std::int32_t> tokens;     // [num_rows]
  std::vector<std::int32_t> positions;  // [num_rows] place in the row's sequence: its slot, the rows that it sees, and
                                        // whether a state begins with it
  std::vector<RopePosition> rope_positions;  // [num_rows]
  std::vector<GivenVectors> given;           // ascending; mostly empty
  std::vector<std::uint8_t> token_types;  // [num_rows] the part of a pair that the row's token belongs to; empty: all 0
  std::vector<std::int32_t> seq_begin;    // [num_seqs + 1] rows of sequence s: seq_begin[s] .. seq_begin[s + 1]
  std::vector<std::int32_t> kv_len;       // [num_seqs] tokens in the cache after this step's rows are written

  /// The block tables of one attention group (layers with the same span).
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
  std::vector<StateAdvance> advances;     // they are made before anything else
  std::vector<BlockRun> releases;        // blocks whose memory goes back to the system, before copies; groups ascending
  std::vector<BlockCopy> copies;         // they are made before anything is written
  std::vector<std::int32_t> logit_rows;  // rows whose logits are wanted, ascending
  std::int32_t sight_end =
      0;  // in layers that join pictures all rows see the positions in front of this one, which have
          // keys and values; 0: each sees up to its own. Only in a joint pass, of one sequence
  bool ends_joint_pass =
      false;  // the batch has no rows: its logits are those of rows of the joint pass, which is whole

  /// Whether nobody wants the rows any more, so that a runner may leave them half done: asked now and then by a long
  /// step, on its thread. Empty: they are wanted.
  std::function<bool()> is_unwanted = {};

  int num_rows() const { return static_cast<int>(tokens.size()); }
  int num_seqs() const { return static_cast<int>(kv_len.size()); }
  /// The given vectors that a row is a place of; nullptr: the row is a token.
  const GivenVectors* given_at(std::int64_t row) const {
    const auto behind = std::ranges::upper_bound(given, row, {}, &GivenVectors::first_row);
    if (behind == given.begin()) return nullptr;
    const GivenVectors& at = *std::prev(behind);
    return row < at.first_row + at.num_rows ? &at : nullptr;
  }
  /// The vector with which a row begins in place of its token's embedding; nullptr: none was given.
  const float* given_vector(std::int64_t row) const {
    const GivenVectors* at = given_at(row);
    return at == nullptr ? nullptr : at->at(row);
  }

  void add_row(std::int32_t token, std::int32_t position, RopePosition rope_position) {
    tokens.push_back(token);
    positions.push_back(position);
    rope_positions.push_back(rope_position);
  }
  /// Reserves room for so many rows and sequences, without the tables of blocks.
  void reserve(std::size_t rows, std::size_t sequences) {
    for (std::vector<std::int32_t>* of_rows : {&tokens, &positions, &logit_rows}) of_rows->reserve(rows);
    rope_positions.reserve(rows);
    seq_begin.reserve(sequences + 1);
    kv_len.reserve(sequences);
    for (Group& group : groups) group.block_begin.reserve(sequences + 1);
  }

  void clear() {
    tokens.clear();
    positions.clear();
    rope_positions.clear();
    given.clear();
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
    sight_end = 0;
    ends_joint_pass = false;
  }
};

/// Guesses that the draft head, or the assistant, makes alone.
struct GuessBatch {
  Batch rows;  // one a sequence: the last token, whose position is behind all that the model has computed. The tables
               // hold the places of the guesses, too, up to kv_len; no logits are wanted
  std::vector<std::int32_t> num_guesses;  // [num_seqs] tokens that are guessed, at least 1
  std::vector<GuessDraw> draws;           // [num_seqs]
  std::vector<std::int32_t> hidden_rows;  // [num_seqs] the hidden row in front of that token, where an assistant
                                          // guesses: among the logit rows of the last batch that had any, below
                                          // kMaxLogitRows. The tables hold no place of a guess then. Otherwise empty
  std::vector<std::int32_t> candidate_begin;  // [num_seqs + 1] offsets into candidates
  std::vector<std::int32_t> candidates;       // tokens beyond the first kCommonTokens that a guess may be, ascending

  void clear() {
    rows.clear();
    num_guesses.clear();
    draws.clear();
    hidden_rows.clear();
    candidate_begin.assign(1, 0);
    candidates.clear();
  }
};

}  // namespace octavo

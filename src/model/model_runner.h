// The device seam: a Batch of integers goes in, rows of logits come out. CPU now; nothing else crosses it.
//
// The engine knows what lies where; a runner owns the bytes. It says at load how sequences' state is laid
// out and how much of it there is room for. Owned by the engine, used by one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/step_clock.h"
#include "kv/block_memory.h"
#include "kv/state_layout.h"
#include "model/batch.h"
#include "model/content_hash.h"
#include "octavo/embedding.h"

namespace octavo {

/// The most rows of logits that a runner has room for at once.
inline constexpr int kMaxLogitRows = 64;
/// The most rows of drafted tokens in a batch where layers are recurrent: a runner keeps what they bring.
inline constexpr int kMaxDraftedRows = 32;

/// The words of the vocabulary that a draft head always looks at: the first ones, which are the commonest where words
/// stand in the order in which they were found.
inline constexpr int kCommonTokens = 32768;

/// A token that a draft head guesses.
struct GuessedToken {
  static constexpr int kSure = 1024;

  std::int32_t token = 0;
  std::int32_t chance = 0;  // its probability in parts of kSure, as the head has it, among the words that it looked at
};

/// The result of a batch.
struct BatchOutcome {
  bool is_refused = false;                 // there was no memory for it: what it was to write must not be counted on
  bool is_left = false;                    // it was refused because nobody wanted it any more (Batch::is_unwanted)
  std::uint64_t grown_bytes = 0;           // the size of the growing memory of keys and values; 0: no memory grows
  StepClock::Clock::duration waited = {};  // the time of other steps that had the threads meanwhile
  std::uint64_t expert_bytes = 0;          // in mixtures: the bytes of the experts that its rows chose
  std::span<const std::int32_t> not_finite = {};  // its sequences with expert scores that are not finite: no result
                                                  // of their rows counts. Valid until the next batch
  std::span<const std::int32_t> spoiled = {};     // its sequences with a row that is not finite before the last
                                                  // layer with state. Their keys and values may look like numbers, as
                                                  // integers have no others. Valid until the next batch
  std::span<const GuessedToken> guesses = {};     // in a batch of guesses: its sequences' guesses, one after another.
                                                  // Valid until the next batch
};

/// The facts about a loaded model that a runner knows and the engine asks for.
struct RunnerInfo {
  StateRoom room = {};          // the layout of sequences' state, and how much of it there is room for
  int vocab_size = 0;           // the number of logits in a row
  bool has_draft_head = false;  // a draft head, or an assistant
  bool has_assistant = false;   // its guesses write nothing, and begin at hidden rows of the last batch
  int max_rows = 0;             // the most rows of a batch
  int max_context = 0;          // the most tokens of a sequence: the least of the model's, the option's and what fits
  int width = 0;                // the width of hidden rows
  Pooling head_pooling = Pooling::kLast;  // the pooling that makes the row that a ranking head reads
  int num_token_types = 0;                // the number of texts of a pair that the model distinguishes; 0: none
  std::string device = "cpu";             // or another one, and what it computes
  bool device_has_all = false;            // whether the other device computes all layers and the output matrix
  int joint_rows = 0;                     // the most rows of a joint pass; 0: it makes none
  bool is_encoder = false;                // whether a sequence is computed in one step, which leaves no state
  std::uint64_t weight_bytes = 0;
  std::uint64_t mapped_weight_bytes = 0;     // the part of them in the mapped file
  std::uint64_t weight_bytes_per_token = 0;  // the bytes that a single token reads
  std::uint64_t kv_memory_bytes = 0;         // the budget of the room: the option's, or the default
  WeightsHash content_hash = {};
};

/// The parts of a layer in a joint pass: the keys and values of all rows, and what needs them.
enum class JointPart : std::uint8_t { kKeys, kRest };

/// A piece of a joint pass.
struct JointPiece {
  std::uint64_t work = 0;  // multiply-adds; 0: there was none, the pass is whole
  JointPart part = JointPart::kKeys;
};

/// The most work of a piece, for each part.
using JointWork = std::array<std::uint64_t, 2>;

class ModelRunner {
 public:
  virtual ~ModelRunner() = default;

  /// The facts about the runner; they never change.
  virtual const RunnerInfo& info() const = 0;
  /// The failure that is final, as a clause; then all batches are refused. Empty: there is none.
  virtual std::string_view fault() const { return {}; }

  /// The memory of the room's blocks and snapshots; it stays where it is. Null: some of it lies on another device, or
  /// it grows (the contiguous layout).
  virtual BlockMemory* block_memory() { return nullptr; }

  /// Begins a batch, which must stay as it is until wait() returns: advances states by drafted rows that were right
  /// (even if the batch is then refused), gives memory back, makes the block copies, then runs all layers over its
  /// rows, if there are any, and writes their K and V into the blocks that it names.
  virtual void begin(const Batch& batch) = 0;
  /// Begins a batch of guesses, in which the draft head or the assistant takes the place of the layers.
  virtual void begin(const GuessBatch& batch) = 0;
  /// Waits until the batch is done; to be called once after each begin().
  virtual BatchOutcome wait() = 0;

  /// Begins a joint pass, and gives up the one before: the rows of a sequence that see each other up to
  /// Batch::sight_end go through all layers together, in pieces, while other batches come between. The batch has rows
  /// of one picture alone, up to RunnerInfo::joint_rows of them, and is read before this returns; so are the vectors
  /// that they begin with. Its copies are made; nobody else may write the blocks of its rows. The rows' keys and values
  /// count when the pass is whole: then a batch that ends it (Batch::ends_joint_pass) gives the logits of its
  /// `logit_rows`, which are consecutive and the same as here. False: there is no memory.
  virtual bool begin_joint_pass(const Batch& batch);
  /// Computes the next piece, of about the most work of its part. Called in a step of the pool, as wait() is.
  virtual JointPiece advance_joint_pass(const JointWork& most_work);

  /// Logits of the last batch's `logit_rows[first .. first + count)`, float32 [count, vocab_size]; count is at most
  /// kMaxLogitRows. Valid until begin() or this is called again: a draft is verified by rows that came before.
  virtual std::span<const float> logits(int first, int count) = 0;

  /// The rows that logits are made of, for vectors of texts: the same rows after the model's last norm, float32 [count,
  /// width]. Valid until the next call; logits stay as they are, here and below.
  virtual std::span<const float> hidden_rows(int first, int count) = 0;
  /// The result of the model's head for a pooled row, float32 [width]: its vector, [info().embedding.width], or with
  /// `ranks` the scores, one for each label. Valid until the next call.
  virtual std::span<const float> apply_head(std::span<const float> pooled, bool ranks) = 0;
};

inline bool ModelRunner::begin_joint_pass(const Batch& /*batch*/) {
  OCTAVO_CHECK(false, "a joint pass in a runner that makes none");
  return false;
}

inline JointPiece ModelRunner::advance_joint_pass(const JointWork& /*most_work*/) { return {}; }

}  // namespace octavo

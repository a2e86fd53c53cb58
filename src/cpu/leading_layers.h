// The first layers of a model on another device, whose results the processor's layers go on with. A layer gives the
// same bits on either side, so the number of them changes no answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/math.h"
#include "cpu/weights.h"
#include "kv/state_layout.h"
#include "model/batch.h"
#include "model/config.h"
#include "model/runner_options.h"

namespace octavo {

class AttentionMixer;

/// The other device has failed in a step; the message says what and how. It is of no use from then on.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Used by the thread that computes a step, one call at a time. Calls of a step throw a DeviceError.
class LeadingLayers {
 public:
  virtual ~LeadingLayers() = default;

  /// Layers 0 .. count() of the model, one at least; their keys and values and recurrent states lie with them.
  virtual int count() const = 0;
  /// The device and what it computes, for people.
  virtual std::string description() const = 0;
  /// Whether logits() is theirs.
  virtual bool has_output() const = 0;
  /// Advances the recurrent states of these layers by drafted rows of an earlier forward().
  virtual void advance_states(std::span<const StateAdvance> advances) = 0;
  /// Copies blocks and snapshots in these layers, in this order.
  virtual void copy_blocks(std::span<const BlockCopy> copies) = 0;
  /// Computes the layers. The mixer has the angles of the batch's rows; `x` has the batch's embeddings, [rows, width],
  /// and then the rows behind the layers: all of them, or where the last layer with state is among these, those whose
  /// logits are wanted, in front.
  virtual void forward(const Batch& batch, const AttentionMixer& mixer, float* x) = 0;
  /// The sequences of the last forward() with a row in front of the last layer with state that is not finite,
  /// ascending; empty where that layer is not among these.
  virtual std::span<const std::int32_t> spoiled() const = 0;
  /// The counts of their mixtures in the last forward(), as those of ExpertsFfn: bytes of experts that were read, and
  /// the sequences with a row whose scores are not finite, ascending.
  virtual std::uint64_t expert_bytes() const = 0;
  virtual std::span<const std::int32_t> not_finite() const = 0;
  /// Logits of the last forward()'s logit_rows[first .. first + count), [count, vocab_size]. Valid until the next call.
  virtual std::span<const float> logits(int first, int count) = 0;
};

/// The parts that leading layers are made from. All but the options outlive them.
struct LeadingParts {
  const ModelConfig& config;
  const Weights& weights;
  const StateRoom& room;
  const RunnerOptions& options;
  int max_rows;
};
/// Null where no layer is to be computed elsewhere.
using MakeLeadingLayers = std::function<Result<std::unique_ptr<LeadingLayers>>(const LeadingParts&)>;

}  // namespace octavo

// A stage: consecutive layers of a model on one device. Rows of the residual stream go in, and rows come out. The keys,
// values and states of these layers lie on the device, and so do their weights, which no other stage has.
//
// A model's layers are a row of stages. A layer gives the same bits on every device, so the borders change no answer.
// Between stages go rows, [rows under way, width], and the integers of the batch, which each of them reads by itself.
// Owned by a runner and used by the thread that computes a step, one call at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "base/thread_pool.h"
#include "kv/layer_range.h"
#include "kv/state_layout.h"
#include "model/batch.h"
#include "model/config.h"
#include "model/runner_request.h"
#include "model/weight_list.h"
#include "stage/step_rows.h"

namespace octavo {

/// A stage's device has failed in a step; the message says what and how. It is of no use from then on.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The findings of a stage in its last step. Sequences are numbered as in the batch, each is listed once, and the lists
/// are valid until the next step.
struct StageFindings {
  std::uint64_t expert_bytes = 0;                 // in mixtures of experts: the bytes of the weights that rows chose
  std::span<const std::int32_t> not_finite = {};  // sequences with a row whose expert scores are not finite
  std::span<const std::int32_t> spoiled = {};  // with a row that is not finite in front of the model's last layer with
                                               // state; of the stage that has this layer
};

/// A device may fail: then all functions but layers() and findings() throw a DeviceError.
class Stage {
 public:
  virtual ~Stage() = default;

  /// The stage's layers, none or more.
  virtual LayerRange layers() const = 0;
  /// Advances the recurrent states of these layers by the drafted rows of an earlier step that were right.
  virtual void advance_states(std::span<const StateAdvance> advances) = 0;
  /// Gives the memory of blocks and snapshots back, where it can go.
  virtual void release(std::span<const BlockRun> runs) = 0;
  /// Copies blocks and snapshots in these layers, in this order.
  virtual void copy_blocks(std::span<const BlockCopy> copies) = 0;
  /// Computes the layers. `x` has the rows under way, [rows.count(), width], and gets what the layers make of them. In
  /// the stage that has the model's last layer with state, `rows` keeps only those whose logits are wanted, moved to
  /// the front.
  virtual void forward(StepRows& rows, float* x) = 0;
  virtual StageFindings findings() const = 0;
};

/// A stage on another device than the processor.
class DeviceStage : public Stage {
 public:
  /// The device and what it computes, as a text for people.
  virtual std::string description() const = 0;
  /// Whether the stage computes the logits.
  virtual bool has_output() const = 0;
  /// The logits of the last step's logit_rows[first .. first + count), [count, vocab_size]. Valid until the next call.
  virtual std::span<const float> logits(int first, int count) = 0;
};

/// A stage that is being loaded: it has all memory that it will ever use, and takes its weights (stage/weight_shares.h)
/// as they are read, each of them once.
class StageLoad {
 public:
  virtual ~StageLoad() = default;

  virtual LayerRange layers() const = 0;
  virtual bool has_output() const = 0;
  /// Puts a vector's floats, which stay valid only during the call. Errors, here and below: the device has failed.
  virtual Result<void> put_vector(WeightIndex vector, std::span<const float> floats) = 0;
  /// Puts panels of a matrix (kernels/packed_layout.h), or of several matrices one after another, from byte `offset`
  /// on. Threads may call it at the same time.
  virtual Result<void> put_panels(WeightIndex matrix, std::size_t offset, std::span<const std::uint8_t> panels) = 0;
  /// Whether the device has failed.
  virtual bool has_failed() const = 0;
  /// Makes the stage. All weights have been put; nothing may be put from now on.
  virtual std::unique_ptr<DeviceStage> finish() = 0;
};

/// The inputs that a stage is made from. All but the options outlive it; the list must live only until it is finished.
struct StageParts {
  const ModelConfig& config;
  const WeightList& weights;
  const StateRoom& room;
  const EngineOptions& options;
  ThreadPool& pool;
  int max_rows;
};
/// Plans a stage and takes its memory. Null: no layer is to be computed elsewhere.
using MakeStage = std::function<Result<std::unique_ptr<StageLoad>>(const StageParts&)>;

}  // namespace octavo

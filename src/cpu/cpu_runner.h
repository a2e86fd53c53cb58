// The ModelRunner whose model begins and ends on the processor: weights, KV memory, and a row of stages, those of the
// processor and one of another device where there is one.
//
// Owned by the engine, used by one thread at a time; its work is shared out over the engine's pool.
#pragma once

#include <memory>
#include <optional>

#include "base/memory_budget.h"
#include "cpu/assistant.h"
#include "cpu/transformer.h"
#include "model/model_runner.h"
#include "model/runner_request.h"
#include "stage/stage.h"

namespace octavo {

class CpuRunner final : public ModelRunner {
 public:
  /// Loads the model and allocates all memory that it will ever use; that of the KV cache is reserved, and fills with
  /// use. Errors name the key, tensor or option. Throws std::system_error where the system refuses a thread.
  /// `make_stage` makes a stage of layers on another device, whose weights are not kept here; empty: all layers are
  /// here.
  static Result<std::unique_ptr<CpuRunner>> load(RunnerRequest request, const MakeStage& make_stage = {});

  const RunnerInfo& info() const override { return info_; }
  std::string_view fault() const override { return fault_; }
  void begin(const Batch& batch) override { batch_ = &batch; }
  void begin(const GuessBatch& batch) override {
    batch_ = &batch.rows;
    guess_batch_ = &batch;
  }
  BlockMemory* block_memory() override { return transformer_->block_memory(); }
  /// Does all of the work.
  BatchOutcome wait() override;
  bool begin_joint_pass(const Batch& batch) override;
  JointPiece advance_joint_pass(const JointWork& most_work) override {
    return transformer_->advance_joint_pass(most_work);
  }
  std::span<const float> logits(int first, int count) override;
  std::span<const float> hidden_rows(int first, int count) override;
  std::span<const float> apply_head(std::span<const float> pooled, bool ranks) override;

 private:
  explicit CpuRunner(ModelConfig config) : config_(std::move(config)) {}
  // The steps of loading, in this order; KV memory is taken before the weights where a stage must know its size.
  Result<void> take_kv_memory(const RunnerRequest& request);
  Result<void> load_weights(RunnerRequest& request, const MakeStage& make_stage);
  Result<void> make_stages(const RunnerRequest& request);
  void finish_info(const RunnerRequest& request);
  /// The bytes of weights that stay in the mapped file.
  std::uint64_t mapped_bytes() const;

  void compute(const Batch& batch, const GuessBatch* guesses, BatchOutcome& outcome);
  bool compute_rows(const Batch& batch, const GuessBatch* guesses);

  ModelConfig config_;
  Weights weights_;
  std::optional<AssistantModel> assistant_;
  MemoryBudget::Lease kv_lease_;
  const Batch* batch_ = nullptr;             // the batch that was begun
  const GuessBatch* guess_batch_ = nullptr;  // the guesses that the batch belongs to; null: all layers are computed
  std::span<const GuessedToken> guesses_;    // the last batch of guesses
  RunnerInfo info_;
  std::string fault_;                    // the error of the other device
  std::vector<float> no_logits_;         // NaNs in place of logits that the device owes
  std::unique_ptr<DeviceStage> device_;  // null: all layers are on the processor
  std::unique_ptr<Transformer> transformer_;
};

}  // namespace octavo

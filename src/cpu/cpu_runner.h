// The model on the processor: weights, KV memory and the forward pass behind the ModelRunner seam.
//
// Owned by the engine, used by one thread at a time; its work is shared out over the engine's pool.
#pragma once

#include <memory>
#include <optional>

#include "base/memory_budget.h"
#include "cpu/assistant.h"
#include "cpu/leading_layers.h"
#include "cpu/transformer.h"
#include "kv/kv_arena.h"
#include "kv/snapshot_arena.h"
#include "model/model_runner.h"
#include "model/runner_options.h"

namespace octavo {

class CpuRunner final : public ModelRunner {
 public:
  /// Loads the model and takes all memory it will ever use, that of the KV cache as room only, which fills as it is
  /// used. Errors name the key, tensor or option. Throws std::system_error where the system refuses a thread.
  /// `make_leading` makes layers that lie elsewhere.
  static Result<std::unique_ptr<CpuRunner>> load(RunnerRequest request, const MakeLeadingLayers& make_leading = {});

  const RunnerInfo& info() const override { return info_; }
  std::string_view fault() const override { return fault_; }
  void begin(const Batch& batch) override { batch_ = &batch; }
  void begin(const GuessBatch& batch) override {
    batch_ = &batch.rows;
    guess_batch_ = &batch;
  }
  /// All work is done here.
  BatchOutcome wait() override;
  std::span<const float> logits(int first, int count) override;
  std::span<const float> hidden_rows(int first, int count) override;
  std::span<const float> apply_head(std::span<const float> pooled, bool ranks) override;

 private:
  CpuRunner(ModelConfig config, Weights weights, KvArena kv, SnapshotArena snapshots)
      : config_(std::move(config)),
        weights_(std::move(weights)),
        kv_(std::move(kv)),
        snapshots_(std::move(snapshots)) {}
  Result<void> add_leading_layers(const RunnerOptions& options, const MakeLeadingLayers& make);
  void compute(const Batch& batch, const GuessBatch* guesses, BatchOutcome& outcome);
  bool compute_rows(const Batch& batch, const GuessBatch* guesses);
  bool grow(const Batch& batch);

  ModelConfig config_;
  Weights weights_;
  std::optional<AssistantModel> assistant_;
  MemoryBudget::Lease kv_lease_;
  KvArena kv_;
  SnapshotArena snapshots_;
  const Batch* batch_ = nullptr;             // begun
  const GuessBatch* guess_batch_ = nullptr;  // that the rows belong to; null: all layers are computed
  std::span<const GuessedToken> guesses_;    // of the last batch of guesses
  RunnerInfo info_;
  std::string fault_;                       // of the other device
  std::vector<float> no_logits_;            // in place of those that it owes
  std::unique_ptr<LeadingLayers> leading_;  // null: all layers are here
  std::unique_ptr<Transformer> transformer_;
};

}  // namespace octavo

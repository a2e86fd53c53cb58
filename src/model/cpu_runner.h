// The model on the processor: weights, KV memory and the forward pass behind the ModelRunner seam.
//
// Owned by the engine, used by one thread at a time; its work is shared out over the engine's pool.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/cpu_info.h"
#include "base/memory_budget.h"
#include "kv/kv_arena.h"
#include "kv/snapshot_arena.h"
#include "model/model_runner.h"
#include "model/model_state.h"
#include "model/transformer.h"
#include "octavo/engine.h"

namespace octavo {

struct CpuRunnerOptions {
  IsaLevel isa = IsaLevel::kScalar;
  KvType kv_type = kDefaultKvType;
  KvLayout kv_layout = KvLayout::kPaged;
  int block_size = 16;                // tokens: a power of two, 1 to 256
  std::uint64_t kv_memory_bytes = 0;  // 0: what is left of the budget; of one without a limit half of what is free
                                      // after loading, or less where limits forbid so much
  int max_context = 0;                // tokens of one sequence; 0: what the model was trained for
  int max_rows = 512;                 // rows of one step
  int max_seqs = 256;                 // sequences of one step
  bool prefix_cache = true;           // prefixes are kept to be found: there is room for checkpoints of states
  MatrixTypes types = {};             // that matrices are made as they are loaded
  bool repack = true;                 // else weights stay in the mapped file, which must outlive the runner
  std::function<void(const LoadProgress&)> on_load_progress = {};
  std::stop_token stop = {};  // loading ends with an error once it is asked for
};

class CpuRunner final : public ModelRunner {
 public:
  /// Loads the model and takes all memory it will ever use, that of the KV cache as room only, which fills as it is
  /// used; `kv_budget` counts it as long as the runner lives. Steps run on `pool`, and weights are packed on it between
  /// the steps of others that share it. Errors name the key, tensor or option. Throws std::system_error where the
  /// system refuses a thread.
  static Result<std::unique_ptr<CpuRunner>> load(const ModelSource& source, const CpuRunnerOptions& options,
                                                 ThreadPool& pool, MemoryBudget& kv_budget);

  /// The same of a model that is described by `config` instead of the source's keys.
  static Result<std::unique_ptr<CpuRunner>> load(const ModelSource& source, ModelConfig config,
                                                 const CpuRunnerOptions& options, ThreadPool& pool,
                                                 MemoryBudget& kv_budget);

  const StateRoom& state_room() const override { return kv_.room(); }
  int vocab_size() const override { return config_.vocab_size; }
  int max_rows() const override { return max_rows_; }
  void begin(const Batch& batch) override { batch_ = &batch; }
  /// All work is done here.
  BatchOutcome wait() override;
  std::span<const float> logits(int first, int count) override;

  const ModelConfig& config() const { return config_; }
  const Weights& weights() const { return weights_; }
  /// Tokens one sequence may have: the least of the model's, the option's and what the KV memory holds.
  int max_context() const { return max_context_; }
  const ContentHash& content_hash() const { return weights_.content_hash(); }
  std::uint64_t weight_bytes() const { return weights_.total_bytes(); }
  std::uint64_t mapped_weight_bytes() const { return weights_.mapped_bytes(); }
  std::uint64_t weight_bytes_per_token() const { return weights_.bytes_per_token(); }
  std::uint64_t kv_bytes_per_token() const { return kv_.layout().bytes_per_token(); }
  std::uint64_t kv_arena_bytes() const { return kv_.room().bytes(); }
  /// The budget of that: the options', or what it was without one.
  std::uint64_t kv_memory_bytes() const { return kv_memory_bytes_; }

 private:
  CpuRunner(ModelConfig config, Weights weights, KvArena kv, SnapshotArena snapshots)
      : config_(std::move(config)),
        weights_(std::move(weights)),
        kv_(std::move(kv)),
        snapshots_(std::move(snapshots)) {}
  bool compute(const Batch& batch);
  bool grow(const Batch& batch);

  ModelConfig config_;
  Weights weights_;
  MemoryBudget::Lease kv_lease_;
  std::uint64_t kv_memory_bytes_ = 0;
  KvArena kv_;
  SnapshotArena snapshots_;
  const Batch* batch_ = nullptr;  // begun
  int max_context_ = 0;
  int max_rows_ = 0;
  std::unique_ptr<Transformer> transformer_;
};

/// The KV memory that is taken unless it is named: half of what the weights leave. Packed weights are in memory
/// already; mapped ones will want their pages. If these do not fit anyway the file is read again and again, and the
/// cache gets an eighth.
std::uint64_t default_kv_memory(std::uint64_t available_bytes, std::uint64_t mapped_weight_bytes);

}  // namespace octavo

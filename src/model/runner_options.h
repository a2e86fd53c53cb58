// The options and the parts that a runner is made from, the same for every device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

#include "base/cpu_info.h"
#include "base/memory_budget.h"
#include "base/thread_pool.h"
#include "model/config.h"
#include "model/weight_list.h"
#include "octavo/engine.h"

namespace octavo {

struct RunnerOptions {
  IsaLevel isa = IsaLevel::kScalar;  // of what the processor computes
  Bits bits = Bits::kNative;
  Device device = Device::kCpu;
  int gpu_layers = -1;  // of the first ones, on the card at most; more than there are: the output matrix, too; -1: all
  KvType kv_type = kDefaultKvType;
  KvLayout kv_layout = KvLayout::kPaged;
  int block_size = 16;                // tokens: a power of two, 1 to 256
  std::uint64_t kv_memory_bytes = 0;  // 0: what is left of the budget; of one without a limit half of what is free
                                      // after loading, or less where limits forbid so much
  int max_context = 0;                // tokens of one sequence; 0: what the model was trained for
  int max_rows = 512;                 // rows of one step
  int max_seqs = 256;                 // sequences of one step
  bool prefix_cache = true;           // prefixes are kept to be found: there is room for checkpoints of states
  bool repack = true;                 // else weights stay in the mapped file, which must outlive the runner
  std::function<void(const LoadProgress&)> on_load_progress = {};
  std::stop_token stop = {};  // loading ends with an error once it is asked for
};

/// An assistant to be loaded, which was attached to the model (model/assistant.h).
struct AssistantRequest {
  const ModelSource& source;
  ModelConfig config;
  WeightList weights;  // of the source, by the config
};

/// A model to be loaded. The source, the pool and the budget must outlive the runner, the source only where weights
/// stay in it, and so must the assistant's.
struct RunnerRequest {
  const ModelSource& source;
  ModelConfig config;
  WeightList weights;  // of the source, by the config
  RunnerOptions options;
  ThreadPool& pool;         // on which steps run and weights are packed, between the steps of others that share it
  MemoryBudget& kv_budget;  // counts the KV memory as long as the runner lives
  std::optional<AssistantRequest> assistant = {};
};

}  // namespace octavo

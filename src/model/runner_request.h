// The options and the parts that a runner is made from, the same for every device.
#pragma once

#include <optional>

#include "base/isa_level.h"
#include "base/memory_budget.h"
#include "base/thread_pool.h"
#include "model/config.h"
#include "model/weight_list.h"
#include "octavo/engine.h"

namespace octavo {

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
  WeightList weights;                // of the source, by the config
  EngineOptions options;             // the engine's, which were checked
  IsaLevel isa = IsaLevel::kScalar;  // the level that the options name
  ThreadPool& pool;         // on which steps run and weights are packed, between the steps of others that share it
  MemoryBudget& kv_budget;  // counts the KV memory as long as the runner lives
  std::optional<AssistantRequest> assistant = {};
};

}  // namespace octavo

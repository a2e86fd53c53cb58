// What a runner is made from, the same for every device.
#pragma once

#include <optional>

#include "base/isa_level.h"
#include "base/memory_budget.h"
#include "base/thread_pool.h"
#include "model/config.h"
#include "model/weight_list.h"
#include "octavo/engine.h"

namespace octavo {

/// An assistant to load, which was attached to the model (model/assistant.h).
struct AssistantRequest {
  const ModelSource& source;
  ModelConfig config;
  WeightList weights;  // the source's weights by the config
};

/// A model to load. The pool and the budget must outlive the runner, and so must the sources of the model and of the
/// assistant while weights stay in them.
struct RunnerRequest {
  const ModelSource& source;
  ModelConfig config;
  WeightList weights;                // the source's weights by the config
  EngineOptions options;             // the engine's options, already checked
  IsaLevel isa = IsaLevel::kScalar;  // the level that the options name
  ThreadPool& pool;                  // for steps, and for packing weights between the steps of others that share it
  MemoryBudget& kv_budget;           // counts the KV memory as long as the runner lives
  std::optional<AssistantRequest> assistant = {};
};

}  // namespace octavo

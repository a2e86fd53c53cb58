// Weights and runners of the processor, loaded from a source in one call.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "cpu/cpu_runner.h"
#include "kernels/dispatch.h"
#include "model/assistant.h"

namespace octavo::test {

/// The weights that `config` needs, as the scalar kernels read them.
inline Result<Weights> load_weights(const ModelSource& source, const ModelConfig& config, ThreadPool& pool,
                                    bool repack = true, const MatrixTypes& types = {}) {
  OCTAVO_TRY(const WeightList list, WeightList::create(source, config, types));
  return Weights::load(source, list, kernel_table(IsaLevel::kScalar), pool, {}, {.repack = repack});
}

/// The level `auto` is the scalar one here.
inline Result<std::unique_ptr<CpuRunner>> load_cpu_runner(const ModelSource& source, ModelConfig config,
                                                          EngineOptions options, ThreadPool& pool, MemoryBudget& budget,
                                                          std::optional<AssistantRequest> assistant = {}) {
  OCTAVO_TRY(WeightList list, WeightList::create(source, config));
  OCTAVO_TRY(const IsaLevel isa, parse_isa(options.isa == "auto" ? "scalar" : options.isa));
  return CpuRunner::load({.source = source,
                          .config = std::move(config),
                          .weights = std::move(list),
                          .options = std::move(options),
                          .isa = isa,
                          .pool = pool,
                          .kv_budget = budget,
                          .assistant = std::move(assistant)});
}
/// An assistant that is attached to its model.
inline Result<AssistantRequest> assistant_of(const ModelConfig& model, const ModelSource& source) {
  OCTAVO_TRY(ModelConfig config, ModelConfig::load(source));
  OCTAVO_TRY_VOID(attach(config, model));
  OCTAVO_TRY(WeightList list, WeightList::create(source, config));
  return AssistantRequest{.source = source, .config = std::move(config), .weights = std::move(list)};
}
inline Result<std::unique_ptr<CpuRunner>> load_cpu_runner(const ModelSource& source, EngineOptions options,
                                                          ThreadPool& pool, MemoryBudget& budget) {
  OCTAVO_TRY(ModelConfig config, ModelConfig::load(source));
  return load_cpu_runner(source, std::move(config), std::move(options), pool, budget);
}

}  // namespace octavo::test

#include "engine/load/runner_factory.h"

#include <utility>

#include "cpu/cpu_runner.h"
#include "gpu/make_card_layers.h"

namespace octavo {

Result<std::unique_ptr<ModelRunner>> make_runner(RunnerRequest request) {
  OCTAVO_TRY(const MakeLeadingLayers make_leading, gpu::card_layers_for(request));
  OCTAVO_TRY(std::unique_ptr<ModelRunner> runner, CpuRunner::load(std::move(request), make_leading));
  return runner;
}

}  // namespace octavo

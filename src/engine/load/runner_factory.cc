#include "engine/load/runner_factory.h"

#include <utility>

#include "cpu/cpu_runner.h"
#include "gpu/make_card_stage.h"

namespace octavo {

Result<std::unique_ptr<ModelRunner>> make_runner(RunnerRequest request) {
  OCTAVO_TRY(const MakeStage make_stage, gpu::card_stage_for(request));
  OCTAVO_TRY(std::unique_ptr<ModelRunner> runner, CpuRunner::load(std::move(request), make_stage));
  return runner;
}

}  // namespace octavo

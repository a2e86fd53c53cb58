#include "engine/runner_factory.h"

#include <utility>

#include "cpu/cpu_runner.h"

namespace octavo {

Result<std::unique_ptr<ModelRunner>> make_runner(RunnerRequest request) {
  OCTAVO_TRY(std::unique_ptr<ModelRunner> runner, CpuRunner::load(std::move(request)));
  return runner;
}

}  // namespace octavo

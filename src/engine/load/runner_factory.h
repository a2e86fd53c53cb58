// Makes the runner of a model.
#pragma once

#include <memory>

#include "model/model_runner.h"
#include "model/runner_request.h"

namespace octavo {

/// Loads a model: the processor's runner, which may have a stage (stage/stage.h) on the device that the request's
/// options name. Errors: those of the device's load(). Throws std::system_error where the system refuses a thread.
Result<std::unique_ptr<ModelRunner>> make_runner(RunnerRequest request);

}  // namespace octavo

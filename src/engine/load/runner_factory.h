// Makes the runner of a device.
#pragma once

#include <memory>

#include "model/model_runner.h"
#include "model/runner_request.h"

namespace octavo {

/// Loads a model: the processor's runner, one of whose stages (stage/stage.h) may be on the device that the request's
/// options name. Errors are those of the device's load(); throws std::system_error where the system refuses a
/// thread.
Result<std::unique_ptr<ModelRunner>> make_runner(RunnerRequest request);

}  // namespace octavo

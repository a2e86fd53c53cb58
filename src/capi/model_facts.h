// Descriptions of a loaded model and its work, in the forms of the C interface. Free functions; any thread.
#pragma once

#include <string>

#include "octavo.h"
#include "octavo/engine.h"

namespace octavo::capi {

/// The JSON that octavo_info() gives.
std::string describe(const ModelInfo& info);
/// The counts that octavo_stats() gives; their `size` is not set.
octavo_counts counts_of(const EngineStats& stats, const ModelInfo& info);

}  // namespace octavo::capi

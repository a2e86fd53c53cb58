// What a model's file says of itself, for lists of models. A pure function; any thread.
#pragma once

#include <string_view>

#include "model/config.h"
#include "octavo/model_info.h"
#include "source/model_source.h"

namespace octavo {

/// `quantize`: the mix to which weights are quantized while they are loaded; empty: they are not.
ModelFile model_file(const ModelSource& source, const ModelConfig& config, std::string_view quantize);

}  // namespace octavo

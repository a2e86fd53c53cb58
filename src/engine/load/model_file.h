// What a model's file says of itself, for lists of models. A pure function; any thread.
#pragma once

#include <string_view>

#include "model/config.h"
#include "octavo/model_info.h"
#include "source/model_source.h"

namespace octavo {

/// `quantize`: the mix that the weights become as they are loaded; empty: none.
ModelFile model_file(const ModelSource& source, const ModelConfig& config, std::string_view quantize);

}  // namespace octavo

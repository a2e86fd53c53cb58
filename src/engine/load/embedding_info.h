// The vectors and scores that a model makes, by its description alone.
//
// A pure function; any thread.
#pragma once

#include <optional>

#include "model/config.h"
#include "octavo/embedding.h"

namespace octavo {

/// All but the named prompts. `pooling`: the option; none: the file's.
EmbeddingInfo embedding_info(const ModelConfig& config, std::optional<Pooling> pooling);

}  // namespace octavo

// The vectors and scores that a model makes, as far as its description tells.
//
// A pure function; any thread.
#pragma once

#include <optional>

#include "model/config.h"
#include "octavo/embedding.h"

namespace octavo {

/// All of EmbeddingInfo but the named prompts. `pooling`: the option's; none: the file's.
EmbeddingInfo embedding_info(const ModelConfig& config, std::optional<Pooling> pooling);

}  // namespace octavo

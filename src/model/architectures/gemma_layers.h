// The traits that the families of Gemma 2 to 4 have in common.
#pragma once

#include "model/config.h"

namespace octavo {

/// Sets norms after the parts of every layer, a gelu, and embeddings that are multiplied by the root of the width.
void make_gemma(ModelConfig& config);

/// Scales scores by the width over the heads in the 27B models of Gemma 2 and 3, which no key says: each is known by
/// its number of layers.
void scale_scores_of_27b(int layers_of_27b, ModelConfig& config);

}  // namespace octavo

// Decoding of one block of the types with codebooks, for dequantize.cc.
#pragma once

#include "tensor/quant_blocks.h"

namespace octavo {

/// Decodes the 256 weights of a block into `w`. The order of products is that of the Python package `gguf`.
void decode(const BlockIQ2_XXS& b, float* w);
void decode(const BlockIQ2_XS& b, float* w);
void decode(const BlockIQ2_S& b, float* w);
void decode(const BlockIQ3_XXS& b, float* w);
void decode(const BlockIQ3_S& b, float* w);
void decode(const BlockIQ1_S& b, float* w);
void decode(const BlockIQ1_M& b, float* w);

}  // namespace octavo

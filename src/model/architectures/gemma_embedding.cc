// EmbeddingGemma (Vera et al., 2025): Gemma 3 as an encoder, with two matrices after the mean.
#include "model/architectures/architectures.h"
#include "model/architectures/encoder_keys.h"

namespace octavo {

Result<void> read_gemma_embedding(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY_VOID(read_gemma3(keys, config));
  make_encoder(config);
  return {};
}

}  // namespace octavo

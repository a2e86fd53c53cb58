// Qwen 3.5 and 3.6, dense.
#include "model/architectures/architectures.h"
#include "model/architectures/qwen35_layers.h"

namespace octavo {

Result<void> read_qwen35(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(const LayerSpec layer, read_dense_layer(keys, config));
  return read_qwen35_layers(keys, layer, config);
}

}  // namespace octavo

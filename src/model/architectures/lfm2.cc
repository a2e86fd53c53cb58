// LFM2 and LFM2.5, dense (Liquid AI, 2025).
#include "model/architectures/architectures.h"
#include "model/architectures/lfm2_layers.h"

namespace octavo {

Result<void> read_lfm2(const ModelKeys& keys, ModelConfig& config) { return read_lfm2_layers(keys, config); }

}  // namespace octavo

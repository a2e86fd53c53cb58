// Nanbeige 4.2: Llama's layers run several times, each pass with keys and values of its own. The norm of the output
// comes after each pass, unless the file says otherwise.
#include <cstdint>

#include "model/architectures/architectures.h"
#include "model/architectures/llama_layer.h"

namespace octavo {
namespace {

constexpr std::int64_t kMostLayers = 1024;  // in all passes together

}  // namespace

Result<void> read_nanbeige(const ModelKeys& keys, ModelConfig& config) {
  constexpr std::string_view kPasses = "num_loops", kSkipsNorm = "skip_loop_final_norm";
  OCTAVO_TRY(const LayerSpec layer, read_llama_layer(keys, config));
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  OCTAVO_TRY(const int passes, keys.size_or(kPasses, 1));
  const int once = config.num_layers();
  if (passes > 1 && std::int64_t{passes} * once > kMostLayers)
    return fail("{}: {} is {} for {} layers, expected at most {} layers in all passes", keys.path(), keys.key(kPasses),
                passes, once, kMostLayers);
  std::vector<bool> skips_norm = {false};
  if (keys.has(kSkipsNorm)) {
    OCTAVO_TRY(skips_norm, keys.flags(kSkipsNorm, 1));
  }
  for (int i = once; i < once * passes; ++i) {
    if (i % once == 0) config.layers.back().ends_pass = !skips_norm[0];
    config.layers.push_back(layer);
    config.layers.back().repeats = i % once;
  }
  return {};
}

}  // namespace octavo

// Spark X2.5 (iFLYTEK, 2026): a gate of each head by its sigmoid, a feed-forward with GELU, and windows in the layers
// of a pattern, which may have other heads and rotate them by a base and in a number of dimensions of their own. The
// original's GELU has the error function, llama.cpp's the tanh.
#include "model/architectures/architectures.h"
#include "model/architectures/rope_keys.h"

namespace octavo {

Result<void> read_spark2_5(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY_VOID(read_equal_layers(keys, {}, config));
  const int num_layers = config.num_layers();
  OCTAVO_TRY(std::vector<AttentionSpec> attentions, read_attentions(keys, config));
  OCTAVO_TRY(const std::vector<int> widths, keys.sizes("feed_forward_length", num_layers));
  OCTAVO_TRY(const int window, keys.size("attention.sliding_window"));
  OCTAVO_TRY(const std::vector<bool> is_windowed, read_window_pattern(keys, {}, num_layers));
  for (std::size_t i = 0; i < attentions.size(); ++i) {
    AttentionSpec& attention = attentions[i];
    attention.output_gate = OutputGate{.function = GateFunction::kSigmoid, .is_of_heads = true};
    if (is_windowed[i]) {
      attention.window = window;
      OCTAVO_TRY(attention.rope, read_windowed_rope(keys, attention));
    }
    config.layers[i].mixer = attention;
    config.layers[i].feed_forward = DenseFfnSpec{.width = widths[i], .activation = Activation::kGelu};
  }
  take_no_factors_of_feed_forwards(config);
  return {};
}

}  // namespace octavo

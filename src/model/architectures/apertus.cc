// Apertus (Swiss AI Initiative, 2025): Llama's layers with norms of heads, and xIELU, whose numbers each layer has for
// itself, between the two matrices of a feed-forward.
#include <cmath>

#include "base/to_size.h"
#include "model/architectures/architectures.h"

namespace octavo {
namespace {

constexpr float kLargestNumber = 50;  // its exponential is far below the largest float

/// Reads a number for each of `count` layers: one number for all of them, or an array. These keys begin with no
/// architecture.
Result<std::vector<float>> read_numbers(const ModelSource& source, std::string_view key, int count) {
  const MetadataValue* value = source.find(key);
  if (value == nullptr || !std::holds_alternative<MetadataArray>(value->value)) {
    OCTAVO_TRY(const float of_all, source.get_f32(key));
    return std::vector<float>(to_size(count), of_all);
  }
  OCTAVO_TRY(std::vector<float> of_each, source.get_f32_array(key));
  if (of_each.size() != to_size(count))
    return fail("{}: {} has {} numbers, expected one for each of the {} layers", source.name(), key, of_each.size(),
                count);
  return of_each;
}

double softplus(Math math, double x) { return math.log1p(math.exp(x)); }

Result<void> read_xielu(const ModelKeys& keys, ModelConfig& config) {
  const ModelSource& source = keys.source();
  OCTAVO_TRY(const std::vector<float> above, read_numbers(source, "xielu.alpha_p", config.num_layers()));
  OCTAVO_TRY(const std::vector<float> below, read_numbers(source, "xielu.alpha_n", config.num_layers()));
  OCTAVO_TRY(const std::vector<float> slope, read_numbers(source, "xielu.beta", config.num_layers()));
  OCTAVO_TRY(const std::vector<float> most, read_numbers(source, "xielu.eps", config.num_layers()));
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    for (const std::vector<float>* numbers : {&above, &below, &slope, &most})
      if (!(std::abs((*numbers)[i]) <= kLargestNumber))
        return fail("{}: a number of xielu is {} for layer {}, expected one from {} to {}", source.name(),
                    (*numbers)[i], i, -kLargestNumber, kLargestNumber);
    std::get<DenseFfnSpec>(config.layers[i].feed_forward).xielu = {
        .above = static_cast<float>(softplus(keys.math(), static_cast<double>(above[i]))),
        .below = slope[i] + static_cast<float>(softplus(keys.math(), static_cast<double>(below[i]))),
        .slope = slope[i],
        .most = most[i]};
  }
  return {};
}

}  // namespace

Result<void> read_apertus(const ModelKeys& keys, ModelConfig& config) {
  OCTAVO_TRY(LayerSpec layer, read_dense_layer(keys, config));
  AttentionSpec& attention = *layer.attention();
  attention.qk_norm = Presence::kRequired;
  attention.output_bias = Presence::kOptional;
  if (attention.rope.factors == Presence::kAbsent) attention.rope.factors = Presence::kOptional;
  auto& dense = std::get<DenseFfnSpec>(layer.feed_forward);
  dense.activation = Activation::kXielu;
  dense.is_gated = false;
  dense.has_factors = false;
  OCTAVO_TRY_VOID(read_equal_layers(keys, layer, config));
  return read_xielu(keys, config);
}

}  // namespace octavo

#include "model/architectures/latent_keys.h"

#include <cmath>

#include "model/architectures/rope_keys.h"
#include "source/tensor_names.h"

namespace octavo {
namespace {

constexpr std::string_view kHeads = "attention.head_count", kKvHeads = "attention.head_count_kv";
constexpr std::string_view kKey = "attention.key_length", kValue = "attention.value_length";
constexpr std::string_view kOwnKey = "attention.key_length_mla", kOwnValue = "attention.value_length_mla";

Result<void> expect(const ModelKeys& keys, std::string_view suffix, int expected) {
  OCTAVO_TRY(const int found, keys.size_or(suffix, expected));
  if (found == expected) return {};
  return fail("{}: {} is {}, expected {} by the file's latent and its rotated part", keys.path(), keys.key(suffix),
              found, expected);
}

/// The dimensions of a head of Q and of its result.
Result<void> read_dims(const ModelKeys& keys, const ModelConfig& config, int num_heads, LatentSpec& latent) {
  const std::string_view key = latent.is_joint ? kKey : kOwnKey;
  OCTAVO_TRY(const int q_dim, keys.size(key));
  if (latent.rotated_dim % 2 != 0 || latent.rotated_dim >= q_dim)
    return fail("{}: {} is {}, expected an even number below {}, which is {}", keys.path(),
                keys.key("rope.dimension_count"), latent.rotated_dim, keys.key(key), q_dim);
  latent.plain_dim = q_dim - latent.rotated_dim;
  if (latent.is_joint) {
    OCTAVO_TRY(latent.value_dim, keys.has(kValue) || config.width % num_heads != 0
                                     ? keys.size(kValue)
                                     : Result<int>(config.width / num_heads));
    return {};
  }
  OCTAVO_TRY(latent.value_dim, keys.size(kOwnValue));
  return {};
}

Result<void> check_widths(const ModelKeys& keys, const AttentionSpec& attention) {
  const LatentSpec& latent = *attention.latent;
  for (const int dim : {attention.head_dim, latent.q_dim(), latent.plain_dim + latent.value_dim})
    if (static_cast<std::int64_t>(attention.num_heads) * dim > kMaxModelSize)
      return fail("{}: {} is {}: with heads of {} dimensions their product is over {}", keys.path(), keys.key(kHeads),
                  attention.num_heads, dim, kMaxModelSize);
  return {};
}

/// The stretch of a context by YaRN makes scores grow. Files have a tenth of the number that says how much (the
/// original's mscale_all_dim); where they have it, cosines and sines stay as they are.
Result<void> read_growth(const ModelKeys& keys, AttentionSpec& attention) {
  constexpr std::string_view kGrowth = "rope.scaling.yarn_log_multiplier";
  if (!attention.rope.scaling.yarn || !keys.has(kGrowth)) return {};
  OCTAVO_TRY(const double tenth, keys.not_negative(kGrowth));
  const double divisor = attention.rope.scaling.divisor;
  if (tenth == 0 || divisor <= 1) return {};
  const double growth = 1 + tenth * keys.math().log(divisor);
  attention.scale *= static_cast<float>(growth * growth);
  attention.rope.scaling.magnitude = 1;
  return {};
}

}  // namespace

Result<LayerSpec> read_latent_layer(const ModelKeys& keys, const ModelConfig& config, RopeLayout layout,
                                    std::optional<double> default_rope_base) {
  AttentionSpec attention{.num_kv_heads = 1, .rope = {}};
  LatentSpec latent;
  OCTAVO_TRY(attention.num_heads, keys.size(kHeads));
  OCTAVO_TRY(latent.rank, keys.size("attention.kv_lora_rank"));
  OCTAVO_TRY(latent.rotated_dim, keys.size("rope.dimension_count"));
  latent.is_joint = !keys.has(kOwnKey);
  OCTAVO_TRY_VOID(read_dims(keys, config, attention.num_heads, latent));
  // Some files name the width of a row that their Q is not made of.
  if (keys.source().find_tensor(tensor_names::of_layer(0, tensor_names::kQ)) == nullptr) {
    OCTAVO_TRY(latent.q_rank, keys.size("attention.q_lora_rank"));
  }
  attention.head_dim = latent.rank + latent.rotated_dim;
  attention.value_dim = latent.rank;
  OCTAVO_TRY_VOID(expect(keys, kKvHeads, latent.is_joint ? attention.num_heads : 1));
  if (!latent.is_joint) {
    OCTAVO_TRY_VOID(expect(keys, kKey, attention.head_dim));
    OCTAVO_TRY_VOID(expect(keys, kValue, latent.rank));
  }
  attention.latent = latent;
  OCTAVO_TRY_VOID(check_widths(keys, attention));
  attention.scale = 1.0F / std::sqrt(static_cast<float>(latent.q_dim()));
  OCTAVO_TRY(attention.rope, read_rope(keys, latent.rotated_dim, default_rope_base));
  attention.rope.layout = layout;
  OCTAVO_TRY_VOID(read_growth(keys, attention));
  LayerSpec layer;
  layer.mixer = attention;
  return layer;
}

}  // namespace octavo

// The names of a model's tensors in a file (gguf's naming: docs/gguf.md of ggml, gguf-py's constants.py).
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace octavo::tensor_names {

inline constexpr std::string_view kEmbedding = "token_embd.weight";
inline constexpr std::string_view kOutput = "output.weight", kOutputBias = "output.bias";
inline constexpr std::string_view kOutputNorm = "output_norm.weight", kOutputNormBias = "output_norm.bias";
inline constexpr std::string_view kPositions = "position_embd.weight", kTokenTypes = "token_types.weight";
inline constexpr std::string_view kEmbeddingNorm = "token_embd_norm.weight",
                                  kEmbeddingNormBias = "token_embd_norm.bias";
inline constexpr std::string_view kHeadDense = "cls.weight", kHeadDenseBias = "cls.bias", kHeadNorm = "cls.norm.weight";
inline constexpr std::string_view kScores = "cls.output.weight", kScoresBias = "cls.output.bias";
inline constexpr std::string_view kVectorUp = "dense_2.weight", kVector = "dense_3.weight";
inline constexpr std::string_view kRopeFactors = "rope_freqs.weight";
inline constexpr std::string_view kShortRopeFactors = "rope_factors_short.weight";
inline constexpr std::string_view kLongRopeFactors = "rope_factors_long.weight";
inline constexpr std::string_view kPreProjection = "nextn.pre_projection.weight",
                                  kPostProjection = "nextn.post_projection.weight";  // of an assistant
inline constexpr std::string_view kOfMaskedEmbedding = "masked_embd_";               // how its clusters of words begin
inline constexpr std::string_view kPerLayerTable = "per_layer_token_embd.weight";
inline constexpr std::string_view kPerLayerProjection = "per_layer_model_proj.weight";
inline constexpr std::string_view kPerLayerNorm = "per_layer_proj_norm.weight";

// Names of a layer's tensors, behind "blk.N.".
inline constexpr std::string_view kAttentionNorm = "attn_norm.weight", kAttentionNormBias = "attn_norm.bias";
inline constexpr std::string_view kQ = "attn_q.weight", kK = "attn_k.weight", kV = "attn_v.weight";
inline constexpr std::string_view kQkv = "attn_qkv.weight", kQkvBias = "attn_qkv.bias";  // the rows of Q, of K, of V
inline constexpr std::string_view kQBias = "attn_q.bias", kKBias = "attn_k.bias", kVBias = "attn_v.bias";
inline constexpr std::string_view kQNorm = "attn_q_norm.weight", kKNorm = "attn_k_norm.weight";
inline constexpr std::string_view kQDown = "attn_q_a.weight", kQDownNorm = "attn_q_a_norm.weight",
                                  kQUp = "attn_q_b.weight";
inline constexpr std::string_view kLatent = "attn_kv_a_mqa.weight", kLatentNorm = "attn_kv_a_norm.weight";
inline constexpr std::string_view kLatentKeys = "attn_k_b.weight", kLatentValues = "attn_v_b.weight",
                                  kLatentKeysAndValues = "attn_kv_b.weight";  // each head's keys, then its values
inline constexpr std::string_view kSinks = "attn_sinks.weight";
inline constexpr std::string_view kAttentionOutput = "attn_output.weight", kAttentionOutputBias = "attn_output.bias";
inline constexpr std::string_view kPostAttentionNorm = "post_attention_norm.weight";
inline constexpr std::string_view kGateOfMixer = "attn_gate.weight";  // of attention or of a delta net
inline constexpr std::string_view kConvolution = "ssm_conv1d.weight", kConvolutionBias = "ssm_conv1d.bias";
inline constexpr std::string_view kDecay = "ssm_alpha.weight", kDecayBias = "ssm_dt.bias", kDecayScale = "ssm_a";
inline constexpr std::string_view kBeta = "ssm_beta.weight", kBetaAndDecay = "ssm_ba.weight";
inline constexpr std::string_view kMambaInput = "ssm_in.weight";  // the rows of the gate, of x, b and c, of steps
inline constexpr std::string_view kMambaSkip = "ssm_d";
inline constexpr std::string_view kShortConvInput = "shortconv.in_proj.weight";  // the rows of b, of c, of v
inline constexpr std::string_view kShortConvTaps = "shortconv.conv.weight",
                                  kShortConvOutput = "shortconv.out_proj.weight";
inline constexpr std::string_view kDeltaNorm = "ssm_norm.weight", kDeltaOutput = "ssm_out.weight";
inline constexpr std::string_view kMixerSumNorm = "attn_output_norm.weight", kMixerSumBias = "attn_output_norm.bias";
inline constexpr std::string_view kFfnSumNorm = "layer_output_norm.weight", kFfnSumBias = "layer_output_norm.bias";
inline constexpr std::string_view kFfnNorm = "ffn_norm.weight", kFfnNormBias = "ffn_norm.bias";
inline constexpr std::string_view kBareFfnNorm = "ffn_norm";
inline constexpr std::string_view kGate = "ffn_gate.weight", kUp = "ffn_up.weight", kDown = "ffn_down.weight";
inline constexpr std::string_view kGateBias = "ffn_gate.bias", kUpBias = "ffn_up.bias", kDownBias = "ffn_down.bias";
inline constexpr std::string_view kRouter = "ffn_gate_inp.weight", kRouterBias = "ffn_gate_inp.bias";
inline constexpr std::string_view kChoiceBias = "exp_probs_b.bias", kBareChoiceBias = "exp_probs_b";
inline constexpr std::string_view kGateOfExperts = "ffn_gate_exps.weight", kUpOfExperts = "ffn_up_exps.weight",
                                  kDownOfExperts = "ffn_down_exps.weight";
inline constexpr std::string_view kLatentDown = "ffn_latent_down.weight", kLatentUp = "ffn_latent_up.weight";
inline constexpr std::string_view kGateUpOfExperts = "ffn_gate_up_exps.weight";  // each expert's gate, then its up
inline constexpr std::string_view kResultScales = "ffn_down_exps.scale";
inline constexpr std::string_view kRouterNorm = "ffn_gate_inp.scale", kExpertsNorm = "pre_ffw_norm_2.weight",
                                  kPostExpertsNorm = "post_ffw_norm_2.weight",
                                  kPostSharedNorm = "post_ffw_norm_1.weight";
inline constexpr std::string_view kSharedExpertGate = "ffn_gate_inp_shexp.weight";
inline constexpr std::string_view kGateOfSharedExpert = "ffn_gate_shexp.weight",
                                  kUpOfSharedExpert = "ffn_up_shexp.weight",
                                  kDownOfSharedExpert = "ffn_down_shexp.weight";
inline constexpr std::string_view kPostFfnNorm = "post_ffw_norm.weight";
inline constexpr std::string_view kPerLayerGate = "inp_gate.weight", kPerLayerUp = "proj.weight",
                                  kPerLayerPostNorm = "post_norm.weight";
inline constexpr std::string_view kOutputScale = "layer_output_scale.weight";
// Names of a layer of prediction alone, likewise.
inline constexpr std::string_view kHeadProjection = "nextn.eh_proj.weight";
inline constexpr std::string_view kHeadEmbeddingNorm = "nextn.enorm.weight", kHeadHiddenNorm = "nextn.hnorm.weight";
inline constexpr std::string_view kHeadEmbedding = "nextn.embed_tokens.weight";
inline constexpr std::string_view kHeadOutput = "nextn.shared_head_head.weight",
                                  kHeadOutputNorm = "nextn.shared_head_norm.weight";

inline std::string of_layer(int layer, std::string_view name) { return fmt::format("blk.{}.{}", layer, name); }

struct OfLayer {
  int layer;
  std::string_view name;  // behind "blk.N."
};
/// The parts of a name of of_layer(); none for names of another form.
inline std::optional<OfLayer> split(std::string_view tensor) {
  constexpr std::string_view kPrefix = "blk.";
  if (!tensor.starts_with(kPrefix)) return std::nullopt;
  int layer = 0;
  const char* end = tensor.data() + tensor.size();
  const auto [rest, error] = std::from_chars(tensor.data() + kPrefix.size(), end, layer);
  if (error != std::errc() || rest == end || *rest != '.' || layer < 0) return std::nullopt;
  return OfLayer{layer, std::string_view(rest + 1, end)};
}

}  // namespace octavo::tensor_names

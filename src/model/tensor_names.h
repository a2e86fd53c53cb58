// The names of a model's tensors in a file (gguf's naming: docs/gguf.md of ggml, gguf-py's constants.py).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace octavo::tensor_names {

inline constexpr std::string_view kEmbedding = "token_embd.weight";
inline constexpr std::string_view kOutput = "output.weight";
inline constexpr std::string_view kOutputNorm = "output_norm.weight";
inline constexpr std::string_view kRopeFactors = "rope_freqs.weight";

// Of a layer, behind "blk.N.".
inline constexpr std::string_view kAttentionNorm = "attn_norm.weight";
inline constexpr std::string_view kQ = "attn_q.weight", kK = "attn_k.weight", kV = "attn_v.weight";
inline constexpr std::string_view kQBias = "attn_q.bias", kKBias = "attn_k.bias", kVBias = "attn_v.bias";
inline constexpr std::string_view kQNorm = "attn_q_norm.weight", kKNorm = "attn_k_norm.weight";
inline constexpr std::string_view kSinks = "attn_sinks.weight";
inline constexpr std::string_view kAttentionOutput = "attn_output.weight", kAttentionOutputBias = "attn_output.bias";
inline constexpr std::string_view kPostAttentionNorm = "post_attention_norm.weight";
inline constexpr std::string_view kDeltaQkv = "attn_qkv.weight", kDeltaGate = "attn_gate.weight";
inline constexpr std::string_view kConvolution = "ssm_conv1d.weight";
inline constexpr std::string_view kDecay = "ssm_alpha.weight", kDecayBias = "ssm_dt.bias", kDecayScale = "ssm_a";
inline constexpr std::string_view kBeta = "ssm_beta.weight";
inline constexpr std::string_view kDeltaNorm = "ssm_norm.weight", kDeltaOutput = "ssm_out.weight";
inline constexpr std::string_view kFfnNorm = "ffn_norm.weight";
inline constexpr std::string_view kGate = "ffn_gate.weight", kUp = "ffn_up.weight", kDown = "ffn_down.weight";
inline constexpr std::string_view kRouter = "ffn_gate_inp.weight";
inline constexpr std::string_view kGateOfExperts = "ffn_gate_exps.weight", kUpOfExperts = "ffn_up_exps.weight",
                                  kDownOfExperts = "ffn_down_exps.weight";
inline constexpr std::string_view kPostFfnNorm = "post_ffw_norm.weight";

inline std::string of_layer(int layer, std::string_view name) { return fmt::format("blk.{}.{}", layer, name); }

}  // namespace octavo::tensor_names

// The rows of hybrids with Mamba-2 in the table of families (families.cc).
#pragma once

#include "source/folder/family.h"
#include "source/folder/family_keys.h"

namespace octavo {

inline constexpr TensorName kMambaNames[] = {
    {"mamba.in_proj", "ssm_in"},
    {"mamba.conv1d.weight", "ssm_conv1d.weight", TensorForm::kShortConvolution},
    {"mamba.conv1d.bias", "ssm_conv1d.bias"},
    {"mamba.dt_bias", "ssm_dt.bias"},
    {"mamba.A_log", "ssm_a", TensorForm::kDecayColumn},
    {"mamba.D", "ssm_d", TensorForm::kColumn},
    {"mamba.norm.weight", "ssm_norm.weight", TensorForm::kGroupNorm},
    {"mamba.out_proj", "ssm_out"},
};

inline constexpr TensorName kGraniteHybridOwnNames[] = {
    {"shared_mlp.input_linear.weight", "ffn_gate_shexp.weight", TensorForm::kGateThenUpRows},
    {"shared_mlp.output_linear.weight", "ffn_down_shexp.weight", TensorForm::kDownRows},
    // with experts, under the names of the hub and of transformers 5
    {"block_sparse_moe.router.layer", "ffn_gate_inp"},
    {"block_sparse_moe.input_linear.weight", "ffn_gate_exps.weight", TensorForm::kGateThenUp},
    {"block_sparse_moe.output_linear.weight", "ffn_down_exps.weight"},
    {"block_sparse_moe.router", "ffn_gate_inp"},
    {"block_sparse_moe.experts.gate_up_proj", "ffn_gate_exps.weight", TensorForm::kGateThenUp},
    {"block_sparse_moe.experts.down_proj", "ffn_down_exps.weight"},
};
inline constexpr auto kGraniteHybridNames = rows_of_both(kMambaNames, kGraniteHybridOwnNames);
inline constexpr Family kGraniteHybrid = {.model = "GraniteMoeHybridForCausalLM",
                                          .architecture = "granitehybrid",
                                          .add_keys = add_granitehybrid_keys,
                                          .own_names = kGraniteHybridNames,
                                          .pairs_neighbours = true};
inline constexpr TensorName kFalconOwnNames[] = {
    {"feed_forward.gate_proj", "ffn_gate"},
    {"feed_forward.up_proj", "ffn_up"},
    {"feed_forward.down_proj", "ffn_down"},
    {"pre_ff_layernorm.weight", "ffn_norm"},
};
inline constexpr auto kFalconNames = rows_of_both(kMambaNames, kFalconOwnNames);
inline constexpr TensorName kFalconWholeNames[] = {{"model.final_layernorm.weight", "output_norm.weight"}};
inline constexpr Family kFalconH1 = {.model = "FalconH1ForCausalLM",
                                     .architecture = "falcon-h1",
                                     .add_keys = add_falcon_h1_keys,
                                     .own_names = kFalconNames,
                                     .own_whole_names = kFalconWholeNames,
                                     .row_factors = falcon_h1_row_factors};
inline constexpr TensorName kNemotronNames[] = {
    {"norm", "attn_norm"},
    {"mixer.in_proj", "ssm_in"},
    {"mixer.conv1d.weight", "ssm_conv1d.weight", TensorForm::kShortConvolution},
    {"mixer.conv1d.bias", "ssm_conv1d.bias"},
    {"mixer.dt_bias", "ssm_dt.bias"},
    {"mixer.A_log", "ssm_a", TensorForm::kDecayColumn},
    {"mixer.D", "ssm_d", TensorForm::kColumn},
    {"mixer.norm.weight", "ssm_norm.weight", TensorForm::kGroupNorm},
    {"mixer.out_proj", "ssm_out"},
    {"mixer.q_proj", "attn_q"},
    {"mixer.k_proj", "attn_k"},
    {"mixer.v_proj", "attn_v"},
    {"mixer.o_proj", "attn_output"},
    {"mixer.up_proj", "ffn_up"},
    {"mixer.down_proj", "ffn_down"},
    // with experts
    {"mixer.gate.weight", "ffn_gate_inp.weight"},
    {"mixer.gate.e_score_correction_bias", "exp_probs_b.bias", TensorForm::kVector},
    {"mixer.experts.up_proj", "ffn_up_exps.weight"},
    {"mixer.experts.down_proj", "ffn_down_exps.weight"},
    {"mixer.fc1_latent_proj", "ffn_latent_down"},
    {"mixer.fc2_latent_proj", "ffn_latent_up"},
    {"mixer.shared_experts.up_proj", "ffn_up_shexp"},
    {"mixer.shared_experts.down_proj", "ffn_down_shexp"},
};
inline constexpr TensorName kNemotronWholeNames[] = {{"embeddings.weight", "token_embd.weight"},
                                                     {"norm_f.weight", "output_norm.weight"}};
inline constexpr Family kNemotronH = {.model = "NemotronHForCausalLM",
                                      .architecture = "nemotron_h",
                                      .add_keys = add_nemotron_h_keys,
                                      .own_names = kNemotronNames,
                                      .own_whole_names = kNemotronWholeNames,
                                      .layers = "layers.",
                                      .base = "model.",
                                      .old_base = "backbone."};

}  // namespace octavo

#include <algorithm>

#include "base/joined.h"
#include "source/folder/family_keys.h"
#include "source/folder/mamba_families.h"

namespace octavo {
namespace {

constexpr TensorName kDeltaNames[] = {
    {"linear_attn.in_proj_qkv", "attn_qkv", TensorForm::kValueHeadsBehindKeys},
    {"linear_attn.in_proj_z", "attn_gate", TensorForm::kValueHeads},
    {"linear_attn.in_proj_a", "ssm_alpha", TensorForm::kValueHeads},
    {"linear_attn.in_proj_b", "ssm_beta", TensorForm::kValueHeads},
    {"linear_attn.conv1d", "ssm_conv1d", TensorForm::kConvolution},
    {"linear_attn.dt_bias", "ssm_dt.bias", TensorForm::kValueHeads},
    {"linear_attn.A_log", "ssm_a", TensorForm::kDecay},
    {"linear_attn.norm", "ssm_norm"},
    {"linear_attn.out_proj", "ssm_out", TensorForm::kValueHeadColumns},
};

constexpr TensorName kQwen3NextNames[] = {
    {"linear_attn.in_proj_qkvz", "attn_qkv", TensorForm::kByKeyHead},
    {"linear_attn.in_proj_ba", "ssm_ba"},
    {"linear_attn.conv1d", "ssm_conv1d", TensorForm::kConvolution},
    {"linear_attn.dt_bias", "ssm_dt.bias", TensorForm::kValueHeads},
    {"linear_attn.A_log", "ssm_a", TensorForm::kDecay},
    {"linear_attn.norm", "ssm_norm"},
    {"linear_attn.out_proj", "ssm_out"},
};

constexpr TensorName kGptOssNames[] = {
    {"self_attn.sinks", "attn_sinks.weight"},
    {"mlp.router", "ffn_gate_inp"},
    {"mlp.experts.gate_up_proj", "ffn_gate_exps.weight", TensorForm::kTransposedGateAndUp},
    {"mlp.experts.gate_up_proj_blocks", "ffn_gate_exps.weight", TensorForm::kCodesOfGateAndUp},
    {"mlp.experts.gate_up_proj_scales", "ffn_gate_exps.weight", TensorForm::kScales},
    {"mlp.experts.gate_up_proj_bias", "ffn_gate_exps.bias", TensorForm::kGateAndUpBiases},
    {"mlp.experts.down_proj", "ffn_down_exps.weight", TensorForm::kTransposed},
    {"mlp.experts.down_proj_blocks", "ffn_down_exps.weight", TensorForm::kCodes},
    {"mlp.experts.down_proj_scales", "ffn_down_exps.weight", TensorForm::kScales},
    {"mlp.experts.down_proj_bias", "ffn_down_exps.bias"},
};

constexpr TensorName kGemma4Names[] = {
    {"per_layer_input_gate", "inp_gate"},
    {"per_layer_projection", "proj"},
    {"post_per_layer_input_norm", "post_norm"},
    {"layer_scalar", "layer_output_scale.weight"},
    // with experts
    {"router.proj", "ffn_gate_inp"},
    {"router.scale", "ffn_gate_inp.scale"},
    {"router.per_expert_scale", "ffn_down_exps.scale"},
    {"experts.gate_up_proj", "ffn_gate_up_exps.weight"},
    {"experts.down_proj", "ffn_down_exps.weight"},
    {"pre_feedforward_layernorm_2", "pre_ffw_norm_2"},
    {"post_feedforward_layernorm_1", "post_ffw_norm_1"},
    {"post_feedforward_layernorm_2", "post_ffw_norm_2"},
};

constexpr Family kLlama = {
    .model = "LlamaForCausalLM", .architecture = "llama", .add_keys = add_llama_keys, .pairs_neighbours = true};
constexpr Family kMistral3 = {.model = "Ministral3ForCausalLM",
                              .architecture = "mistral3",
                              .add_keys = add_mistral3_keys,
                              .pairs_neighbours = true};
constexpr Family kQwen35 = {.model = "Qwen3_5ForCausalLM",
                            .architecture = "qwen35",
                            .add_keys = add_qwen35_keys,
                            .own_names = kDeltaNames,
                            .adds_one_to_norms = true,
                            .has_norms_behind = true};
constexpr Family kQwen35Moe = {.model = "Qwen3_5MoeForCausalLM",
                               .architecture = "qwen35moe",
                               .add_keys = add_qwen35moe_keys,
                               .own_names = kDeltaNames,
                               .adds_one_to_norms = true,
                               .has_norms_behind = true};
constexpr Family kGptOss = {.model = "GptOssForCausalLM",
                            .architecture = "gpt-oss",
                            .add_keys = add_gpt_oss_keys,
                            .own_names = kGptOssNames,
                            .has_norms_behind = true,
                            .has_mxfp4 = true};
constexpr Family kGemma2 = {.model = "Gemma2ForCausalLM",
                            .architecture = "gemma2",
                            .add_keys = add_gemma2_keys,
                            .adds_one_to_norms = true,
                            .has_norms_behind = true};
constexpr Family kGemma3 = {.model = "Gemma3ForCausalLM",
                            .architecture = "gemma3",
                            .add_keys = add_gemma3_keys,
                            .adds_one_to_norms = true,
                            .has_norms_behind = true};
constexpr Family kGemma4 = {.model = "Gemma4ForCausalLM",
                            .architecture = "gemma4",
                            .add_keys = add_gemma4_keys,
                            .own_names = kGemma4Names,
                            .rope_factors = gemma4_rope_factors,
                            .has_norms_behind = true};

constexpr TensorName kSeedOssNames[] = {{"post_attention_layernorm", "post_attention_norm"}};
constexpr TensorName kHunyuanNames[] = {{"self_attn.query_layernorm", "attn_q_norm"},
                                        {"self_attn.key_layernorm", "attn_k_norm"}};
constexpr TensorName kGlm4Names[] = {{"post_self_attn_layernorm", "post_attention_norm"},
                                     {"post_attention_layernorm", "ffn_norm"},
                                     {"post_mlp_layernorm", "post_ffw_norm"},
                                     {"mlp.gate_up_proj", "ffn_up"}};
constexpr Family kOlmo2 = {
    .model = "Olmo2ForCausalLM", .architecture = "olmo2", .add_keys = add_olmo_keys, .has_norms_behind = true};

constexpr TensorName kPhi3Names[] = {{"self_attn.qkv_proj", "attn_qkv"}, {"mlp.gate_up_proj", "ffn_up"}};
constexpr TensorName kStarcoder2Names[] = {{"mlp.c_fc", "ffn_up"}, {"mlp.c_proj", "ffn_down"}};
constexpr TensorName kLastNormNames[] = {{"model.norm", "output_norm"}};  // with a bias
constexpr TensorName kApertusNames[] = {{"attention_layernorm", "attn_norm"}, {"feedforward_layernorm", "ffn_norm"}};
constexpr TensorName kXieluNumbers[] = {{"mlp.act_fn.alpha_p", "xielu.alpha_p"},
                                        {"mlp.act_fn.alpha_n", "xielu.alpha_n"},
                                        {"mlp.act_fn.beta", "xielu.beta"},
                                        {"mlp.act_fn.eps", "xielu.eps"}};
constexpr TensorName kMuseGlimmerNames[] = {{"self_attn.gate_proj", "attn_gate"}};
constexpr Family kQwen2Vl = {.model = "Qwen2VLForConditionalGeneration",
                             .architecture = "qwen2vl",
                             .add_keys = add_qwen3vl_keys,
                             .has_other_parts = true};
constexpr Family kMuseGlimmer = {.model = "MuseGlimmerForConditionalGeneration",
                                 .architecture = "muse-glimmer",
                                 .add_keys = add_muse_glimmer_keys,
                                 .own_names = kMuseGlimmerNames,
                                 .made_vectors = muse_glimmer_head_norms,
                                 .pairs_neighbours = true,
                                 .adds_one_to_norms = true,
                                 .keeps_last_norm = true,
                                 .has_norms_behind = true,
                                 .has_other_parts = true};

constexpr TensorName kLfm2Names[] = {
    {"operator_norm", "attn_norm"},
    {"self_attn.out_proj", "attn_output"},
    {"self_attn.q_layernorm", "attn_q_norm"},
    {"self_attn.k_layernorm", "attn_k_norm"},
    {"conv.in_proj.weight", "shortconv.in_proj.weight"},
    {"conv.conv.weight", "shortconv.conv.weight", TensorForm::kShortConvolution},
    {"conv.out_proj.weight", "shortconv.out_proj.weight"},
    {"ffn_norm", "ffn_norm"},
    {"feed_forward.w1", "ffn_gate"},
    {"feed_forward.w3", "ffn_up"},
    {"feed_forward.w2", "ffn_down"},
    // of LFM3
    {"self_attn.g_proj", "attn_gate"},
    {"post_operator_norm", "post_attention_norm"},
    {"post_ffn_norm", "post_ffw_norm"},
};
constexpr TensorName kLfm2WholeNames[] = {{"model.embedding_norm.weight", "token_embd_norm.weight"}};
constexpr Family kLfm2 = {.model = "Lfm2ForCausalLM",
                          .architecture = "lfm2",
                          .add_keys = add_lfm2_keys,
                          .own_names = kLfm2Names,
                          .own_whole_names = kLfm2WholeNames,
                          .ties_output = true};
constexpr Family kLfm3 = {.model = "Lfm3ForCausalLM",
                          .architecture = "lfm3",
                          .add_keys = add_lfm3_keys,
                          .own_names = kLfm2Names,
                          .own_whole_names = kLfm2WholeNames,
                          .rope_factors = lfm3_rope_factors,
                          .ties_output = true};
constexpr TensorName kErnieNames[] = {
    {"mlp.gate.moe_statics.e_score_correction_bias", "exp_probs_b.bias", TensorForm::kVector},
    {"mlp.moe_statics.e_score_correction_bias", "exp_probs_b.bias", TensorForm::kVector},
};
constexpr TensorName kLagunaNames[] = {
    {"self_attn.g_proj", "attn_gate"},
    // as the checkpoint of the hub has them
    {"mlp.experts.e_score_correction_bias", "exp_probs_b.bias", TensorForm::kVector},
};
constexpr TensorName kLing2Names[] = {
    {"attention.query_key_value", "attn_qkv"},
    {"attention.dense", "attn_output"},
    {"attention.query_layernorm", "attn_q_norm"},
    {"attention.key_layernorm", "attn_k_norm"},
    {"mlp.gate.expert_bias", "exp_probs_b.bias", TensorForm::kVector},
};
constexpr TensorName kLing2WholeNames[] = {{"model.word_embeddings.weight", "token_embd.weight"}};
constexpr TensorName kSparkNames[] = {
    {"self_attn.q_k_v_proj", "attn_qkv"}, {"self_attn.out_proj", "attn_output"}, {"self_attn.g_proj", "attn_gate"}};
constexpr TensorName kSparkWholeNames[] = {{"model.embedding.weight", "token_embd.weight"}};
constexpr TensorName kHunyuan3Names[] = {
    {"mlp.e_score_correction_bias", "exp_probs_b", TensorForm::kVector},
    // as the checkpoint of the hub has them
    {"mlp.router.gate", "ffn_gate_inp"},
    {"mlp.expert_bias", "exp_probs_b", TensorForm::kVector},
    {"mlp.shared_mlp.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_mlp.up_proj", "ffn_up_shexp"},
    {"mlp.shared_mlp.down_proj", "ffn_down_shexp"},
};
// The hub's experts are transposed, and those that transformers 5 saves are not.
constexpr TensorName kTransposedExpertsNames[] = {
    {"mlp.experts.gate_up_proj", "ffn_gate_exps.weight", TensorForm::kGateThenUpOfEither},
    {"mlp.experts.down_proj", "ffn_down_exps.weight", TensorForm::kDownOfEither},
};
constexpr TensorName kLowRankNames[] = {
    {"self_attn.q_a_proj", "attn_q_a"},
    {"self_attn.q_a_layernorm", "attn_q_a_norm"},
    {"self_attn.q_b_proj", "attn_q_b"},
    {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
    {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
};
constexpr TensorName kDeepSeekNames[] = {
    {"self_attn.kv_b_proj.weight", "attn_k_b.weight", TensorForm::kKeysThenValues}};
constexpr auto kLatentNames = rows_of_both(kLowRankNames, kDeepSeekNames);
constexpr TensorName kMiniCpm3OwnNames[] = {{"self_attn.kv_b_proj", "attn_kv_b"}};
constexpr auto kMiniCpm3Names = rows_of_both(kLowRankNames, kMiniCpm3OwnNames);
constexpr Family kDeepSeekV3 = {.model = "DeepseekV3ForCausalLM",
                                .architecture = "deepseek2",
                                .add_keys = add_deepseek_v3_keys,
                                .own_names = kLatentNames,
                                .has_layers_behind = true};
constexpr Family kMistral4 = {.model = "Mistral4ForCausalLM",
                              .architecture = "mistral4",
                              .add_keys = add_mistral4_keys,
                              .own_names = kLatentNames};
constexpr Family kQwen3Next = {.model = "Qwen3NextForCausalLM",
                               .architecture = "qwen3next",
                               .add_keys = add_qwen3next_keys,
                               .own_names = kQwen3NextNames,
                               .adds_one_to_norms = true,
                               .keeps_value_heads = true,
                               .has_norms_behind = true};
constexpr Family kGlm4Moe = {.model = "Glm4MoeForCausalLM",
                             .architecture = "glm4moe",
                             .add_keys = add_glm4moe_keys,
                             .has_norms_behind = true,
                             .has_layers_behind = true};
constexpr Family kHunyuan3 = {.model = "HYV3ForCausalLM",
                              .architecture = "hy_v3",
                              .add_keys = add_hy_v3_keys,
                              .own_names = kHunyuan3Names,
                              .has_layers_behind = true};

constexpr TensorName kLlama4Names[] = {
    {"feed_forward.gate_proj", "ffn_gate"},
    {"feed_forward.up_proj", "ffn_up"},
    {"feed_forward.down_proj", "ffn_down"},
    {"feed_forward.router", "ffn_gate_inp"},
    {"feed_forward.experts.gate_up_proj", "ffn_gate_exps.weight", TensorForm::kTransposedGateThenUp},
    {"feed_forward.experts.down_proj", "ffn_down_exps.weight", TensorForm::kTransposed},
    {"feed_forward.shared_expert.gate_proj", "ffn_gate_shexp"},
    {"feed_forward.shared_expert.up_proj", "ffn_up_shexp"},
    {"feed_forward.shared_expert.down_proj", "ffn_down_shexp"},
};
constexpr Family kLlama4 = {
    .model = "Llama4ForCausalLM", .architecture = "llama4", .add_keys = add_llama4_keys, .own_names = kLlama4Names};

constexpr TensorName kStep35Names[] = {
    {"self_attn.g_proj", "attn_gate"},
    // as the checkpoint of the hub has them
    {"moe.gate", "ffn_gate_inp"},
    {"moe.router_bias", "exp_probs_b.bias", TensorForm::kVector},
    {"moe.gate_proj", "ffn_gate_exps"},
    {"moe.up_proj", "ffn_up_exps"},
    {"moe.down_proj", "ffn_down_exps"},
    {"share_expert.gate_proj", "ffn_gate_shexp"},
    {"share_expert.up_proj", "ffn_up_shexp"},
    {"share_expert.down_proj", "ffn_down_shexp"},
};
constexpr Family kStep35 = {.model = "Step3p5ForCausalLM",
                            .architecture = "step35",
                            .add_keys = add_step35_keys,
                            .own_names = kStep35Names,
                            .rope_factors = step35_rope_factors,
                            .adds_one_to_norms = true,
                            .has_layers_behind = true};

constexpr TensorName kBertNames[] = {
    {"attention.self.query", "attn_q"},
    {"attention.self.key", "attn_k"},
    {"attention.self.value", "attn_v"},
    {"attention.output.dense", "attn_output"},
    {"attention.output.LayerNorm", "attn_output_norm"},
    {"intermediate.dense", "ffn_up"},
    {"output.dense", "ffn_down"},
    {"output.LayerNorm", "layer_output_norm"},
};
constexpr TensorName kBertWholeNames[] = {
    {"embeddings.word_embeddings.weight", "token_embd.weight"},
    {"embeddings.position_embeddings.weight", "position_embd.weight"},
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"embeddings.LayerNorm", "token_embd_norm"},
    {"pooler.dense", "cls"},
    {"classifier.weight", "cls.output.weight"},
    {"classifier.bias", "cls.output.bias"},
};
constexpr TensorName kRobertaWholeNames[] = {
    {"embeddings.word_embeddings.weight", "token_embd.weight"},
    {"embeddings.position_embeddings.weight", "position_embd.weight", TensorForm::kBehindPadding},
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"embeddings.LayerNorm", "token_embd_norm"},
    {"pooler.dense", "cls"},
    {"classifier.dense", "cls"},
    {"classifier.out_proj.weight", "cls.output.weight"},
    {"classifier.out_proj.bias", "cls.output.bias"},
};
constexpr TensorName kModernBertNames[] = {{"attn.Wqkv", "attn_qkv"},  {"attn.Wo", "attn_output"},
                                           {"attn_norm", "attn_norm"}, {"mlp.Wi", "ffn_up"},
                                           {"mlp.Wo", "ffn_down"},     {"mlp_norm", "ffn_norm"}};
constexpr TensorName kModernBertWholeNames[] = {
    {"embeddings.tok_embeddings.weight", "token_embd.weight"},
    {"embeddings.norm", "token_embd_norm"},
    {"final_norm", "output_norm"},
    {"head.dense", "cls"},
    {"head.norm.weight", "cls.norm.weight"},
    {"classifier.weight", "cls.output.weight"},
    {"classifier.bias", "cls.output.bias"},
};
constexpr Family kBert = {.model = "BertModel",
                          .architecture = "bert",
                          .add_keys = add_bert_keys,
                          .own_names = kBertNames,
                          .own_whole_names = kBertWholeNames,
                          .layers = "encoder.layer.",
                          .base = "bert.",
                          .is_encoder = true};
constexpr Family kRoberta = {.model = "XLMRobertaModel",
                             .architecture = "bert",
                             .add_keys = add_roberta_keys,
                             .own_names = kBertNames,
                             .own_whole_names = kRobertaWholeNames,
                             .layers = "encoder.layer.",
                             .base = "roberta.",
                             .is_encoder = true};
constexpr Family kModernBert = {.model = "ModernBertModel",
                                .architecture = "modern-bert",
                                .add_keys = add_modern_bert_keys,
                                .own_names = kModernBertNames,
                                .own_whole_names = kModernBertWholeNames,
                                .layers = "layers.",
                                .base = "model.",
                                .is_encoder = true};

constexpr TensorName kRotaryBertNames[] = {
    {"post_attention_layernorm", "attn_output_norm"},
    {"post_mlp_layernorm", "layer_output_norm"},
    {"mlp.fc1", "ffn_up"},
    {"mlp.fc2", "ffn_down"},
    // as Nomic's own code saves them
    {"attn.Wqkv", "attn_qkv"},
    {"attn.out_proj", "attn_output"},
    {"norm1", "attn_output_norm"},
    {"norm2", "layer_output_norm"},
    {"mlp.fc11", "ffn_up"},
    {"mlp.fc12", "ffn_gate"},
};
constexpr TensorName kRotaryBertWholeNames[] = {
    {"embeddings.word_embeddings.weight", "token_embd.weight"},
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"embeddings.LayerNorm", "token_embd_norm"},
    {"emb_ln", "token_embd_norm"},
    {"pooler.dense", "cls"},
};
constexpr Family kNomicBert = {.model = "NomicBertModel",
                               .architecture = "nomic-bert",
                               .add_keys = add_nomic_bert_keys,
                               .own_names = kRotaryBertNames,
                               .own_whole_names = kRotaryBertWholeNames,
                               .layers = "layers.",
                               .base = "encoder.",
                               .is_encoder = true};
constexpr Family kJinaBertV3 = {.model = "JinaEmbeddingsV3Model",
                                .architecture = "jina-bert-v3",
                                .add_keys = add_jina_bert_v3_keys,
                                .own_names = kRotaryBertNames,
                                .own_whole_names = kRotaryBertWholeNames,
                                .layers = "layers.",
                                .is_encoder = true};
constexpr Family kGemmaEmbedding = {.model = "Gemma3TextModel",
                                    .architecture = "gemma-embedding",
                                    .add_keys = add_gemma_embedding_keys,
                                    .adds_one_to_norms = true,
                                    .has_norms_behind = true};
constexpr TensorName kScoreNames[] = {{"score.weight", "cls.output.weight"}};
constexpr Family kQwen3Ranks = {.model = "Qwen3ForSequenceClassification",
                                .architecture = "qwen3",
                                .add_keys = add_qwen_keys,
                                .own_whole_names = kScoreNames,
                                .is_encoder = true};
constexpr Family kQwen3Vl = {.model = "Qwen3VLForConditionalGeneration",
                             .architecture = "qwen3vl",
                             .add_keys = add_qwen3vl_keys,
                             .has_other_parts = true,
                             .tower = "qwen3vl_merger"};
constexpr Family kQwen3VlMoe = {.model = "Qwen3VLMoeForConditionalGeneration",
                                .architecture = "qwen3vlmoe",
                                .add_keys = add_qwen3vlmoe_keys,
                                .own_names = kTransposedExpertsNames,
                                .has_other_parts = true,
                                .tower = "qwen3vl_merger"};

constexpr Family renamed(Family family, std::string_view model) {
  family.model = model;
  return family;
}
/// The family as the language part of a model with others.
constexpr Family with_other_parts(Family family, std::string_view model) {
  family.has_other_parts = true;
  return renamed(family, model);
}
/// The language part of a model whose encoder of pictures is read, too; `tower`: the encoder's family.
constexpr Family with_tower(Family family, std::string_view model, std::string_view tower) {
  family.tower = tower;
  return with_other_parts(family, model);
}

constexpr Family kFamilies[] = {
    kLlama,
    renamed(kLlama, "MistralForCausalLM"),
    {.model = "MixtralForCausalLM", .architecture = "llama", .add_keys = add_mixtral_keys, .pairs_neighbours = true},
    kMistral3,
    with_tower(kMistral3, "Mistral3ForConditionalGeneration", "pixtral"),
    with_tower(kLlama, "LlavaForConditionalGeneration", "pixtral"),
    with_tower(kLlama, "SmolVLMForConditionalGeneration", "idefics3"),
    with_tower(kLlama, "Idefics3ForConditionalGeneration", "idefics3"),
    {.model = "GraniteForCausalLM", .architecture = "granite", .add_keys = add_granite_keys, .pairs_neighbours = true},
    {.model = "ArceeForCausalLM", .architecture = "arcee", .add_keys = add_arcee_keys, .pairs_neighbours = true},
    {.model = "SmolLM3ForCausalLM", .architecture = "smollm3", .add_keys = add_smollm3_keys, .pairs_neighbours = true},
    {.model = "NanbeigeForCausalLM",
     .architecture = "nanbeige",
     .add_keys = add_nanbeige_keys,
     .pairs_neighbours = true},
    {.model = "MiniCPMForCausalLM", .architecture = "minicpm", .add_keys = add_minicpm_keys, .pairs_neighbours = true},
    {.model = "MiniCPM3ForCausalLM",
     .architecture = "minicpm3",
     .add_keys = add_minicpm3_keys,
     .own_names = kMiniCpm3Names,
     .made_vectors = phi3_rope_factors,
     .ties_output = true},
    {.model = "DeepseekV2ForCausalLM",
     .architecture = "deepseek2",
     .add_keys = add_deepseek_v2_keys,
     .own_names = kLatentNames},
    kDeepSeekV3,
    renamed(kDeepSeekV3, "Glm4MoeLiteForCausalLM"),
    kMistral4,
    {.model = "Qwen2ForCausalLM", .architecture = "qwen2", .add_keys = add_qwen_keys},
    {.model = "Qwen3ForCausalLM", .architecture = "qwen3", .add_keys = add_qwen_keys},
    {.model = "Qwen3MoeForCausalLM", .architecture = "qwen3moe", .add_keys = add_qwen3moe_keys},
    {.model = "SeedOssForCausalLM", .architecture = "seed_oss", .add_keys = add_plain_keys, .own_names = kSeedOssNames},
    {.model = "Ernie4_5ForCausalLM", .architecture = "ernie4_5", .add_keys = add_plain_keys},
    {.model = "HunYuanDenseV1ForCausalLM",
     .architecture = "hunyuan-dense",
     .add_keys = add_hunyuan_keys,
     .own_names = kHunyuanNames},
    kOlmo2,
    renamed(kOlmo2, "Olmo3ForCausalLM"),
    {.model = "Exaone4ForCausalLM", .architecture = "exaone4", .add_keys = add_olmo_keys, .has_norms_behind = true},
    {.model = "CohereForCausalLM", .architecture = "command-r", .add_keys = add_command_r_keys},
    {.model = "Cohere2ForCausalLM", .architecture = "cohere2", .add_keys = add_cohere2_keys},
    {.model = "Glm4ForCausalLM", .architecture = "glm4", .add_keys = add_plain_keys, .own_names = kGlm4Names},
    {.model = "Phi3ForCausalLM",
     .architecture = "phi3",
     .add_keys = add_phi3_keys,
     .own_names = kPhi3Names,
     .made_vectors = phi3_rope_factors},
    {.model = "Starcoder2ForCausalLM",
     .architecture = "starcoder2",
     .add_keys = add_starcoder2_keys,
     .own_names = kStarcoder2Names,
     .own_whole_names = kLastNormNames,
     .ties_output = true},
    {.model = "StableLmForCausalLM",
     .architecture = "stablelm",
     .add_keys = add_plain_keys,
     .own_whole_names = kLastNormNames},
    {.model = "ApertusForCausalLM",
     .architecture = "apertus",
     .add_keys = add_apertus_keys,
     .own_names = kApertusNames,
     .layer_numbers = kXieluNumbers},
    kLfm2,
    with_tower(kLfm2, "Lfm2VlForConditionalGeneration", "lfm2"),
    kLfm3,
    kGraniteHybrid,
    kNemotronH,
    kFalconH1,
    with_tower(kMuseGlimmer, kMuseGlimmer.model, "muse-glimmer"),
    with_tower(kQwen2Vl, kQwen2Vl.model, "qwen2vl_merger"),
    with_tower(kQwen2Vl, "Qwen2_5_VLForConditionalGeneration", "qwen2.5vl_merger"),
    kQwen35,
    with_tower(kQwen35, "MiniCPMV4_6ForConditionalGeneration", "minicpmv4_6"),
    with_tower(kQwen35, "Qwen3_5ForConditionalGeneration", "qwen3vl_merger"),
    kQwen35Moe,
    with_tower(kQwen35Moe, "Qwen3_5MoeForConditionalGeneration", "qwen3vl_merger"),
    kQwen3Next,
    kGlm4Moe,
    kHunyuan3,
    {.model = "Ernie4_5_MoeForCausalLM",
     .architecture = "ernie4_5-moe",
     .add_keys = add_ernie4_5_moe_keys,
     .own_names = kErnieNames,
     .ties_output = true},
    {.model = "LagunaForCausalLM", .architecture = "laguna", .add_keys = add_laguna_keys, .own_names = kLagunaNames},
    {.model = "Cohere2MoeForCausalLM",
     .architecture = "cohere2moe",
     .add_keys = add_cohere2moe_keys,
     .ties_output = true,
     .has_layers_behind = true},
    {.model = "BailingMoeV2ForCausalLM",
     .architecture = "bailingmoe2",
     .add_keys = add_bailingmoe2_keys,
     .own_names = kLing2Names,
     .own_whole_names = kLing2WholeNames,
     .has_layers_behind = true},
    {.model = "Spark2_5ForCausalLM",
     .architecture = "spark2_5",
     .add_keys = add_spark2_5_keys,
     .own_names = kSparkNames,
     .own_whole_names = kSparkWholeNames},
    {.model = "MellumForCausalLM", .architecture = "mellum", .add_keys = add_mellum_keys},
    kStep35,
    with_other_parts(kStep35, "Step3p7ForConditionalGeneration"),
    kLlama4,
    with_other_parts(kLlama4, "Llama4ForConditionalGeneration"),
    kGptOss,
    kGemma2,
    kGemma3,
    with_tower(kGemma3, "Gemma3ForConditionalGeneration", "gemma3"),
    kGemma4,
    with_tower(kGemma4, "Gemma4ForConditionalGeneration", "gemma4v"),
    with_tower(kGemma4, "Gemma4UnifiedForConditionalGeneration", "gemma4uv"),
    kBert,
    renamed(kBert, "BertForSequenceClassification"),
    kRoberta,
    renamed(kRoberta, "XLMRobertaForSequenceClassification"),
    renamed(kRoberta, "RobertaModel"),
    renamed(kRoberta, "RobertaForSequenceClassification"),
    kModernBert,
    renamed(kModernBert, "ModernBertForSequenceClassification"),
    kNomicBert,
    kJinaBertV3,
    kGemmaEmbedding,
    kQwen3Ranks,
    kQwen3Vl,
    kQwen3VlMoe,
};

}  // namespace

const Family* find_family(std::string_view model) {
  const auto found = std::ranges::find(kFamilies, model, &Family::model);
  return found == std::end(kFamilies) ? nullptr : &*found;
}

std::string family_names() { return joined(kFamilies, &Family::model); }

}  // namespace octavo

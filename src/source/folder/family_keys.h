// The keys of each family: config.json's members under GGUF's names. Errors name the file and the member: it is
// missing, of another kind, or asks for something that the family does not compute here.
#pragma once

#include <vector>

#include "base/math.h"
#include "source/folder/family.h"

namespace octavo {

Result<void> add_llama_keys(const FamilyKeys& keys);
Result<void> add_mixtral_keys(const FamilyKeys& keys);
Result<void> add_mistral3_keys(const FamilyKeys& keys);
/// The keys of families without any of their own: Seed-OSS, ERNIE 4.5, GLM-4, StableLM.
Result<void> add_plain_keys(const FamilyKeys& keys);
Result<void> add_hunyuan_keys(const FamilyKeys& keys);
/// OLMo 2 and 3, EXAONE 4.
Result<void> add_olmo_keys(const FamilyKeys& keys);
Result<void> add_command_r_keys(const FamilyKeys& keys);
Result<void> add_cohere2_keys(const FamilyKeys& keys);
Result<void> add_granite_keys(const FamilyKeys& keys);
/// The numbers that Granite multiplies and divides rows by.
Result<void> add_granite_scales(const FamilyKeys& keys);
Result<void> add_granitehybrid_keys(const FamilyKeys& keys);
Result<void> add_falcon_h1_keys(const FamilyKeys& keys);
/// The multipliers of Falcon-H1 (muP), which llama.cpp's converter puts into the weights.
Result<std::vector<RowFactor>> falcon_h1_row_factors(const JsonObject& config, std::string_view name);
/// With experts and without.
Result<void> add_nemotron_h_keys(const FamilyKeys& keys);
Result<void> add_arcee_keys(const FamilyKeys& keys);
Result<void> add_apertus_keys(const FamilyKeys& keys);
Result<void> add_starcoder2_keys(const FamilyKeys& keys);
Result<void> add_phi3_keys(const FamilyKeys& keys);
/// Both lists of the factors of a stretched context.
Result<std::vector<MadeVector>> phi3_rope_factors(const JsonObject& config);
Result<void> add_muse_glimmer_keys(const FamilyKeys& keys);
/// Norms of the heads of Q and K, whose weights are the scale of Q, and ones.
Result<std::vector<MadeVector>> muse_glimmer_head_norms(const JsonObject& config);
Result<void> add_smollm3_keys(const FamilyKeys& keys);
Result<void> add_nanbeige_keys(const FamilyKeys& keys);
Result<void> add_minicpm_keys(const FamilyKeys& keys);
Result<void> add_qwen_keys(const FamilyKeys& keys);
Result<void> add_qwen3moe_keys(const FamilyKeys& keys);
/// The part of Qwen2-VL, Qwen2.5-VL and Qwen3-VL that reads text.
Result<void> add_qwen3vl_keys(const FamilyKeys& keys);
/// The text part of Qwen3-VL with experts.
Result<void> add_qwen3vlmoe_keys(const FamilyKeys& keys);
Result<void> add_qwen35_keys(const FamilyKeys& keys);
Result<void> add_qwen35moe_keys(const FamilyKeys& keys);
Result<void> add_lfm2_keys(const FamilyKeys& keys);
Result<void> add_lfm3_keys(const FamilyKeys& keys);
/// The divisors of layers without a window, in which a part of the pairs is not rotated.
Result<std::vector<float>> lfm3_rope_factors(const JsonObject& config, Math math);
Result<void> add_qwen3next_keys(const FamilyKeys& keys);
Result<void> add_glm4moe_keys(const FamilyKeys& keys);
Result<void> add_ernie4_5_moe_keys(const FamilyKeys& keys);
Result<void> add_mellum_keys(const FamilyKeys& keys);
Result<void> add_hy_v3_keys(const FamilyKeys& keys);
Result<void> add_laguna_keys(const FamilyKeys& keys);
Result<void> add_cohere2moe_keys(const FamilyKeys& keys);
Result<void> add_bailingmoe2_keys(const FamilyKeys& keys);
Result<void> add_spark2_5_keys(const FamilyKeys& keys);
Result<void> add_llama4_keys(const FamilyKeys& keys);
Result<void> add_step35_keys(const FamilyKeys& keys);
/// The divisors of layers that see all, which rotate half of a head.
Result<std::vector<float>> step35_rope_factors(const JsonObject& config, Math math);
/// DeepSeek V2, whose router is a softmax unless config.json says otherwise; V3, whose is of sigmoids; Mistral 4.
Result<void> add_deepseek_v2_keys(const FamilyKeys& keys);
Result<void> add_deepseek_v3_keys(const FamilyKeys& keys);
Result<void> add_mistral4_keys(const FamilyKeys& keys);
Result<void> add_minicpm3_keys(const FamilyKeys& keys);
Result<void> add_gpt_oss_keys(const FamilyKeys& keys);
Result<void> add_gemma2_keys(const FamilyKeys& keys);
Result<void> add_gemma3_keys(const FamilyKeys& keys);
Result<void> add_gemma4_keys(const FamilyKeys& keys);
Result<void> add_bert_keys(const FamilyKeys& keys);
Result<void> add_roberta_keys(const FamilyKeys& keys);
Result<void> add_modern_bert_keys(const FamilyKeys& keys);
/// Under the names of transformers, or under those of Nomic's own code.
Result<void> add_nomic_bert_keys(const FamilyKeys& keys);
Result<void> add_jina_bert_v3_keys(const FamilyKeys& keys);
Result<void> add_gemma_embedding_keys(const FamilyKeys& keys);
/// The factors of layers without a window; those of pairs that are not rotated are so large that they stay.
Result<std::vector<float>> gemma4_rope_factors(const JsonObject& config, Math math);

}  // namespace octavo

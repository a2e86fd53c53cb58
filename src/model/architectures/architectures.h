// The families of models: each is one function that reads a file's keys into the specs of its layers.
//
// A new family is a file in this folder and a row of the table in architectures.cc (docs/adding_a_model.md). Nothing
// else asks for an architecture by name.
#pragma once

#include <string>
#include <string_view>

#include "model/architectures/model_keys.h"
#include "model/config.h"

namespace octavo {

/// Fills config.layers, and of the rest what is the family's own. The sizes that all families have are read before.
using ReadArchitecture = Result<void> (*)(const ModelKeys& keys, ModelConfig& config);

Result<void> read_llama(const ModelKeys& keys, ModelConfig& config);
Result<void> read_qwen2(const ModelKeys& keys, ModelConfig& config);
Result<void> read_qwen3(const ModelKeys& keys, ModelConfig& config);
Result<void> read_qwen3vl(const ModelKeys& keys, ModelConfig& config);
Result<void> read_qwen3moe(const ModelKeys& keys, ModelConfig& config);
Result<void> read_qwen3vlmoe(const ModelKeys& keys, ModelConfig& config);
Result<void> read_qwen35(const ModelKeys& keys, ModelConfig& config);
Result<void> read_qwen35moe(const ModelKeys& keys, ModelConfig& config);
Result<void> read_gemma2(const ModelKeys& keys, ModelConfig& config);
Result<void> read_gemma3(const ModelKeys& keys, ModelConfig& config);
Result<void> read_gemma4(const ModelKeys& keys, ModelConfig& config);
Result<void> read_gemma4_assistant(const ModelKeys& keys, ModelConfig& config);
Result<void> read_mistral3(const ModelKeys& keys, ModelConfig& config);
Result<void> read_bert(const ModelKeys& keys, ModelConfig& config);
Result<void> read_jina_bert_v3(const ModelKeys& keys, ModelConfig& config);
Result<void> read_nomic_bert(const ModelKeys& keys, ModelConfig& config);
Result<void> read_nomic_bert_moe(const ModelKeys& keys, ModelConfig& config);
Result<void> read_modern_bert(const ModelKeys& keys, ModelConfig& config);
Result<void> read_gemma_embedding(const ModelKeys& keys, ModelConfig& config);
Result<void> read_deci(const ModelKeys& keys, ModelConfig& config);
Result<void> read_seed_oss(const ModelKeys& keys, ModelConfig& config);
Result<void> read_ernie4_5(const ModelKeys& keys, ModelConfig& config);
Result<void> read_hunyuan_dense(const ModelKeys& keys, ModelConfig& config);
Result<void> read_olmo2(const ModelKeys& keys, ModelConfig& config);
Result<void> read_exaone4(const ModelKeys& keys, ModelConfig& config);
Result<void> read_command_r(const ModelKeys& keys, ModelConfig& config);
Result<void> read_cohere2(const ModelKeys& keys, ModelConfig& config);
Result<void> read_glm4(const ModelKeys& keys, ModelConfig& config);
Result<void> read_falcon_h1(const ModelKeys& keys, ModelConfig& config);
Result<void> read_nemotron_h(const ModelKeys& keys, ModelConfig& config);
Result<void> read_granitehybrid(const ModelKeys& keys, ModelConfig& config);
Result<void> read_granite(const ModelKeys& keys, ModelConfig& config);
Result<void> read_smollm3(const ModelKeys& keys, ModelConfig& config);
Result<void> read_minicpm(const ModelKeys& keys, ModelConfig& config);
Result<void> read_nanbeige(const ModelKeys& keys, ModelConfig& config);
Result<void> read_arcee(const ModelKeys& keys, ModelConfig& config);
Result<void> read_muse_glimmer(const ModelKeys& keys, ModelConfig& config);
Result<void> read_phi3(const ModelKeys& keys, ModelConfig& config);
Result<void> read_starcoder2(const ModelKeys& keys, ModelConfig& config);
Result<void> read_stablelm(const ModelKeys& keys, ModelConfig& config);
Result<void> read_apertus(const ModelKeys& keys, ModelConfig& config);
Result<void> read_qwen3next(const ModelKeys& keys, ModelConfig& config);
Result<void> read_glm4moe(const ModelKeys& keys, ModelConfig& config);
Result<void> read_mellum(const ModelKeys& keys, ModelConfig& config);
Result<void> read_ernie4_5_moe(const ModelKeys& keys, ModelConfig& config);
Result<void> read_hy_v3(const ModelKeys& keys, ModelConfig& config);
Result<void> read_llama4(const ModelKeys& keys, ModelConfig& config);
Result<void> read_step35(const ModelKeys& keys, ModelConfig& config);
Result<void> read_lfm2(const ModelKeys& keys, ModelConfig& config);
Result<void> read_lfm2moe(const ModelKeys& keys, ModelConfig& config);
Result<void> read_lfm3(const ModelKeys& keys, ModelConfig& config);
Result<void> read_laguna(const ModelKeys& keys, ModelConfig& config);
Result<void> read_spark2_5(const ModelKeys& keys, ModelConfig& config);
Result<void> read_cohere2moe(const ModelKeys& keys, ModelConfig& config);
Result<void> read_bailingmoe2(const ModelKeys& keys, ModelConfig& config);
Result<void> read_deepseek2(const ModelKeys& keys, ModelConfig& config);
Result<void> read_minicpm3(const ModelKeys& keys, ModelConfig& config);
Result<void> read_gpt_oss(const ModelKeys& keys, ModelConfig& config);

/// The function of a supported architecture; nullptr for others.
ReadArchitecture find_architecture(std::string_view name);
/// The supported architecture whose name is likest; empty: more than half of the letters differ in each.
std::string_view nearest_architecture(std::string_view name);
/// The line of docs/adding_a_model.md at which a new architecture begins.
inline constexpr int kFirstLineOfGuide = 5;
/// "llama, qwen2, ...", for error messages.
std::string supported_architectures();

}  // namespace octavo

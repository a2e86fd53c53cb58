#include "model/architectures/architectures.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/joined.h"

namespace octavo {
namespace {

struct Architecture {
  std::string_view name;  // general.architecture
  ReadArchitecture read;
};

constexpr Architecture kArchitectures[] = {{"llama", read_llama},
                                           {"qwen2", read_qwen2},
                                           {"qwen2vl", read_qwen2},
                                           {"qwen3", read_qwen3},
                                           {"qwen3vl", read_qwen3vl},
                                           {"qwen3moe", read_qwen3moe},
                                           {"qwen3vlmoe", read_qwen3vlmoe},
                                           {"qwen35", read_qwen35},
                                           {"qwen35moe", read_qwen35moe},
                                           {"qwen3next", read_qwen3next},
                                           {"gemma2", read_gemma2},
                                           {"gemma3", read_gemma3},
                                           {"gemma4", read_gemma4},
                                           {"gemma4-assistant", read_gemma4_assistant},
                                           {"mistral3", read_mistral3},
                                           {"deci", read_deci},
                                           {"seed_oss", read_seed_oss},
                                           {"ernie4_5", read_ernie4_5},
                                           {"hunyuan-dense", read_hunyuan_dense},
                                           {"olmo2", read_olmo2},
                                           {"exaone4", read_exaone4},
                                           {"command-r", read_command_r},
                                           {"cohere2", read_cohere2},
                                           {"glm4", read_glm4},
                                           {"granite", read_granite},
                                           {"granitemoe", read_granite},
                                           {"granitehybrid", read_granitehybrid},
                                           {"nemotron_h", read_nemotron_h},
                                           {"nemotron_h_moe", read_nemotron_h},
                                           {"falcon-h1", read_falcon_h1},
                                           {"smollm3", read_smollm3},
                                           {"minicpm", read_minicpm},
                                           {"nanbeige", read_nanbeige},
                                           {"arcee", read_arcee},
                                           {"muse-glimmer", read_muse_glimmer},
                                           {"phi3", read_phi3},
                                           {"starcoder2", read_starcoder2},
                                           {"stablelm", read_stablelm},
                                           {"apertus", read_apertus},
                                           {"glm4moe", read_glm4moe},
                                           {"mellum", read_mellum},
                                           {"ernie4_5-moe", read_ernie4_5_moe},
                                           {"hy_v3", read_hy_v3},
                                           {"llama4", read_llama4},
                                           {"step35", read_step35},
                                           {"lfm2", read_lfm2},
                                           {"lfm2moe", read_lfm2moe},
                                           {"lfm3", read_lfm3},
                                           {"laguna", read_laguna},
                                           {"spark2_5", read_spark2_5},
                                           {"cohere2moe", read_cohere2moe},
                                           {"bailingmoe2", read_bailingmoe2},
                                           {"deepseek2", read_deepseek2},
                                           {"mistral4", read_deepseek2},
                                           {"minicpm3", read_minicpm3},
                                           {"gpt-oss", read_gpt_oss},
                                           {"bert", read_bert},
                                           {"jina-bert-v3", read_jina_bert_v3},
                                           {"nomic-bert", read_nomic_bert},
                                           {"nomic-bert-moe", read_nomic_bert_moe},
                                           {"modern-bert", read_modern_bert},
                                           {"gemma-embedding", read_gemma_embedding},
                                           {"llama-embed", read_llama}};

/// Letters to add, to take away or to change, by which one name becomes the other (Levenshtein, 1966).
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> edits(b.size() + 1);  // from the part of `a` in front to each part in front of `b`
  std::iota(edits.begin(), edits.end(), std::size_t{0});
  for (const char letter : a) {
    std::size_t before = edits.front()++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = before + (letter == b[j] ? 0 : 1);
      before = edits[j + 1];
      edits[j + 1] = std::min({changed, before + 1, edits[j] + 1});
    }
  }
  return edits.back();
}

}  // namespace

ReadArchitecture find_architecture(std::string_view name) {
  for (const Architecture& row : kArchitectures)
    if (row.name == name) return row.read;
  return nullptr;
}

std::string_view nearest_architecture(std::string_view name) {
  constexpr std::size_t kLongestName = 64;
  if (name.size() > kLongestName) return {};
  std::string_view nearest;
  std::size_t fewest = name.size() / 2 + 1;
  for (const Architecture& row : kArchitectures) {
    const std::size_t edits = edits_between(name, row.name);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = row.name;
  }
  return nearest;
}

std::string supported_architectures() { return joined(kArchitectures, &Architecture::name); }

}  // namespace octavo

#include "model/architectures/architectures.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

TEST(Architectures, EachIsFoundByItsName) {
  EXPECT_EQ(find_architecture("llama"), read_llama);
  EXPECT_EQ(find_architecture("qwen2"), read_qwen2);
  EXPECT_EQ(find_architecture("qwen3"), read_qwen3);
  EXPECT_EQ(find_architecture("qwen35"), read_qwen35);
  EXPECT_EQ(find_architecture("qwen35moe"), read_qwen35moe);
  EXPECT_EQ(find_architecture("gemma2"), read_gemma2);
  EXPECT_EQ(find_architecture("gemma3"), read_gemma3);
  EXPECT_EQ(find_architecture("gemma4"), read_gemma4);
  EXPECT_EQ(find_architecture("mistral3"), read_mistral3);
  EXPECT_EQ(find_architecture("deci"), read_deci);
  EXPECT_EQ(find_architecture("seed_oss"), read_seed_oss);
  EXPECT_EQ(find_architecture("ernie4_5"), read_ernie4_5);
  EXPECT_EQ(find_architecture("hunyuan-dense"), read_hunyuan_dense);
  EXPECT_EQ(find_architecture("olmo2"), read_olmo2);
  EXPECT_EQ(find_architecture("exaone4"), read_exaone4);
  EXPECT_EQ(find_architecture("command-r"), read_command_r);
  EXPECT_EQ(find_architecture("cohere2"), read_cohere2);
  EXPECT_EQ(find_architecture("glm4"), read_glm4);
  EXPECT_EQ(find_architecture("granite"), read_granite);
  EXPECT_EQ(find_architecture("granitemoe"), read_granite);
  EXPECT_EQ(find_architecture("smollm3"), read_smollm3);
  EXPECT_EQ(find_architecture("minicpm"), read_minicpm);
  EXPECT_EQ(find_architecture("nanbeige"), read_nanbeige);
  EXPECT_EQ(find_architecture("arcee"), read_arcee);
  EXPECT_EQ(find_architecture("muse-glimmer"), read_muse_glimmer);
  EXPECT_EQ(find_architecture("phi3"), read_phi3);
  EXPECT_EQ(find_architecture("starcoder2"), read_starcoder2);
  EXPECT_EQ(find_architecture("stablelm"), read_stablelm);
  EXPECT_EQ(find_architecture("apertus"), read_apertus);
  EXPECT_EQ(find_architecture("qwen2vl"), read_qwen2);
  EXPECT_EQ(find_architecture("granitehybrid"), read_granitehybrid);
  EXPECT_EQ(find_architecture("nemotron_h"), read_nemotron_h);
  EXPECT_EQ(find_architecture("nemotron_h_moe"), read_nemotron_h);
  EXPECT_EQ(find_architecture("falcon-h1"), read_falcon_h1);
  EXPECT_EQ(find_architecture("lfm2"), read_lfm2);
  EXPECT_EQ(find_architecture("lfm3"), read_lfm3);
  EXPECT_EQ(find_architecture("laguna"), read_laguna);
  EXPECT_EQ(find_architecture("spark2_5"), read_spark2_5);
  EXPECT_EQ(find_architecture("cohere2moe"), read_cohere2moe);
  EXPECT_EQ(find_architecture("bailingmoe2"), read_bailingmoe2);
  EXPECT_EQ(find_architecture("deepseek2"), read_deepseek2);
  EXPECT_EQ(find_architecture("mistral4"), read_deepseek2);
  EXPECT_EQ(find_architecture("minicpm3"), read_minicpm3);
  EXPECT_EQ(find_architecture("gpt-oss"), read_gpt_oss);
  EXPECT_EQ(find_architecture("bert"), read_bert);
  EXPECT_EQ(find_architecture("jina-bert-v3"), read_jina_bert_v3);
  EXPECT_EQ(find_architecture("nomic-bert"), read_nomic_bert);
  EXPECT_EQ(find_architecture("nomic-bert-moe"), read_nomic_bert_moe);
  EXPECT_EQ(find_architecture("modern-bert"), read_modern_bert);
  EXPECT_EQ(find_architecture("gemma-embedding"), read_gemma_embedding);
  EXPECT_EQ(find_architecture("llama-embed"), read_llama);
  for (const char* name : {"", "llam", "llama2", "Llama"}) EXPECT_EQ(find_architecture(name), nullptr) << name;
}

TEST(Architectures, TheListNamesThoseThatAreFound) {
  const std::string all = supported_architectures();
  EXPECT_TRUE(all.starts_with(
      "llama, qwen2, qwen2vl, qwen3, qwen3vl, qwen3moe, qwen3vlmoe, qwen35, qwen35moe, qwen3next, gemma2, gemma3, "
      "gemma4, "
      "gemma4-assistant, mistral3, deci, seed_oss, ernie4_5, hunyuan-dense, olmo2, exaone4, command-r, cohere2, "
      "glm4, granite, granitemoe, granitehybrid, nemotron_h, nemotron_h_moe, falcon-h1, smollm3, minicpm, nanbeige, "
      "arcee, muse-glimmer, phi3, starcoder2, stablelm, "
      "apertus, glm4moe, mellum, ernie4_5-moe, hy_v3, llama4, step35, lfm2, lfm2moe, lfm3, laguna, spark2_5, "
      "cohere2moe, bailingmoe2, deepseek2, mistral4, minicpm3, gpt-oss, bert, "))
      << all;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find(", ", begin), all.size());
    EXPECT_NE(find_architecture(all.substr(begin, end - begin)), nullptr);
    begin = end + 2;
  }
}

TEST(Architectures, TheNearestIsTheOneWhoseNameIsLikest) {
  EXPECT_EQ(nearest_architecture("llama44"), "llama4");
  EXPECT_EQ(nearest_architecture("qwen3nxt"), "qwen3next");
  EXPECT_EQ(nearest_architecture("gptoss"), "gpt-oss");
  for (const std::string& name : {std::string("rwkv7"), std::string(), std::string(1000, 'a')})
    EXPECT_EQ(nearest_architecture(name), "") << name;
}

}  // namespace
}  // namespace octavo

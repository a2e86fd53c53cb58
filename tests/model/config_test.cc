// Missing or contradictory metadata is an error that names the key; never a silent default of another model.
#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/open_model.h"
#include "support/temp_file.h"
#include "support/tiny_model.h"

namespace octavo::test {
namespace {

using ::testing::HasSubstr;

Result<ModelConfig> load(const TinyModel& model) {
  const TempFile file(model.bytes(), ".gguf");
  const auto source = open_model(file.path());
  if (!source) return std::unexpected(source.error());
  return ModelConfig::load(**source);
}

std::string error_of(const TinyModel& model) {
  const Result<ModelConfig> config = load(model);
  return config ? "no error" : config.error().message;
}

TEST(ModelConfig, ReadsEveryArchitecture) {
  for (const char* arch : {"llama", "qwen2", "qwen3", "gemma3"}) {
    const Result<ModelConfig> config = load({.arch = arch});
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->architecture, arch);
    EXPECT_EQ(config->vocab_size, 80);
    ASSERT_EQ(config->num_layers(), 2);
    const AttentionSpec& attention = *config->layer(0).attention();
    EXPECT_EQ(attention.head_dim, 32);
    EXPECT_EQ(attention.q_width(), 128);
    EXPECT_EQ(attention.window, std::string(arch) == "gemma3" ? 24 : 0);
    EXPECT_EQ(config->last_layer_with_state(), 1);
    EXPECT_TRUE(config->tied_output);
  }
}

TEST(ModelConfig, Gemma3HasAGlobalLayerEverySixth) {
  const Result<ModelConfig> config = load({.arch = "gemma3", .layers = 12});
  ASSERT_TRUE(config);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(config->layer(i).attention()->window > 0, i != 5 && i != 11) << i;
}

TEST(ModelConfig, AMissingKeyIsNamed) {
  for (const char* key : {"block_count", "embedding_length", "feed_forward_length", "context_length",
                          "attention.head_count", "attention.layer_norm_rms_epsilon", "rope.freq_base"}) {
    const std::string name = std::string("qwen3.") + key;
    EXPECT_THAT(error_of({.arch = "qwen3", .without = {name}}), HasSubstr(name));
  }
  EXPECT_THAT(error_of({.arch = "gemma3", .without = {"gemma3.attention.sliding_window"}}),
              HasSubstr("gemma3.attention.sliding_window"));
  EXPECT_THAT(error_of({.without = {"general.architecture"}}), HasSubstr("general.architecture"));
}

TEST(ModelConfig, AContradictionNamesBothSides) {
  EXPECT_THAT(error_of({.kv_heads = 3}), HasSubstr("llama.attention.head_count_kv"));
  EXPECT_THAT(error_of({.head_dim = 31}), HasSubstr("llama.attention.key_length"));
  EXPECT_THAT(error_of({.arch = "qwen35", .v_head_dim = 20}),
              HasSubstr("values have 20 dimensions a head, expected 32 as the keys"));
  const auto with = [](auto key, auto value) {
    return TinyModel{.extra = [=](GgufWriter& writer) { writer.add(key, value); }};
  };
  EXPECT_THAT(error_of(with("llama.vocab_size", 81U)), HasSubstr("token_embd.weight has 80 rows"));
  EXPECT_THAT(error_of(with("llama.rope.dimension_count", 34U)), HasSubstr("llama.rope.dimension_count is 34"));
  EXPECT_THAT(error_of(with("llama.rope.dimension_count", 15U)), HasSubstr("llama.rope.dimension_count is 15"));
  EXPECT_THAT(error_of(with("llama.rope.scaling.type", "ntk")), HasSubstr("'ntk', supported are: none, linear, yarn"));
  EXPECT_THAT(error_of(with("llama.expert_count", 8U)), HasSubstr("'llama.expert_used_count' is missing"));
}

TEST(ModelConfig, KeysThatChangeTheMathematicsAreFollowedOrRefused) {
  const auto with = [](const char* arch, auto key, auto value) {
    return TinyModel{.arch = arch, .extra = [=](GgufWriter& writer) { writer.add(key, value); }};
  };
  const auto first_rope = [](const TinyModel& model) { return load(model)->layer(0).attention()->rope; };
  EXPECT_EQ(first_rope({.arch = "gemma3"}).base, 10000.0);
  EXPECT_EQ(first_rope(with("gemma3", "gemma3.rope.freq_base_swa", 77.0F)).base, 77.0);
  EXPECT_THAT(error_of(with("gemma3", "gemma3.rope.freq_base_swa", "x")), HasSubstr("gemma3.rope.freq_base_swa"));
  EXPECT_EQ(first_rope({}).scaling.divisor, 1.0);
  EXPECT_EQ(first_rope(with("llama", "llama.rope.scaling.factor", 8.0F)).scaling.divisor, 8.0);
  EXPECT_EQ(first_rope(with("llama", "llama.rope.scale_linear", 8.0F)).scaling.divisor, 8.0);
  for (const char* suffix : {"final_logit_softcapping", "attn_logit_softcapping", "attention.scale", "logit_scale",
                             "residual_scale", "embedding_scale"}) {
    const std::string key = std::string("llama.") + suffix;
    EXPECT_THAT(error_of(with("llama", key, 30.0F)), HasSubstr(key + " is 30, expected")) << suffix;
    EXPECT_EQ(error_of(with("llama", key, 0.0F)), "no error") << suffix;
  }
  const auto saved = [](float value, bool is_by_llama) {
    return TinyModel{.extra = [=](GgufWriter& writer) {
      if (is_by_llama) writer.add("llama.pooling_type", 4294967295U);
      writer.add("llama.attn_logit_softcapping", 50.0F);
      writer.add("llama.final_logit_softcapping", value);
    }};
  };
  EXPECT_EQ(error_of(saved(30, true)), "no error") << "llama.cpp's defaults, which it saves with every model";
  EXPECT_THAT(error_of(saved(30, false)), HasSubstr("llama.final_logit_softcapping is 30, expected 0"));
  EXPECT_THAT(error_of(saved(20, true)), HasSubstr("llama.final_logit_softcapping is 20, expected 0"));
  // llama.cpp writes the scale that a family has anyway: here of heads of 32 dimensions.
  EXPECT_EQ(error_of(with("gemma2", "gemma2.attention.scale", 0.17677669F)), "no error");
  EXPECT_THAT(error_of(with("gemma2", "gemma2.attention.scale", 0.18F)),
              HasSubstr("gemma2.attention.scale is 0.18, expected 0.17677669: this is not supported"));
  EXPECT_EQ(error_of(with("llama", "llama.attention.causal", false)), "no error") << "an encoder";
  EXPECT_EQ(error_of(with("llama", "llama.attention.causal", true)), "no error");
}

TEST(ModelConfig, WordsOfAFileCannotSteerATerminal) {
  const auto with = [](auto key, auto value, std::set<std::string> without) {
    return TinyModel{.without = std::move(without), .extra = [=](GgufWriter& writer) { writer.add(key, value); }};
  };
  EXPECT_EQ(load(with("general.name", "a\x1b[2J\xC2\x9B\xFF\u00E9\n", {"general.name"}))->name,
            "a\\x1B[2J\\xC2\\x9B\\xFF\u00E9\\x0A");
  EXPECT_THAT(error_of({.arch = "a\x1b[2J\n"}), HasSubstr("'a\\x1b[2J\\x0a' is not supported"));
  EXPECT_THAT(error_of(with("llama.rope.scaling.type", "\x1b\n", {})), HasSubstr("'\\x1b\\x0a', supported are"));
}

TEST(ModelConfig, AnUnknownArchitectureIsNamedWithTheNearestKnownAndTheLineToBeginAt) {
  EXPECT_THAT(error_of({.arch = "rwkv7"}),
              HasSubstr("architecture 'rwkv7' is not supported; line 5 of docs/adding_a_model.md begins a new one; "
                        "supported are: llama, qwen2"));
  EXPECT_THAT(error_of({.arch = "llama5"}), HasSubstr("'llama5' is not supported, the nearest known is llama"));
}

TEST(ModelConfig, AVocabularyOnlyFileIsNoModel) {
  EXPECT_THAT(error_of({.without = {"token_embd.weight"}}), HasSubstr("token_embd.weight"));
}

TEST(ModelConfig, SizesBeyondReasonAreRefused) {
  const auto claiming = [](const std::string& key, std::uint32_t value) {
    return TinyModel{.without = {key}, .extra = [=](GgufWriter& writer) { writer.add(key, value); }};
  };
  EXPECT_THAT(error_of(claiming("llama.block_count", 1U << 24)), HasSubstr("the file has only 20 tensors"));
  EXPECT_THAT(error_of(claiming("llama.attention.head_count", 1U << 24)), HasSubstr("their product is over"));
  EXPECT_THAT(error_of({.layers = 1, .context = 4000000000U}), HasSubstr("llama.context_length is 4000000000"));
  EXPECT_THAT(error_of({.layers = 1, .context = 0}), HasSubstr("llama.context_length is 0"));
}

}  // namespace
}  // namespace octavo::test

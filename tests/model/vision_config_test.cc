// What a file of a vision encoder says, and how files that say something else are refused.
#include "model/vision_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/vision_weight_list.h"
#include "source/gguf/gguf_file.h"
#include "support/tiny_tower.h"

namespace octavo::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// The error of reading a file and listing its weights; empty: there is none.
std::string fault_of(const TinyTower& tower) {
  const std::string bytes = tower.bytes();
  const auto file = GgufFile::parse(std::as_bytes(std::span(bytes)), "tower.gguf");
  if (!file) return file.error().message;
  const auto config = VisionConfig::load(*file);
  if (!config) return config.error().message;
  const auto list = VisionWeightList::create(*file, *config);
  return list ? "" : list.error().message;
}

VisionConfig config_of(const TinyTower& tower) {
  const std::string bytes = tower.bytes();
  const auto file = GgufFile::parse(std::as_bytes(std::span(bytes)), "tower.gguf").value();
  return VisionConfig::load(file).value();
}

TEST(VisionConfig, AFileSaysWhatItsEncoderIs) {
  const VisionConfig config = config_of(TinyTower::odd());
  EXPECT_EQ(config.family, "qwen3vl_merger");
  EXPECT_EQ(config.width, 72);
  EXPECT_EQ(config.text_width, 40);
  EXPECT_EQ(config.token_side(), 8);
  EXPECT_EQ(config.grid_side, 5);
  EXPECT_EQ(config.merged_width(), 288);
  EXPECT_EQ(config.deepstack_layers, (std::vector<int>{0, 2}));
  EXPECT_EQ(config.token_floats(), 3 * 40);
  ASSERT_EQ(config.num_layers(), 3);
  const AttentionSpec& attention = *config.layers[1].attention();
  EXPECT_FALSE(attention.is_causal);
  EXPECT_EQ(attention.head_dim, 36);
  const auto& dense = std::get<DenseFfnSpec>(config.layers[1].feed_forward);
  EXPECT_EQ(dense.width, 100);
  EXPECT_EQ(dense.activation, Activation::kGeluTanh);
}

TEST(VisionConfig, WithoutTheKeyTensorsTellTheDeepstackLayers) {
  TinyTower tower = TinyTower::odd();
  tower.deepstack_key = false;
  EXPECT_EQ(config_of(tower).deepstack_layers, (std::vector<int>{0, 2}));
}

TEST(VisionConfig, EveryMissingKeyIsNamed) {
  for (const char* key :
       {"general.architecture", "clip.has_vision_encoder", "clip.projector_type", "clip.vision.embedding_length",
        "clip.vision.feed_forward_length", "clip.vision.block_count", "clip.vision.attention.head_count",
        "clip.vision.projection_dim", "clip.vision.image_size", "clip.vision.patch_size",
        "clip.vision.spatial_merge_size", "clip.vision.attention.layer_norm_epsilon", "clip.vision.image_mean",
        "clip.vision.image_std"})
    EXPECT_THAT(fault_of({.left_out = key}), AllOf(HasSubstr("tower.gguf"), HasSubstr(key)));
}

TEST(VisionConfig, KeysThatLieAreRefused) {
  const auto fault = [](const std::string& key, std::uint32_t value) { return fault_of({.replaced = {{key, value}}}); };
  const std::string v = "clip.vision.";
  for (const std::uint32_t size : {0U, 1U << 20, 0xFFFFFFFFU}) {
    for (const char* suffix : {"embedding_length", "feed_forward_length", "block_count", "attention.head_count",
                               "projection_dim", "image_size", "patch_size", "spatial_merge_size"})
      EXPECT_THAT(fault(v + suffix, size), AllOf(HasSubstr(v + suffix), HasSubstr("expected"))) << size;
  }
  EXPECT_THAT(fault(v + "image_size", 100), HasSubstr("image_size is 100, expected a multiple of"));
  EXPECT_THAT(fault(v + "attention.head_count", 5), HasSubstr("expected a multiple of"));
  EXPECT_THAT(fault(v + "attention.head_count", 32), HasSubstr("heads have 2 dimensions, expected a multiple of 4"));
  EXPECT_THAT(fault(v + "image_mean", 1), HasSubstr("clip.vision.image_mean"));
  EXPECT_THAT(fault("clip.has_vision_encoder", 7), HasSubstr("clip.has_vision_encoder"));
  for (const char* suffix : {"embedding_length", "feed_forward_length", "projection_dim", "patch_size", "image_size"})
    EXPECT_THAT(fault(v + suffix, 48), AllOf(HasSubstr("tensor"), HasSubstr("expected")))
        << suffix << " is not what the tensors have";
  EXPECT_THAT(fault(v + "block_count", 3), HasSubstr("no tensor v.blk.2.ln1.weight"));
  EXPECT_THAT(fault(v + "block_count", 1), HasSubstr("v.blk.1.ln1.weight' is not part of"));
}

TEST(VisionConfig, NumbersOfPixelsAreThreeAndFinite) {
  const auto fault = [](const char* key, std::vector<float> numbers) {
    return fault_of({.left_out = key, .keys = [&](GgufWriter& writer) { writer.add_array(key, numbers); }});
  };
  EXPECT_THAT(fault("clip.vision.image_mean", {0.5F}), HasSubstr("has 1 numbers, expected 3"));
  EXPECT_THAT(fault("clip.vision.image_std", {0.5F, 0, 0.5F}), HasSubstr("expected positive numbers"));
  EXPECT_THAT(fault("clip.vision.image_mean", {0.5F, std::nanf(""), 0.5F}), HasSubstr("expected finite numbers"));
  EXPECT_EQ(fault("clip.vision.image_mean", {0.48F, 0.45F, 0.4F}), "");
}

TEST(VisionConfig, PixelsOfAPictureAreToldInTokens) {
  const TinyTower tower{.keys = [](GgufWriter& writer) {
    writer.add("clip.vision.image_min_pixels", std::uint32_t{4096});
    writer.add("clip.vision.image_max_pixels", std::uint32_t{16'777'216});
  }};
  const VisionConfig config = config_of(tower);
  EXPECT_EQ(config.min_tokens, 4);
  EXPECT_EQ(config.max_tokens, 16'384);
  EXPECT_EQ(config_of({}).max_tokens, 0);
  EXPECT_THAT(
      fault_of({.keys = [](GgufWriter& writer) { writer.add("clip.vision.image_max_pixels", std::uint32_t{0}); }}),
      HasSubstr("clip.vision.image_max_pixels"));
}

TEST(VisionConfig, AnotherFamilyIsRefusedWithItsNameAndTheKnownOnes) {
  const std::string fault = fault_of({.left_out = "clip.projector_type", .keys = [](GgufWriter& writer) {
                                        writer.add("clip.vision.projector_type", "gemma9v");
                                      }});
  EXPECT_THAT(fault, AllOf(HasSubstr("'gemma9v' are not supported"), HasSubstr("qwen3vl_merger")));
}

TEST(VisionConfig, AnEncoderWithoutLayersHasPatchesAsLargeAsTokens) {
  const VisionConfig config = config_of(TinyTower::gemma4uv());
  EXPECT_EQ(config.num_layers(), 0);
  EXPECT_EQ(config.patch_side, 12);
  EXPECT_EQ(config.token_patches(), 1);
  EXPECT_EQ(config.most_tokens, 50);
  EXPECT_EQ(config.rows_bytes(1), 72 * sizeof(float)) << "there are no keys and values";
  const auto changed = [](const std::string& key, std::uint32_t value) {
    TinyTower tower = TinyTower::gemma4uv();
    tower.replaced = {{"clip.vision." + key, value}};
    return fault_of(tower);
  };
  EXPECT_EQ(changed("block_count", 7), "") << "it says nothing";
  EXPECT_THAT(changed("patch_size", 22), HasSubstr("make tokens of 66 pixels a side, expected at most 64"));
  EXPECT_THAT(changed("patch_size", 8), HasSubstr("v.patch_embd.weight has 72 rows of 432, expected 72 rows of 1728"));
  for (const char* name : {"v.patch_norm.1.weight", "v.patch_norm.2.weight", "v.patch_norm.3.weight",
                           "v.position_embd.weight", "mm.input_projection.weight"}) {
    TinyTower lacking = TinyTower::gemma4uv();
    lacking.left_out = name;
    EXPECT_THAT(fault_of(lacking), HasSubstr(name));
  }
  TinyTower more = TinyTower::gemma4uv();
  more.tensors = [&more](GgufWriter& writer) { more.vector(writer, "v.blk.0.ln1.weight", 72, 1, 0.5F); };
  EXPECT_THAT(fault_of(more), HasSubstr("v.blk.0.ln1.weight' is not part of"));
}

TEST(VisionConfig, AFileWithSoundNamesTheFamilyOfPicturesApart) {
  const TinyTower tower{.left_out = "clip.projector_type",
                        .keys =
                            [](GgufWriter& writer) {
                              writer.add("clip.has_audio_encoder", true);
                              writer.add("clip.vision.projector_type", "qwen3vl_merger");
                            },
                        .tensors =
                            [](GgufWriter& writer) {
                              writer.add_tensor("a.blk.0.ln1.weight", {1}, DType::kF32, "1234");
                              writer.add_tensor("mm.a.fc.weight", {1}, DType::kF32, "1234");
                            }};
  EXPECT_EQ(fault_of(tower), "");
}

TEST(VisionConfig, ATextModelIsNoEncoder) {
  const TinyTower tower{.left_out = "general.architecture",
                        .keys = [](GgufWriter& writer) { writer.add("general.architecture", "qwen3"); }};
  EXPECT_THAT(fault_of(tower), HasSubstr("general.architecture is 'qwen3', expected clip"));
}

TEST(VisionConfig, ATensorThatIsMissingOrUnknownIsNamed) {
  for (const char* name : {"v.patch_embd.weight", "v.position_embd.weight", "v.blk.0.ln1.weight",
                           "v.blk.1.attn_out.weight", "v.blk.1.ffn_down.weight", "v.deepstack.2.fc2.weight",
                           "v.deepstack.0.norm.weight", "v.post_ln.weight", "mm.0.weight", "mm.2.weight"}) {
    TinyTower tower = TinyTower::odd();
    tower.left_out = name;
    EXPECT_THAT(fault_of(tower), HasSubstr(std::string("no tensor ") + name));
  }
  const TinyTower more{
      .tensors = [](GgufWriter& writer) { writer.add_tensor("v.blk.0.ls1.weight", {1}, DType::kF32, "1234"); }};
  EXPECT_THAT(fault_of(more), HasSubstr("'v.blk.0.ls1.weight' is not part of a vision encoder"));
}

TEST(VisionConfig, BiasesAndTheSecondKernelMayBeAbsent) {
  for (const char* name : {"v.patch_embd.weight.1", "v.patch_embd.bias", "v.blk.0.ln1.bias", "v.blk.0.attn_qkv.bias",
                           "v.blk.1.ffn_up.bias", "mm.2.bias"})
    EXPECT_EQ(fault_of({.left_out = name}), "");
}

TEST(VisionConfig, Gemma4HasTablesBoundsAndNormsBehind) {
  const VisionConfig config = config_of(TinyTower::gemma4v_clamped());
  EXPECT_EQ(config.token_side(), 12);
  EXPECT_EQ(config.merged_width(), 72);
  EXPECT_EQ(config.grid_side, 50);
  EXPECT_EQ(config.most_tokens, 16);
  EXPECT_TRUE(config.clamps);
  EXPECT_TRUE(config.merger.standardizes);
  EXPECT_EQ(config.mean[0], 0.5F) << "it reads 2 p - 1";
  EXPECT_EQ(config.deviation[0], 0.5F);
  EXPECT_EQ(config.attention().scale, 1);
  EXPECT_TRUE(config.feed_forward().is_gated);
  EXPECT_FALSE(config_of(TinyTower::gemma4v()).clamps);
  for (const char* name :
       {"v.patch_embd.weight", "v.position_embd.weight", "v.blk.1.attn_q_norm.weight", "v.blk.0.attn_post_norm.weight",
        "v.blk.0.ffn_post_norm.weight", "v.blk.1.ffn_gate.weight", "v.blk.1.ffn_down.output_max",
        "v.blk.0.attn_k.input_min", "v.std_scale", "mm.input_projection.weight"}) {
    TinyTower tower = TinyTower::gemma4v_clamped();
    tower.left_out = name;
    EXPECT_THAT(fault_of(tower), HasSubstr(name));
  }
  TinyTower merges = TinyTower::gemma4v();
  merges.left_out = "clip.vision.projector.scale_factor";
  EXPECT_EQ(config_of(merges).merge_side, 3) << "unless the file says otherwise";
  TinyTower more = TinyTower::gemma4v_clamped();
  more.tensors = [](GgufWriter& writer) { writer.add_tensor("v.blk.0.attn_q.bias", {1}, DType::kF32, "1234"); };
  EXPECT_THAT(fault_of(more), HasSubstr("'v.blk.0.attn_q.bias' is not part of"));
}

TEST(VisionConfig, Gemma3HasOneSizeAndAProjectionThatIsTransposed) {
  const VisionConfig config = config_of(TinyTower::gemma3());
  EXPECT_EQ(config.tile_side, 32);
  EXPECT_EQ(config.most_tokens, 16);
  EXPECT_EQ(config.merged_width(), 72);
  EXPECT_EQ(config.turns, PatchTurns::kNone);
  for (const char* name : {"mm.soft_emb_norm.weight", "mm.input_projection.weight", "v.post_ln.weight"}) {
    TinyTower tower = TinyTower::gemma3();
    tower.left_out = name;
    EXPECT_THAT(fault_of(tower), HasSubstr(name));
  }
  TinyTower merges = TinyTower::gemma3();
  merges.left_out = "clip.vision.projector.scale_factor";
  EXPECT_EQ(config_of(merges).merge_side, 4) << "unless the file says otherwise";
  TinyTower tower = TinyTower::gemma3();
  tower.replaced = {{"clip.vision.image_size", 36}};
  EXPECT_THAT(fault_of(tower), HasSubstr("is 36, 9 patches of 4, expected a multiple of 2"));
  tower.replaced = {{"clip.vision.image_size", 4 * 2 * 65}};
  EXPECT_THAT(fault_of(tower), HasSubstr("up to 4096 tokens"));
}

TEST(VisionConfig, TilesAreOfTheFilesSize) {
  const VisionConfig config = config_of(TinyTower::idefics3());
  EXPECT_EQ(config.tile_side, 96);
  EXPECT_EQ(config.longest_side, 192);
  EXPECT_EQ(config.turns, PatchTurns::kNone);
  const auto fault = [](const char* key, std::uint32_t value) {
    TinyTower tower = TinyTower::idefics3();
    tower.replaced = {{key, value}};
    return fault_of(tower);
  };
  EXPECT_THAT(fault("clip.vision.preproc_image_size", 961), HasSubstr("is 961, expected at most 10 tiles of 96"));
  EXPECT_THAT(fault("clip.vision.image_size", 80),
              HasSubstr("is 80, 5 patches of 16, expected a multiple of clip.vision.projector.scale_factor"));
  EXPECT_THAT(fault("clip.vision.image_size", 8), HasSubstr("is 8, 0 patches of 16"));
  EXPECT_EQ(fault("clip.vision.image_size", 97), "") << "what is beyond the last patch is not seen";
}

TEST(VisionConfig, FilesThatExchangeTheProductsOfAFeedForwardAreRead) {
  const VisionConfig config = config_of(TinyTower::idefics3());
  EXPECT_FALSE(config.swaps_ffn);
  TinyTower tower = TinyTower::idefics3();
  tower.exchanges_ffn = true;
  EXPECT_TRUE(config_of(tower).swaps_ffn);
  EXPECT_EQ(fault_of(tower), "");
}

TEST(VisionConfig, ProjectorsOfOtherFamilies) {
  const VisionConfig lfm = config_of(TinyTower::lfm2()), mistral = config_of(TinyTower::mistral3());
  EXPECT_EQ(lfm.merger.hidden_width, 56);
  EXPECT_EQ(lfm.merger.joined_norm, "mm.input_norm");
  EXPECT_EQ(lfm.places, LearnedPlaces::kSpread);
  EXPECT_EQ(mistral.projected_width(), 72);
  EXPECT_EQ(mistral.merged_width(), 4 * 72);
  EXPECT_EQ(mistral.feed_forward().activation, Activation::kSilu);
  EXPECT_EQ(config_of(TinyTower::pixtral()).merge_side, 1);
  for (const char* name : {"mm.patch_merger.weight", "mm.input_norm.weight", "v.pre_ln.weight", "mm.1.weight"}) {
    TinyTower tower = TinyTower::mistral3();
    tower.left_out = name;
    EXPECT_THAT(fault_of(tower), HasSubstr(std::string("no tensor ") + name));
  }
  TinyTower tower = TinyTower::lfm2();
  tower.left_out = "mm.1.weight";
  EXPECT_THAT(fault_of(tower), HasSubstr("no tensor mm.1.weight"));
  tower = TinyTower::lfm2();
  tower.left_out = "mm.input_norm.weight";
  EXPECT_THAT(fault_of(tower), HasSubstr("'mm.input_norm.bias' is not part of"));
}

TEST(VisionConfig, WindowsAreOf112PixelsAndEveryFewLayersSeeAll) {
  const VisionConfig config = config_of(TinyTower::qwen25vl());
  EXPECT_EQ(config.window_side, 8) << "patches of 14 pixels, four tokens";
  EXPECT_EQ(config.in_windows, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(config.norm, NormKind::kRms);
  EXPECT_EQ(config.merger.hidden_width, 4 * 72);
  TinyTower tower = TinyTower::qwen25vl();
  tower.left_out = "clip.vision.n_wa_pattern";
  EXPECT_THAT(fault_of(tower), HasSubstr("n_wa_pattern"));
  tower = TinyTower::qwen25vl();
  tower.patch = 60;
  EXPECT_THAT(fault_of(tower), HasSubstr("tokens have 120 pixels a side, expected at most 112"));
  tower = TinyTower::qwen25vl();
  tower.left_out = "v.blk.1.ffn_gate.weight";
  EXPECT_THAT(fault_of(tower), HasSubstr("no tensor v.blk.1.ffn_gate.weight"));
}

TEST(VisionConfig, TensorsTellTheFeedForwardOfQwen2) {
  const VisionConfig config = config_of(TinyTower::qwen2vl());
  EXPECT_EQ(config.feed_forward().width, 288) << "the key has the text model's width";
  EXPECT_TRUE(config.quick_gelu);
  EXPECT_TRUE(config.in_windows.empty());
  TinyTower tower = TinyTower::qwen2vl();
  tower.exchanges_ffn = true;
  EXPECT_TRUE(config_of(tower).swaps_ffn);
  EXPECT_EQ(config_of(tower).feed_forward().width, 288);
  EXPECT_EQ(fault_of(tower), "");
  tower.left_out = "v.blk.0.ffn_up.weight";
  EXPECT_THAT(fault_of(tower), HasSubstr("no tensor v.blk.0.ffn_up.weight"));
}

TEST(VisionConfig, RowsAreJoinedBehindALayer) {
  const VisionConfig config = config_of(TinyTower::minicpmv());
  EXPECT_EQ(config.row_join.behind, 1);
  EXPECT_EQ(config.row_join.hidden_width, 400);
  EXPECT_EQ(config.token_patches(), 16);
  EXPECT_EQ(config.token_rows(), 4);
  EXPECT_EQ(config.merged_width(), 4 * 72);
  EXPECT_EQ(config.tile_side, 32);
  EXPECT_EQ(config.grid_side, 5);
  EXPECT_FALSE(config_of(TinyTower::minicpmv_4x()).joins_rows());
  TinyTower tower = TinyTower::minicpmv();
  tower.join = 3;
  EXPECT_THAT(fault_of(tower), HasSubstr("wa_layer_indexes has 3, expected a layer below 3"));
  for (const char* name : {"clip.vision.wa_layer_indexes", "v.vit_merger.ds_ffn_up.weight", "v.vit_merger.ln1.weight",
                           "v.vit_merger.attn_q.weight", "mm.input_norm.weight", "mm.up.weight"}) {
    tower = TinyTower::minicpmv();
    tower.left_out = name;
    EXPECT_THAT(fault_of(tower), HasSubstr(name));
  }
  tower = TinyTower::minicpmv();
  tower.replaced = {{"clip.vision.projector.scale_factor", 3}};
  EXPECT_THAT(fault_of(tower), HasSubstr("scale_factor is 3, expected 2 or 4"));
  tower = TinyTower::minicpmv();
  tower.replaced = {{"clip.vision.image_size", 15}};
  EXPECT_THAT(fault_of(tower), HasSubstr("is 15, expected at least a token's 16"));
}

TEST(VisionConfig, WindowsOfMuseGlimmerAreAsLargeAsItsSquare) {
  const VisionConfig config = config_of(TinyTower::muse_glimmer());
  EXPECT_EQ(config.window_side, 8);
  EXPECT_EQ(config.in_windows, (std::vector<bool>{true, true, true, false, false})) << "the last one sees all";
  EXPECT_EQ(config.merger.hidden_width, 56);
  EXPECT_EQ(config.first_turn, 1);
  TinyTower tower = TinyTower::muse_glimmer();
  tower.grid = 7;
  EXPECT_THAT(
      fault_of(tower),
      HasSubstr(
          "7 places lie along a window's side, expected a multiple of clip.vision.spatial_merge_size, which is 2"));
  for (const char* name : {"mm.0.weight", "mm.1.weight", "v.pre_ln.weight", "v.position_embd.weight"}) {
    tower = TinyTower::muse_glimmer();
    tower.left_out = name;
    EXPECT_THAT(fault_of(tower), HasSubstr(name));
  }
}

TEST(VisionConfig, AFileForAnotherModelIsRefusedWithBothNumbers) {
  const VisionConfig config = config_of(TinyTower::odd());
  EXPECT_TRUE(config.check_fits({.width = 40, .num_deepstack = 2}));
  EXPECT_THAT(config.check_fits({.width = 64, .num_deepstack = 2}).error().message,
              HasSubstr("rows of 40 numbers, expected 64"));
  EXPECT_THAT(config.check_fits({.width = 40}).error().message,
              HasSubstr("makes 2 vectors of a token beside the first"));
}

TEST(VisionConfig, TheMemoryOfWeightsIsCounted) {
  const TinyTower tower;
  const std::string bytes = tower.bytes();
  const auto file = GgufFile::parse(std::as_bytes(std::span(bytes)), "tower.gguf").value();
  const VisionConfig config = VisionConfig::load(file).value();
  const VisionWeightList list = VisionWeightList::create(file, config).value();
  EXPECT_GT(list.bytes(config), std::uint64_t{4} * 256 * 256);
  EXPECT_LT(list.bytes(config), bytes.size());  // of two kernels one is kept
}

}  // namespace
}  // namespace octavo::test

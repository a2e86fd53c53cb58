// What a stage on a card takes over: weights, of which none stay in memory, and layers that belong together. The card
// is an emulation (standin/libcuda.cc).
#include "gpu/card_stage.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "cpu/weights.h"
#include "gpu/kernels_ptx.h"
#include "gpu/make_card_stage.h"
#include "gpu/placement.h"
#include "kernels/dispatch.h"
#include "kernels/pack.h"
#include "kv/kv_budget.h"
#include "model/model_state.h"
#include "model/weight_need.h"
#include "support/tiny_model.h"

namespace octavo::gpu {
namespace {

StateRoom room_of(const ModelConfig& config) {
  return make_room(state_layout(config, KvType::kI16, KvLayout::kPaged, kDefaultBlockSize).value(),
                   {.num_blocks = 4, .num_snapshots = 2})
      .value();
}

/// A model's bytes in memory beside a stage on a card.
class Resident {
 public:
  explicit Resident(const test::TinyModel& recipe) : source_(recipe.source()) {}

  /// With `gpu_layers` on the card, as options have it; 0: all in memory.
  std::uint64_t bytes(int gpu_layers) {
    RunnerRequest request{.source = source_,
                          .config = config_,
                          .weights = list_,
                          .options = {.bits = Bits::kPortable,
                                      .device = gpu_layers > 0 ? Device::kCuda : Device::kCpu,
                                      .gpu_layers = gpu_layers,
                                      .kv_memory_bytes = 1U << 20},
                          .pool = pool_,
                          .kv_budget = budget_};
    const MakeStage make = card_stage_for(request).value();
    std::unique_ptr<StageLoad> stage;
    if (make)
      stage = make({.config = config_,
                    .weights = list_,
                    .room = room_,
                    .options = request.options,
                    .pool = pool_,
                    .max_rows = 8})
                  .value();
    const KernelTable& kernels = kernel_table(IsaLevel::kScalar, Bits::kPortable);
    const Weights weights = Weights::load(source_, list_, kernels, pool_, {}, {}, stage.get()).value();
    hashes_.insert(hex_of(weights.content_hash().hash));
    return weights.total_bytes();
  }
  /// Bytes of the listed entries whose names begin so.
  std::uint64_t bytes_of(const std::string& prefix) const {
    std::uint64_t bytes = 0;
    for (const ListedMatrix& m : list_.matrices)
      if (m.source->name.starts_with(prefix)) bytes += to_size(m.count) * packed_bytes(m.type, m.rows, m.cols);
    for (const ListedVector& v : list_.vectors)
      if (v.source->name.starts_with(prefix)) bytes += vector_floats(v.num_floats()) * sizeof(float);
    return bytes;
  }
  std::size_t num_hashes() const { return hashes_.size(); }

 private:
  test::MemorySource source_;
  ModelConfig config_ = ModelConfig::load(source_).value();
  WeightList list_ = WeightList::create(source_, config_).value();
  StateRoom room_ = room_of(config_);
  ThreadPool pool_{2};
  MemoryBudget budget_{0};
  std::set<std::string> hashes_;
};

class StageOnACard : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kernels_ptx().empty()) GTEST_SKIP() << "not run, this program has no kernels for cards";
    ASSERT_NE(dlopen(OCTAVO_STANDIN_CUDA, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  }
};

TEST_F(StageOnACard, WeightsOfItsLayersTakeNoMemory) {
  for (const char* arch : {"llama", "qwen35", "gpt-oss"}) {
    SCOPED_TRACE(arch);
    Resident model({.arch = arch, .layers = 3, .tied = false, .type = DType::kQ8_0});
    const std::uint64_t all = model.bytes(0);
    EXPECT_EQ(all - model.bytes(1), model.bytes_of("blk.0."));
    EXPECT_EQ(all - model.bytes(2), model.bytes_of("blk.0.") + model.bytes_of("blk.1."));
    // With the output matrix there: the embeddings stay, and the norm that vectors of texts and draft heads read.
    EXPECT_EQ(model.bytes(4), model.bytes_of("token_embd.weight") + model.bytes_of("output_norm.weight"));
    EXPECT_EQ(model.num_hashes(), 1U);  // wherever weights lie
  }
}

TEST_F(StageOnACard, AnEmbeddingThatIsTheOutputMatrixIsInBothPlaces) {
  Resident model({.layers = 2, .tied = true, .type = DType::kQ8_0});
  EXPECT_EQ(model.bytes(3), model.bytes_of("token_embd.weight") + model.bytes_of("output_norm.weight"));
}

TEST(PlacementOfLayers, LayersThatReadOthersKeysAndValuesGoWithThem) {
  const test::MemorySource source =
      test::TinyModel{.layers = 4, .without = {"blk.2.attn_k.weight", "blk.2.attn_v.weight"}}.source();
  ModelConfig config = ModelConfig::load(source).value();
  config.layers[2].attention()->borrows_from = 1;
  const WeightShapes shapes = shapes_of(WeightList::create(source, config).value());
  const StateRoom room = room_of(config);
  const auto placed = [&](int gpu_layers) {
    return place_layers({.config = config, .weights = shapes, .room = room, .max_rows = 8, .gpu_layers = gpu_layers},
                        std::uint64_t{1} << 40)
        .num_layers;
  };
  EXPECT_EQ(placed(1), 1);
  EXPECT_EQ(placed(2), 1);
  EXPECT_EQ(placed(3), 3);
  EXPECT_EQ(placed(-1), 4);
}

// What a card's kernels do not know ends its part with a line, and is never computed without it.
TEST(PlacementOfLayers, FieldsThatNoKernelKnowsEndTheCardsPart) {
  const auto reason = [](const char* arch, const std::function<void(ModelConfig&)>& change) {
    const test::MemorySource source = test::TinyModel{.arch = arch, .layers = 2}.source();
    ModelConfig config = ModelConfig::load(source).value();
    const WeightShapes shapes = shapes_of(WeightList::create(source, config).value());
    const StateRoom room = room_of(config);
    change(config);
    const PlacementRequest request{.config = config, .weights = shapes, .room = room, .max_rows = 8, .gpu_layers = -1};
    const Placement placed = place_layers(request, std::uint64_t{1} << 40);
    EXPECT_FALSE(placed.output);
    return placed.num_layers == 0 ? placed.reason : "";
  };
  const auto as_it_is = [](ModelConfig& /*config*/) {};
  EXPECT_EQ(reason("olmo2", as_it_is), "it has no norms in front of its parts");
  EXPECT_EQ(reason("exaone4", as_it_is), "it has no norms in front of its parts");
  EXPECT_EQ(reason("hunyuan-dense", as_it_is), "it norms Q and K behind their rotation");
  EXPECT_EQ(reason("command-r", as_it_is), "its norms are LayerNorm");
  EXPECT_EQ(reason("cohere2", [](ModelConfig& config) { config.norm = NormKind::kRms; }),
            "its feed-forward reads what its attention reads");
  EXPECT_EQ(reason("llama", [](ModelConfig& config) { config.layers[0].attention()->qk_norm_by_head = true; }),
            "its heads of Q and K have norms of their own");
  EXPECT_EQ(reason("llama", [](ModelConfig& config) { config.layers[0].attention()->qk_norm_is_whole = true; }),
            "it norms all heads of Q and K at once");
  EXPECT_EQ(reason("llama", [](ModelConfig& config) { config.residual_scale = 0.5F; }),
            "what its layers add to the stream is scaled");
  EXPECT_EQ(reason("muse-glimmer", as_it_is), "its norms of results have an epsilon of their own");
  EXPECT_EQ(reason("muse-glimmer", [](ModelConfig& config) { config.post_norm_epsilon = 0; }),
            "its attention has a gate with a matrix of its own");
  EXPECT_EQ(reason("nanbeige", as_it_is), "its layers run several times");
  EXPECT_EQ(reason("starcoder2", as_it_is), "its norms are LayerNorm");
  EXPECT_EQ(reason("stablelm", [](ModelConfig& config) { config.norm = NormKind::kRms; }), "its norms have biases");
  EXPECT_EQ(reason("lfm2", as_it_is), "it is a short convolution");
  EXPECT_EQ(reason("granitehybrid", [](ModelConfig& config) { config.residual_scale = 1; }),
            "its recurrence is Mamba-2");
  EXPECT_EQ(reason("apertus", as_it_is), "its feed-forward's function is xIELU");
  EXPECT_EQ(reason("deepseek2", as_it_is), "its heads share a latent");
  const auto routed = [](RouterSpec router) {
    return [router](ModelConfig& config) { config.layers[0].feed_forward = ExpertsFfnSpec{.router = router}; };
  };
  for (const RouterSpec& router : {RouterSpec{.gate = RouterSpec::Gate::kSigmoid},
                                   RouterSpec{.choice_bias = Presence::kOptional}, RouterSpec{.num_groups = 2}})
    EXPECT_EQ(reason("llama", routed(router)), "its router chooses by more than a softmax");
  EXPECT_EQ(
      reason("llama", [](ModelConfig& config) { config.layers[0].feed_forward = ExpertsFfnSpec{.sum_scale = 2}; }),
      "the sum of its experts' results is scaled");
  EXPECT_EQ(reason("llama", [](ModelConfig& config) { config.layers[0].feed_forward = DenseFfnSpec{.limit = 7}; }),
            "its feed-forward has limits");
  EXPECT_EQ(
      reason("llama", [](ModelConfig& config) { config.layers[0].feed_forward = ExpertsFfnSpec{.shared_limit = 7}; }),
      "its feed-forward has limits");
  EXPECT_EQ(reason("llama4", [](ModelConfig& config) { config.layers[0].attention()->qk_norm_after_rope = false; }),
            "its norms of Q and K have no weights");
  EXPECT_EQ(reason("llama", [](ModelConfig& config) { config.layers[0].attention()->is_chunked = true; }),
            "its attention sees chunks");
  EXPECT_EQ(reason("llama",
                   [](ModelConfig& config) { config.layers[0].feed_forward = ExpertsFfnSpec{.weighs_inputs = true}; }),
            "what its experts read is weighted");
  EXPECT_EQ(
      reason("llama", [](ModelConfig& config) { config.layers[0].feed_forward = ExpertsFfnSpec{.latent_width = 32}; }),
      "its experts work on narrower rows");
  EXPECT_EQ(reason("llama", [](ModelConfig& config) { config.layers[0].mixer = DeltaSpec{.by_key_head = true}; }),
            "its value heads lie by key head");
}

TEST(PlacementOfLayers, LogitsWithAScaleAreTheProcessors) {
  const test::MemorySource source = test::TinyModel{.layers = 2}.source();
  ModelConfig config = ModelConfig::load(source).value();
  config.logit_scale = 0.5F;
  const WeightShapes shapes = shapes_of(WeightList::create(source, config).value());
  const StateRoom room = room_of(config);
  const Placement placed = place_layers(
      {.config = config, .weights = shapes, .room = room, .max_rows = 8, .gpu_layers = -1}, std::uint64_t{1} << 40);
  EXPECT_EQ(placed.num_layers, 2);
  EXPECT_FALSE(placed.output);
  EXPECT_EQ(placed.reason, "its logits have a scale");
}

}  // namespace
}  // namespace octavo::gpu

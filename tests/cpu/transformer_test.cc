// The forward pass against a plain computation from the same specs: what files of today say, and what only specs can.
#include "cpu/transformer.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "cpu/plain_transformer.h"
#include "kernels/dispatch.h"
#include "kv/kv_arena.h"
#include "kv/kv_budget.h"
#include "model/model_runner.h"
#include "model/model_state.h"
#include "support/load_runner.h"
#include "support/tiny_model.h"

namespace octavo::test {
namespace {

constexpr int kMaxTokens = 64;

/// A tiny model whose specs `change` may alter behind its loading.
class Model {
 public:
  explicit Model(const TinyModel& recipe, const std::function<void(ModelConfig&)>& change = {})
      : source_(recipe.source()) {
    config_ = ModelConfig::load(source_).value();
    if (change) change(config_);
    weights_ = load_weights(source_, config_, pool_, false).value();
    const StateLayout layout = state_layout(config_, KvType::kF32, KvLayout::kPaged, kDefaultBlockSize).value();
    const StateRoom room = make_room(layout, {.bytes = 4U << 20}).value();
    kv_ = std::make_unique<KvArena>(KvArena::create(room).value());
    snapshots_ = std::make_unique<SnapshotArena>(SnapshotArena::create(room).value());
    transformer_ = std::make_unique<Transformer>(config_, weights_, *kv_, *snapshots_, kernel_table(IsaLevel::kScalar),
                                                 pool_, kMaxTokens);
  }

  /// Logits of the rows of `tokens` that `wanted` names, read `chunk` at a time, [rows][vocab_size].
  std::vector<float> logits(const std::vector<std::int32_t>& tokens, std::size_t chunk,
                            const std::function<bool(std::size_t)>& wanted) {
    std::vector<float> all;
    for (std::size_t begin = 0; begin < tokens.size(); begin += chunk) {
      const std::size_t end = std::min(tokens.size(), begin + chunk);
      Batch batch;
      batch.groups.resize(static_cast<std::size_t>(kv_->layout().num_groups()));
      batch.clear();
      for (std::size_t i = begin; i < end; ++i) {
        if (wanted(i)) batch.logit_rows.push_back(batch.num_rows());
        batch.tokens.push_back(tokens[i]);
        batch.positions.push_back(static_cast<std::int32_t>(i));
      }
      batch.seq_begin.push_back(batch.num_rows());
      batch.kv_len.push_back(static_cast<std::int32_t>(end));
      if (kv_->layout().snapshot.bytes > 0) {
        batch.state_slots.push_back(0);
        batch.num_drafted.push_back(0);
      }
      for (Batch::Group& group : batch.groups) {
        for (std::int32_t block = 0; block < kMaxTokens / kDefaultBlockSize; ++block) group.block_ids.push_back(block);
        group.block_begin.push_back(static_cast<std::int32_t>(group.block_ids.size()));
      }
      const ThreadPool::Step workers(pool_);
      transformer_->forward(batch);
      const auto part = transformer_->logits(0, static_cast<int>(batch.logit_rows.size()));
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  const ModelConfig& config() const { return config_; }
  PlainTransformer plain() const { return {config_, weights_}; }

 private:
  MemorySource source_;
  ThreadPool pool_{2};
  ModelConfig config_;
  Weights weights_;
  std::unique_ptr<KvArena> kv_;
  std::unique_ptr<SnapshotArena> snapshots_;
  std::unique_ptr<Transformer> transformer_;
};

std::vector<std::int32_t> some_tokens(int count) {
  std::mt19937 random(5);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random() % 80);
  return tokens;
}

void expect_as_plain(Model& model) {
  const std::vector<std::int32_t> tokens = some_tokens(50);
  const PlainTransformer::Rows expected = model.plain().logits(tokens);
  const std::vector<float> found = model.logits(tokens, 20, [](std::size_t) { return true; });
  double largest = 0;
  for (std::size_t row = 0; row < tokens.size(); ++row)
    for (std::size_t i = 0; i < 80; ++i)
      largest = std::max(largest, std::abs(expected[row][i] - static_cast<double>(found[row * 80 + i])));
  EXPECT_LT(largest, 1e-3);
  // Rows whose logits nobody wants change nothing, and a chunk neither.
  const std::vector<float> last = model.logits(tokens, 7, [&](std::size_t i) { return i + 1 == tokens.size(); });
  EXPECT_EQ(last, std::vector<float>(found.end() - 80, found.end()));
}

std::set<std::string> tensors_of(int layer, const std::vector<std::string>& names) {
  std::set<std::string> all;
  for (const std::string& name : names) all.insert("blk." + std::to_string(layer) + "." + name);
  return all;
}

TEST(Transformer, EveryFamilyComputesWhatItsSpecsSay) {
  for (const char* arch : {"llama", "mistral3", "qwen2", "qwen3", "qwen3moe", "qwen35", "qwen35moe", "gemma2", "gemma3",
                           "gemma4", "gpt-oss"}) {
    SCOPED_TRACE(arch);
    Model model({.arch = arch, .layers = 7, .window = 9});
    expect_as_plain(model);
  }
}

TEST(Transformer, LlamaAndMistral3MayHaveExperts) {
  for (const char* arch : {"llama", "mistral3"}) {
    SCOPED_TRACE(arch);
    Model model({.arch = arch, .layers = 3, .experts = 5, .chosen = 2});
    EXPECT_EQ(std::get<ExpertsFfnSpec>(model.config().layer(2).feed_forward).num_experts, 5);
    expect_as_plain(model);
  }
}

TEST(Transformer, FamiliesWithoutBiasesOfTheirOwnMayHaveThem) {
  for (const char* arch :
       {"llama", "mistral3", "qwen2", "qwen3", "qwen3moe", "qwen35", "qwen35moe", "gemma2", "gemma3"}) {
    SCOPED_TRACE(arch);
    Model model({.arch = arch, .layers = 4, .biases = true});
    expect_as_plain(model);
  }
  Model mixture({.layers = 2, .experts = 5, .chosen = 2, .biases = true});
  expect_as_plain(mixture);
}

TEST(Transformer, ANumberBesideAMatrixMultipliesItsProducts) {
  for (const char* arch : {"llama", "qwen2", "qwen3moe", "qwen35", "qwen35moe", "gemma3", "gpt-oss"}) {
    SCOPED_TRACE(arch);
    Model model({.arch = arch, .layers = 4, .factors = true, .biases = std::string(arch) != "gpt-oss"});
    expect_as_plain(model);
  }
}

TEST(Transformer, LayersThatBorrowKeysAndValuesReadTheLenders) {
  std::set<std::string> without = tensors_of(2, {"attn_k.weight", "attn_v.weight"});
  without.merge(tensors_of(3, {"attn_k.weight", "attn_v.weight"}));
  Model model({.layers = 4, .without = without}, [](ModelConfig& config) {
    config.layers[2].attention()->borrows_from = 0;
    config.layers[3].attention()->borrows_from = 1;
  });
  EXPECT_EQ(model.config().last_layer_with_state(), 1);
  expect_as_plain(model);
}

TEST(Transformer, ABorrowedLayerMayLieBetweenOthers) {
  Model model({.layers = 3, .without = tensors_of(1, {"attn_k.weight", "attn_v.weight"})},
              [](ModelConfig& config) { config.layers[1].attention()->borrows_from = 0; });
  EXPECT_EQ(model.config().last_layer_with_state(), 2);
  expect_as_plain(model);
}

TEST(Transformer, ALayerMayLookBackLessFarThanTheOneThatItBorrowsFrom) {
  Model model({.layers = 2, .without = tensors_of(1, {"attn_k.weight", "attn_v.weight"})}, [](ModelConfig& config) {
    config.layers[1].attention()->borrows_from = 0;
    config.layers[1].attention()->window = 11;
  });
  expect_as_plain(model);
}

/// Heads of another width in a layer that loads with those of TinyModel.
void widen(LayerSpec& layer, int head_dim) {
  AttentionSpec& attention = *layer.attention();
  attention.head_dim = head_dim;
  attention.rope.num_rotated = head_dim;
  attention.scale = 1 / std::sqrt(static_cast<float>(head_dim));
}

TEST(Transformer, LayersMayHaveHeadsOfTheirOwnShape) {
  Model model({.arch = "qwen3", .layers = 4, .head_dims = {{1, 64}, {2, 16}}}, [](ModelConfig& config) {
    widen(config.layers[1], 64);
    widen(config.layers[2], 16);
  });
  expect_as_plain(model);
}

// Wide heads where a layer sees all, and behind both kinds layers that borrow from the last of their kind.
TEST(Transformer, Gemma4HasTwoShapesOfHeadsThatAreLent) {
  Model model({.arch = "gemma4", .layers = 6, .window = 9});
  EXPECT_EQ(model.config().layer(2).attention()->head_dim, 64);
  EXPECT_EQ(model.config().layer(4).attention()->borrows_from, 3);
  EXPECT_EQ(model.config().layer(5).attention()->borrows_from, 2);
  EXPECT_EQ(model.config().last_layer_with_state(), 3);
  expect_as_plain(model);
}

TEST(Transformer, Gemma4MayHaveVOfItsOwnAndNoEmbeddingsOfLayers) {
  Model model({.arch = "gemma4", .layers = 4, .window = 9, .per_layer_width = 0, .v_is_k = false});
  EXPECT_FALSE(model.config().layer(2).attention()->v_is_k);
  EXPECT_EQ(model.config().per_layer_width, 0);
  expect_as_plain(model);
}

TEST(Transformer, Gemma4MayHaveExpertsBesideADenseFeedForward) {
  for (const bool fused : {false, true}) {
    SCOPED_TRACE(fused);
    Model model({.arch = "gemma4",
                 .layers = 4,
                 .window = 9,
                 .per_layer_width = 0,
                 .experts = 6,
                 .chosen = 2,
                 .fused_gate_up = fused});
    const auto& experts = std::get<ExpertsFfnSpec>(model.config().layer(3).feed_forward);
    EXPECT_EQ(experts.shared_width, 96);
    EXPECT_TRUE(experts.own_norms);
    expect_as_plain(model);
  }
}

// Then it computes its state for all rows, and the rest for those whose logits are wanted.
TEST(Transformer, TheLastLayerMayBeRecurrent) {
  Model model({.arch = "qwen35", .layers = 3});
  EXPECT_EQ(model.config().last_layer_with_state(), 2);
  expect_as_plain(model);
}

TEST(Transformer, AConvolutionMayBeLongerThanAChunk) {
  Model model({.arch = "qwen35", .taps = 8});
  expect_as_plain(model);
}

TEST(Transformer, LayersMayTurnDifferently) {
  Model model({.layers = 3}, [](ModelConfig& config) {
    config.layers[1].attention()->rope.base = 500.0;
    config.layers[1].attention()->rope.scaling.divisor = 4.0;
    config.layers[2].attention()->rope.num_rotated = 16;  // of 32 dimensions
    config.layers[2].attention()->rope.layout = RopeLayout::kHalves;
  });
  expect_as_plain(model);
}

}  // namespace
}  // namespace octavo::test

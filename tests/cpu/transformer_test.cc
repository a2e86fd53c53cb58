// The forward pass against a plain computation from the same specs: what files of today say, and what only specs can.
#include "cpu/transformer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "base/to_size.h"
#include "cpu/plain_transformer.h"
#include "kernels/dispatch.h"
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
  explicit Model(const TinyModel& recipe, const std::function<void(ModelConfig&)>& change = {},
                 const std::optional<TinyModel>& assistant = {}, const std::vector<LayerRange>& stages = {LayerRange()})
      : source_(recipe.source()) {
    config_ = ModelConfig::load(source_).value();
    if (change) change(config_);
    Result<Weights> loaded = load_weights(source_, config_, pool_, false);
    if (!loaded) throw std::runtime_error(loaded.error().message);
    weights_ = std::move(*loaded);
    layout_ = state_layout(config_, KvType::kF32, KvLayout::kPaged, kDefaultBlockSize).value();
    transformer_ =
        std::make_unique<Transformer>(config_, weights_, kernel_table(IsaLevel::kScalar), Math(), pool_, kMaxTokens);
    const StateRoom room = make_room(layout_, {.bytes = 4U << 20}).value();
    for (const LayerRange& layers : stages) {
      const Result<void> added = transformer_->add_layers(layers, room);
      if (!added) throw std::runtime_error(added.error().message);
    }
    if (!assistant) return;
    assistant_source_ = assistant->source();
    AssistantRequest request = assistant_of(config_, *assistant_source_).value();
    assistant_.emplace(std::move(request.config),
                       Weights::load(*assistant_source_, request.weights, kernel_table(IsaLevel::kScalar), pool_, {},
                                     {.repack = false})
                           .value());
    transformer_->add_assistant(*assistant_);
  }

  /// Logits of the rows of `tokens` that `wanted` names, read `chunk` at a time, [rows][vocab_size].
  std::vector<float> logits(const std::vector<std::int32_t>& tokens, std::size_t chunk,
                            const std::function<bool(std::size_t)>& wanted) {
    std::vector<float> all;
    for (std::size_t begin = 0; begin < tokens.size(); begin += chunk) {
      const std::size_t end = std::min(tokens.size(), begin + chunk);
      Batch batch = rows(tokens, begin, end);
      for (std::size_t i = begin; i < end; ++i)
        if (wanted(i)) batch.logit_rows.push_back(static_cast<std::int32_t>(i - begin));
      const ThreadPool::Step workers(pool_);
      transformer_->forward(batch);
      const auto part = transformer_->logits(0, static_cast<int>(batch.logit_rows.size()));
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  /// Computes tokens [begin, end), of which the last `num_drafted` are drafted and `num_right` of those turn out right.
  void compute(const std::vector<std::int32_t>& tokens, std::size_t begin, std::size_t end, int num_drafted,
               int num_right) {
    Batch batch = rows(tokens, begin, end);
    batch.num_drafted[0] = num_drafted;
    const ThreadPool::Step workers(pool_);
    transformer_->forward(batch);
    const StateAdvance advance{.state_slot = 0, .first_row = 0, .num_rows = num_right};
    transformer_->advance_states({&advance, 1});
  }

  /// Guesses of the draft head, or of the assistant, behind the last token, which is not computed; `candidates`: words
  /// behind the common ones; `hidden_row`: of the last batch's rows of logits, the one before that token.
  std::vector<GuessedToken> guess(const std::vector<std::int32_t>& tokens, int count,
                                  const std::vector<std::int32_t>& candidates = {}, std::int32_t hidden_row = 0) {
    GuessBatch batch;
    batch.clear();
    batch.rows = rows(tokens, tokens.size() - 1, tokens.size());
    batch.num_guesses.push_back(count);
    batch.draws.emplace_back();  // the likeliest words
    if (assistant_) {
      batch.hidden_rows.push_back(hidden_row);
      --batch.rows.kv_len[0];
    }
    batch.candidates = candidates;
    batch.candidate_begin.push_back(static_cast<std::int32_t>(candidates.size()));
    const ThreadPool::Step workers(pool_);
    const auto guesses = transformer_->guess(batch);
    return {guesses.begin(), guesses.end()};
  }

  /// Gives vectors in place of tokens: rows of the sequence from now on.
  void give(const GivenVectors& given) { given_ = given; }
  /// The embedding of a token, as layers find it.
  std::vector<float> embedding_of(std::int32_t token) const {
    std::vector<float> row(to_size(config_.width));
    std::memcpy(row.data(), source_.find_tensor("token_embd.weight")->tensor.data.data() + token * row.size() * 4,
                row.size() * 4);
    for (float& x : row) x *= config_.embedding_scale;
    return row;
  }

  std::span<const std::int32_t> spoiled() const { return transformer_->findings().spoiled; }
  const ModelConfig& config() const { return config_; }
  PlainTransformer plain() const { return {config_, weights_}; }

 private:
  /// A batch of these rows of one sequence, without logits.
  Batch rows(const std::vector<std::int32_t>& tokens, std::size_t begin, std::size_t end) const {
    Batch batch;
    batch.groups.resize(static_cast<std::size_t>(layout_.num_groups()));
    batch.clear();
    for (std::size_t i = begin; i < end; ++i)
      batch.add_row(tokens[i], static_cast<std::int32_t>(i), static_cast<std::int32_t>(i));
    const auto first = static_cast<std::int32_t>(begin);
    const std::int32_t from = std::max(given_.first_row, first);
    const std::int32_t to = std::min(given_.first_row + given_.num_rows, static_cast<std::int32_t>(end));
    if (from < to)
      batch.given.push_back(
          {from - first, to - from, given_.index + from - given_.first_row, given_.vectors, given_.width});
    batch.seq_begin.push_back(batch.num_rows());
    batch.kv_len.push_back(static_cast<std::int32_t>(end));
    if (layout_.snapshot.bytes > 0) {
      batch.state_slots.push_back(0);
      batch.num_drafted.push_back(0);
    }
    for (Batch::Group& group : batch.groups) {
      for (std::int32_t block = 0; block < kMaxTokens / kDefaultBlockSize; ++block) group.block_ids.push_back(block);
      group.block_begin.push_back(static_cast<std::int32_t>(group.block_ids.size()));
    }
    return batch;
  }

  MemorySource source_;
  ThreadPool pool_{2};
  ModelConfig config_;
  Weights weights_;
  StateLayout layout_;
  std::unique_ptr<Transformer> transformer_;
  std::optional<MemorySource> assistant_source_;
  std::optional<AssistantModel> assistant_;
  GivenVectors given_{};
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
  for (const char* arch : {"llama",          "mistral3",      "qwen2",      "qwen3",      "qwen3moe",      "qwen35",
                           "qwen35moe",      "gemma2",        "gemma3",     "gemma4",     "gpt-oss",       "seed_oss",
                           "ernie4_5",       "hunyuan-dense", "olmo2",      "exaone4",    "command-r",     "cohere2",
                           "glm4",           "granite",       "granitemoe", "smollm3",    "minicpm",       "arcee",
                           "qwen2vl",        "muse-glimmer",  "phi3",       "starcoder2", "stablelm",      "apertus",
                           "glm4moe",        "qwen3next",     "lfm2",       "nanbeige",   "granitehybrid", "nemotron_h",
                           "nemotron_h_moe", "falcon-h1",     "spark2_5",   "cohere2moe", "llama4",        "step35",
                           "deepseek2",      "lfm3"}) {
    SCOPED_TRACE(arch);
    Model model({.arch = arch, .layers = 7, .window = 9});
    expect_as_plain(model);
  }
}

TEST(Transformer, ExpertsMayReadNarrowerOrWiderRowsThanTheirRouter) {
  const auto all = [](std::size_t) { return true; };
  for (const std::uint32_t expert_rows : {32U, 96U})
    for (const DType type : {DType::kF32, DType::kQ8_0}) {
      SCOPED_TRACE(expert_rows);
      const TinyModel tiny{.arch = "nemotron_h_moe", .layers = 4, .type = type, .expert_rows = expert_rows};
      Model model(tiny), stages(tiny, {}, {}, {{.first = 0, .end = 2}, {.first = 2}});
      if (type == DType::kF32) expect_as_plain(model);
      const std::vector<float> whole = model.logits(some_tokens(30), 30, all);
      EXPECT_EQ(model.logits(some_tokens(30), 7, all), whole);
      EXPECT_EQ(model.logits(some_tokens(30), 1, all), whole);
      EXPECT_EQ(stages.logits(some_tokens(30), 7, all), whole);
    }
}

TEST(Transformer, QOfLatentAttentionMayBeMadeOfTheStream) {
  Model model({.arch = "deepseek2", .layers = 3, .q_rank = 0});
  expect_as_plain(model);
}

TEST(Transformer, HeadsOfQAndKMayHaveNormsOfTheirOwn) {
  for (const char* arch : {"command-r", "stablelm"}) {
    SCOPED_TRACE(arch);
    Model model(
        {.arch = arch, .layers = 3, .norms_by_head = true, .is_parallel = std::string_view(arch) == "stablelm"});
    expect_as_plain(model);
  }
}

TEST(Transformer, AGateOfAttentionsResultMayBeOfElementsOrHeadsAndEitherFunction) {
  for (const DType type : {DType::kF32, DType::kQ8_0})
    for (const bool is_of_heads : {false, true})
      for (const GateFunction function : {GateFunction::kSigmoid, GateFunction::kSoftplus}) {
        TinyModel tiny{.arch = "muse-glimmer", .layers = 4, .window = 9, .type = type};
        tiny.gates_of_heads = is_of_heads;
        Model model(tiny, [&](ModelConfig& config) {
          for (LayerSpec& layer : config.layers)
            layer.attention()->output_gate = OutputGate{.function = function, .is_of_heads = is_of_heads};
        });
        SCOPED_TRACE(is_of_heads);
        if (type == DType::kF32) expect_as_plain(model);
        const auto all = [](std::size_t) { return true; };
        EXPECT_EQ(model.logits(some_tokens(30), 7, all), model.logits(some_tokens(30), 1, all));
      }
}

// The list is chosen by the context that is served, not by the length of a sequence: 12 tokens of a model that serves
// 100 have the angles of the long one.
TEST(Transformer, TheServedContextChoosesTheListOfRopeFactors) {
  const auto all = [](std::size_t) { return true; };
  const TinyModel tiny{.arch = "phi3", .layers = 2, .fused_qkv = true, .long_context = true};
  const auto served = [&](RopeFactors list) {
    return Model(tiny, [&](ModelConfig& config) {
      for (LayerSpec& layer : config.layers) layer.attention()->rope.list = list;
    });
  };
  Model as_trained(tiny), in_short = served(RopeFactors::kOfShortContexts),
                          in_long = served(RopeFactors::kOfLongContexts);
  EXPECT_EQ(as_trained.config().rope_factors(), RopeFactors::kOfLongContexts);
  expect_as_plain(in_short);
  expect_as_plain(in_long);
  const std::vector<std::int32_t> tokens = some_tokens(12);
  EXPECT_EQ(as_trained.logits(tokens, 12, all), in_long.logits(tokens, 12, all));
  EXPECT_NE(in_short.logits(tokens, 12, all), in_long.logits(tokens, 12, all));
}

// The last layers of some depths have nothing, or nothing that later rows read, and so have the first of some stages.
TEST(Transformer, ALayerMayHaveNoMixerOrNoFeedForwardOrNeither) {
  for (std::uint32_t layers = 2; layers <= 9; ++layers) {
    SCOPED_TRACE(layers);
    for (const DType type : {DType::kF32, DType::kQ8_0}) {
      Model model({.arch = "deci", .layers = layers, .type = type});
      if (type == DType::kF32) expect_as_plain(model);
      const std::vector<float> whole = model.logits(some_tokens(30), 7, [](std::size_t i) { return i % 3 == 0; });
      for (int border = 1; border < static_cast<int>(layers); ++border) {
        Model stages({.arch = "deci", .layers = layers, .type = type}, {}, {},
                     {{.first = 0, .end = border}, {.first = border, .end = static_cast<int>(layers)}});
        EXPECT_EQ(stages.logits(some_tokens(30), 7, [](std::size_t i) { return i % 3 == 0; }), whole) << border;
      }
    }
  }
}

// Vectors that are the embeddings of tokens, in place of placeholders: everything is as with these tokens.
TEST(Transformer, GivenVectorsTakeThePlaceOfEmbeddings) {
  constexpr std::int32_t kFirst = 5, kCount = 10, kIndex = 2;
  for (const char* arch : {"llama", "gemma3", "qwen35"}) {
    SCOPED_TRACE(arch);
    const bool has_head = std::string_view(arch) == "qwen35";
    Model model({.arch = arch, .layers = 4, .head = has_head ? TinyModel::Head::kRandom : TinyModel::Head::kNone},
                [&](ModelConfig& config) {
                  if (has_head) config.add_draft_head();
                });
    const std::vector<std::int32_t> tokens = some_tokens(30);
    const auto all = [](std::size_t) { return true; };
    const auto guesses = [&](const std::vector<std::int32_t>& known) {
      std::vector<std::int32_t> ids;
      for (const GuessedToken& guess : has_head ? model.guess(known, 3) : std::vector<GuessedToken>())
        ids.insert(ids.end(), {guess.token, guess.chance});
      return ids;
    };
    const std::vector<float> expected = model.logits({tokens.begin(), tokens.end() - 1}, 64, all);
    const std::vector<std::int32_t> expected_guesses = guesses(tokens);

    std::vector<std::int32_t> placeholders = tokens;
    std::fill_n(placeholders.begin() + kFirst, kCount, 0);
    std::vector<float> vectors(to_size(kIndex * model.config().width), 9.0F);
    for (std::int32_t row = kFirst; row < kFirst + kCount; ++row) {
      const std::vector<float> embedding = model.embedding_of(tokens[to_size(row)]);
      vectors.insert(vectors.end(), embedding.begin(), embedding.end());
    }
    EXPECT_NE(model.logits({placeholders.begin(), placeholders.end() - 1}, 64, all), expected);
    model.give({.first_row = kFirst,
                .num_rows = kCount,
                .index = kIndex,
                .vectors = vectors.data(),
                .width = model.config().width});
    for (const std::size_t chunk : {64U, 7U, 1U}) {
      EXPECT_EQ(model.logits({placeholders.begin(), placeholders.end() - 1}, chunk, all), expected) << chunk;
      EXPECT_EQ(guesses(placeholders), expected_guesses) << chunk;
    }
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
  for (const char* arch : {"llama", "mistral3", "qwen2", "qwen3", "qwen3moe", "qwen35", "qwen35moe", "gemma2", "gemma3",
                           "lfm2", "granitehybrid", "falcon-h1"}) {
    SCOPED_TRACE(arch);
    Model model({.arch = arch, .layers = 4, .biases = true});
    expect_as_plain(model);
  }
  Model mixture({.layers = 2, .experts = 5, .chosen = 2, .biases = true});
  expect_as_plain(mixture);
}

TEST(Transformer, ANumberBesideAMatrixMultipliesItsProducts) {
  for (const char* arch : {"llama", "qwen2", "qwen3moe", "qwen35", "qwen35moe", "gemma3", "gpt-oss", "lfm2",
                           "granitehybrid", "nemotron_h"}) {
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

TEST(Transformer, ValuesMayBeNarrowerOrWiderThanKeys) {
  for (const std::uint32_t value_dim : {20U, 48U})
    for (const bool fused : {false, true}) {
      SCOPED_TRACE(value_dim);
      Model model({.layers = 3, .v_head_dim = value_dim, .fused_qkv = fused, .biases = !fused});
      expect_as_plain(model);
    }
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
TEST(Transformer, TheLastLayerMayBeRecurrentAndAConvolutionLongerThanAChunk) {
  for (const char* arch : {"qwen35", "lfm2", "granitehybrid", "falcon-h1"}) {
    Model model({.arch = arch, .layers = 3, .taps = 8});
    EXPECT_EQ(model.config().last_layer_with_state(), 2);
    expect_as_plain(model);
  }
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

void add_head(ModelConfig& config) { config.add_draft_head(); }

/// The guesses are those of the plain computation, and so are their chances, among the words that they may be.
void expect_guesses(const PlainTransformer::Rows& expected, const std::vector<GuessedToken>& found) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto best = std::ranges::max_element(expected[i]);
    double sum = 0;
    for (const double logit : expected[i]) sum += std::exp(logit - *best);
    EXPECT_EQ(found[i].token, best - expected[i].begin()) << i;
    EXPECT_NEAR(found[i].chance, GuessedToken::kSure / sum, 2) << i;
  }
}

TEST(Transformer, ARowOfStagesGivesTheBitsOfOne) {
  const std::vector<std::int32_t> tokens = some_tokens(40);
  for (const char* arch :
       {"llama", "qwen35", "lfm2", "granitehybrid", "nemotron_h_moe", "falcon-h1", "qwen3moe", "gemma3", "gemma4"}) {
    SCOPED_TRACE(arch);
    const TinyModel recipe{.arch = arch, .layers = 4, .window = 9};
    Model one(recipe), three(recipe, {}, {}, {{.first = 0, .end = 1}, {.first = 1, .end = 3}, {.first = 3}});
    for (const std::size_t every : {1U, 5U}) {
      const auto wanted = [&](std::size_t i) { return i % every == 0; };
      EXPECT_EQ(one.logits(tokens, 9, wanted), three.logits(tokens, 9, wanted));
    }
  }
}

TEST(Transformer, ADraftHeadGuessesByItsOwnKeysAndValuesAndTheHiddenRowInFront) {
  for (const char* arch : {"qwen35", "qwen35moe"})
    for (const bool has_own : {false, true}) {
      SCOPED_TRACE(std::string(arch) + (has_own ? " with an embedding and an output of its own" : ""));
      Model model({.arch = arch, .layers = 4, .head = TinyModel::Head::kRandom, .head_has_own = has_own}, add_head);
      EXPECT_EQ(model.config().num_layers(), 4);
      const std::vector<std::int32_t> tokens = some_tokens(30);
      const PlainTransformer::Rows expected = model.plain().guesses(tokens, 3);
      for (const std::size_t chunk : {64U, 7U, 1U}) {
        model.logits({tokens.begin(), tokens.end() - 1}, chunk, [](std::size_t) { return false; });
        expect_guesses(expected, model.guess(tokens, 3));
      }
      expect_guesses(expected, model.guess(tokens, 3));  // what it has guessed is nothing that it goes on from
    }
}

// The guesses of `tools/oracle.py --guesses 4`, which agrees with llama.cpp's own within 2e-5 in every logit.
TEST(Transformer, ADraftHeadsGuessesAreTheOracles) {
  const std::map<std::string, std::vector<std::pair<int, double>>> oracle = {
      {"qwen35", {{25, 0.23409}, {1, 0.22836}, {69, 0.06779}, {22, 0.0676}}},
      {"qwen35moe", {{50, 0.11336}, {41, 0.05915}, {54, 0.18986}, {39, 0.07131}}}};
  for (const auto& [arch, expected] : oracle) {
    SCOPED_TRACE(arch);
    Model model({.arch = arch, .layers = 4, .head = TinyModel::Head::kRandom}, add_head);
    const std::vector<std::int32_t> tokens = some_tokens(30);
    model.compute(tokens, 0, 29, 0, 0);
    const std::vector<GuessedToken> found = model.guess(tokens, 4);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(found[i].token, expected[i].first) << i;
      EXPECT_NEAR(found[i].chance, GuessedToken::kSure * expected[i].second, 1) << i;
    }
  }
}

const TinyModel kAssisted = {.arch = "gemma4", .layers = 6, .window = 12};
const TinyModel kAssistant = {
    .arch = "gemma4-assistant", .layers = 3, .width = 32, .window = 12, .per_layer_width = 0, .model_width = 64};

// The guesses of `tools/oracle.py --draft ASSISTANT --guesses 4`, which agrees with transformers within 7e-6 in every
// logit (tests/e2e/test_truth_original.py). The text is longer than the window.
TEST(Transformer, AnAssistantsGuessesAreTheOracles) {
  const std::vector<std::pair<int, double>> oracle = {{76, 0.06697}, {30, 0.07129}, {71, 0.13713}, {30, 0.07334}};
  Model model(kAssisted, {}, kAssistant);
  const std::vector<std::int32_t> tokens = some_tokens(30);
  for (const std::size_t chunk : {64U, 7U, 1U}) {
    model.logits({tokens.begin(), tokens.end() - 1}, chunk, [](std::size_t i) { return i == 28; });
    for (int i = 0; i < 2; ++i) {  // what it has guessed is nothing that it goes on from
      const std::vector<GuessedToken> found = model.guess(tokens, 4);
      for (std::size_t j = 0; j < 4; ++j) {
        EXPECT_EQ(found[j].token, oracle[j].first) << j;
        EXPECT_NEAR(found[j].chance, GuessedToken::kSure * oracle[j].second, 2) << j;
      }
    }
  }
}

TEST(Transformer, AnAssistantGoesOnFromAnyRowOfTheLastBatch) {
  Model model(kAssisted, {}, kAssistant);
  const std::vector<std::int32_t> tokens = some_tokens(30);
  std::vector<std::vector<GuessedToken>> expected;
  for (std::size_t size = 21; size <= 26; ++size) {
    model.logits({tokens.begin(), tokens.begin() + std::ptrdiff_t(size - 1)}, 64,
                 [&](std::size_t i) { return i == size - 2; });
    expected.push_back(model.guess({tokens.begin(), tokens.begin() + std::ptrdiff_t(size)}, 3));
  }
  model.logits({tokens.begin(), tokens.begin() + 25}, 64, [](std::size_t i) { return i >= 19; });
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto found = model.guess({tokens.begin(), tokens.begin() + std::ptrdiff_t(21 + i)}, 3, {}, std::int32_t(i));
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(found[j].token, expected[i][j].token) << i;
      EXPECT_EQ(found[j].chance, expected[i][j].chance) << i;
    }
  }
}

TEST(Transformer, AnAssistantChangesNoLogits) {
  Model with(kAssisted, {}, kAssistant);
  expect_as_plain(with);
  Model without(kAssisted);
  const std::vector<std::int32_t> tokens = some_tokens(50);
  const auto some = [](std::size_t i) { return i % 3 == 1; };
  EXPECT_EQ(with.logits(tokens, 20, some), without.logits(tokens, 20, some));
}

TEST(Transformer, ADraftHeadGoesOnFromDraftedRowsThatWereRight) {
  Model model({.arch = "qwen35", .layers = 2, .head = TinyModel::Head::kRandom}, add_head);
  const std::vector<std::int32_t> tokens = some_tokens(40);
  for (const int num_right : {0, 3, 5}) {
    std::vector<std::int32_t> drafted(tokens.begin(), tokens.begin() + 20);
    for (std::size_t i = 15 + static_cast<std::size_t>(num_right); i < 20; ++i) drafted[i] = (drafted[i] + 1) % 80;
    model.compute(drafted, 0, 20, 5, num_right);
    const auto known = static_cast<std::ptrdiff_t>(16 + num_right);
    const std::vector<std::int32_t> text(tokens.begin(), tokens.begin() + known);
    expect_guesses(model.plain().guesses(text, 3), model.guess(text, 3));
    const auto begin = static_cast<std::size_t>(known - 1);
    model.compute(tokens, begin, 39, 0, 0);
    expect_guesses(model.plain().guesses(tokens, 3), model.guess(tokens, 3));
  }
}

TEST(Transformer, ASequenceWithARowThatIsNotFiniteIsNamedInFrontOfADraftHead) {
  for (const bool is_bad : {true, false}) {
    Model model({.arch = "qwen35", .layers = 2, .head = TinyModel::Head::kRandom}, [is_bad](ModelConfig& config) {
      config.add_draft_head();
      if (is_bad) config.embedding_scale = std::numeric_limits<float>::quiet_NaN();
    });
    model.compute(some_tokens(9), 0, 9, 0, 0);
    EXPECT_EQ(model.spoiled().size(), is_bad ? 1U : 0U);
  }
}

TEST(Transformer, ADraftHeadChangesNoLogits) {
  Model with({.arch = "qwen35moe", .layers = 4, .head = TinyModel::Head::kRandom}, add_head);
  expect_as_plain(with);
  Model without({.arch = "qwen35moe", .layers = 4, .head = TinyModel::Head::kRandom});
  const std::vector<std::int32_t> tokens = some_tokens(50);
  const auto some = [](std::size_t i) { return i % 3 == 1; };
  EXPECT_EQ(with.logits(tokens, 20, some), without.logits(tokens, 20, some));
}

// A vocabulary that is larger than what the head always looks at.
TEST(Transformer, GuessesAreCommonWordsOrCandidates) {
  const std::uint32_t vocab = kCommonTokens + 100;
  Model model({.arch = "qwen35", .layers = 2, .vocab = vocab, .head = TinyModel::Head::kRandom}, add_head);
  const std::vector<std::int32_t> tokens = some_tokens(9);
  model.compute(tokens, 0, 8, 0, 0);
  PlainTransformer::Rows expected = model.plain().guesses(tokens, 1);
  const auto rare = std::max_element(expected[0].begin() + kCommonTokens, expected[0].end());
  const auto candidate = static_cast<std::int32_t>(rare - expected[0].begin());
  for (const std::vector<std::int32_t>& candidates : {std::vector<std::int32_t>{}, {candidate}}) {
    PlainTransformer::Rows limited = expected;
    for (std::int32_t token = kCommonTokens; token < static_cast<std::int32_t>(vocab); ++token)
      if (std::ranges::find(candidates, token) == candidates.end()) limited[0][static_cast<std::size_t>(token)] = -1e9;
    expect_guesses(limited, model.guess(tokens, 1, candidates));
  }
}

}  // namespace
}  // namespace octavo::test

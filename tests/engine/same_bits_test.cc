// The engine on the real model code: the same bits whatever the chunk, company, threads, cache, forks and layout, for
// every element type of the KV memory.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "cpu/cpu_runner.h"
#include "engine/engine_impl.h"
#include "model/model_state.h"
#include "source/open_model.h"
#include "support/load_runner.h"
#include "support/temp_file.h"
#include "support/tiny_model.h"
#include "support/tiny_vocab.h"

namespace octavo {
namespace {

using test::TempFile;
using test::TinyModel;

struct Options {
  KvLayout layout = KvLayout::kPaged;
  int num_threads = 1;
  bool changes_width = false;  // each step has another number of these threads
  int max_step_tokens = 512;
  bool prefix_cache = true;
  int kv_tokens = 0;                    // of the KV memory; 0: enough
  double step_ms = 0;                   // 0: any
  std::optional<DraftMode> draft = {};  // none: off, but for a model with a draft head, which guesses
  int num_words = 32;                   // of the tokenizer, which are those that are drawn
  std::uint32_t vocab = 80;             // words of the model
};

/// All that is bit-identical of a choice: tokens, their log-probabilities, and logits of the prompt where asked for.
struct Bits {
  std::vector<TokenId> tokens;
  std::vector<float> floats;
  int cached_tokens = 0;

  friend bool operator==(const Bits& a, const Bits& b) {
    return a.tokens == b.tokens && a.floats.size() == b.floats.size() &&
           std::memcmp(a.floats.data(), b.floats.data(), a.floats.size() * sizeof(float)) == 0;
  }
};

constexpr const char* kAssistant = "gemma4-assistant";

/// gemma4 has windowed layers, global ones with wider heads, and behind both kinds layers that borrow the keys and
/// values of the last of their kind; with experts it has these beside each dense feed-forward. Of the models with a
/// draft head one guesses what the model says next, most of the time.
TinyModel recipe_of(const std::string& arch) {
  if (arch == "qwen35-head")
    return {.arch = "qwen35", .layers = 4, .tied = false, .type = DType::kQ8_0, .head = TinyModel::Head::kAgrees};
  if (arch == "qwen35moe-head")
    return {.arch = "qwen35moe", .layers = 2, .type = DType::kQ8_0, .head = TinyModel::Head::kRandom};
  if (arch == "gemma4-assisted") return {.arch = "gemma4", .layers = 6, .is_simple = true, .type = DType::kQ8_0};
  if (arch == "gemma4-experts")
    return {.arch = "gemma4", .layers = 4, .type = DType::kQ8_0, .experts = 6, .fused_gate_up = true};
  // Its embeddings are so large that with the same output matrix each token would be followed by itself.
  if (arch == "minicpm3") return {.arch = arch, .layers = 6, .tied = false, .type = DType::kQ8_0};
  return {.arch = arch, .layers = 6, .type = DType::kQ8_0};
}

/// The assistant of "gemma4-assisted", which guesses what that says next, most of the time.
TinyModel assistant_recipe() {
  return {.arch = kAssistant,
          .layers = 3,
          .per_layer_width = 0,
          .model_width = 64,
          .is_simple = true,
          .type = DType::kQ8_0};
}

/// A model's file, written once for all tests: drawing the weights takes longer than most tests run.
const TempFile& file_of_model(const std::string& arch, std::uint32_t vocab) {
  static std::map<std::pair<std::string, std::uint32_t>, TempFile> files;
  const std::pair key(arch, vocab);
  if (const auto known = files.find(key); known != files.end()) return known->second;
  TinyModel recipe = arch == kAssistant ? assistant_recipe() : recipe_of(arch);
  recipe.vocab = vocab;
  return files.try_emplace(key, recipe.bytes(), ".gguf").first->second;
}

class RealEngine {
 public:
  RealEngine(const std::string& arch, KvType type, const Options& options) {
    EngineParts parts;
    parts.source = open_model(file_of_model(arch, options.vocab).path()).value();
    parts.resources = resources_ = Resources::create({.num_threads = options.num_threads}).value();
    changes_width_ = options.changes_width;
    parts.text.words = ModelTokenizer(test::tiny_tokenizer(options.num_words));
    ModelConfig config = ModelConfig::load(*parts.source).value();
    if (config.prediction_layer && options.draft != DraftMode::kOff) config.add_draft_head();
    std::optional<AssistantRequest> assistant;
    std::unique_ptr<const ModelSource> assistant_source;
    if (arch == "gemma4-assisted" && options.draft != DraftMode::kOff) {
      assistant_source = open_model(file_of_model(kAssistant, options.vocab).path()).value();
      assistant.emplace(test::assistant_of(config, *assistant_source).value());
    }
    const DraftMode usual = config.has_draft_head || assistant ? DraftMode::kMtp : DraftMode::kOff;
    std::uint64_t kv_bytes = 8U << 20;
    int max_sequences = 16;
    if (options.kv_tokens != 0) {
      const KvNeed need = kv_need(config, type, kDefaultBlockSize, options.kv_tokens);
      kv_bytes = need.bytes + need.recurrent_bytes;  // of two sequences
      if (need.recurrent_bytes != 0) max_sequences = 2;
    }
    auto runner =
        test::load_cpu_runner(*parts.source, std::move(config),
                              {.isa = std::string(isa_name(supported_isa_levels().back())),
                               .kv_type = type,
                               .kv_layout = options.layout,
                               .kv_memory_bytes = kv_bytes,
                               .max_step_tokens = options.max_step_tokens,
                               .max_sequences = max_sequences},
                              parts.resources->impl().threads, parts.resources->impl().kv_memory, std::move(assistant));
    parts.runner = std::move(runner).value();
    parts.prefix_cache = options.prefix_cache;
    parts.draft.mode = options.draft.value_or(usual);
    parts.text.info.max_context = 1024;
    parts.limits = {.max_step_tokens = options.max_step_tokens, .max_sequences = 16, .step_ms = options.step_ms};
    engine_ = EngineImpl::create(std::move(parts)).value();
  }

  /// Runs the requests together, each `steps_between` steps behind the one before; gives the choices of all, in order.
  std::vector<Bits> run(std::vector<Request> requests, int steps_between = 0) {
    std::map<std::pair<RequestId, std::uint32_t>, Bits> bits;
    for (Request& request : requests) {
      const auto id = engine_->submit(std::move(request), [&](const TokenEvent& event) {
        Bits& own = bits[{event.request, event.choice}];
        own.tokens.push_back(event.token);
        own.floats.push_back(event.logprob);
        own.cached_tokens = event.stats.cached_tokens;
      });
      EXPECT_TRUE(id) << id.error().message;
      for (int i = 0; i < steps_between; ++i) EXPECT_TRUE(step() && engine_->check_integrity());
    }
    while (step()) EXPECT_TRUE(engine_->check_integrity());
    std::vector<Bits> all;
    all.reserve(bits.size());
    for (auto& [key, own] : bits) all.push_back(std::move(own));
    return all;
  }
  /// Runs the requests together, the first one until it has `cancel_at` tokens; gives the bits of each.
  std::vector<Bits> run_cancelling(std::vector<Request> requests, std::size_t cancel_at) {
    std::vector<Bits> all(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto id = engine_->submit(std::move(requests[i]), [&, i](const TokenEvent& event) {
        if (event.token < 0) return;
        all[i].tokens.push_back(event.token);
        all[i].floats.push_back(event.logprob);
        if (i == 0 && all[i].tokens.size() == cancel_at) engine_->cancel(event.request);
      });
      EXPECT_TRUE(id) << id.error().message;
    }
    while (engine_->step()) EXPECT_TRUE(engine_->check_integrity());
    return all;
  }
  std::shared_ptr<const Constraint> compile(const ConstraintSource& source) {
    return engine_->text()->compile_constraint(source).value();
  }
  /// The sum of the probabilities of the likeliest tokens in place of those that are drawn, all among the top_k.
  double sum_of_likeliest(Request request) {
    double sum = 0;
    request.top_logprobs = std::max(1, request.sampling.top_k);
    const bool is_cut = request.sampling.top_k > 0;
    const auto id = engine_->submit(std::move(request), [&](const TokenEvent& event) {
      double mass = 0;
      for (const TokenLogprob& one : event.top_logprobs) mass += std::exp(double{one.logprob});
      if (mass > 0) sum += std::exp(double{event.top_logprobs[0].logprob}) / (is_cut ? mass : 1);
    });
    EXPECT_TRUE(id) << id.error().message;
    while (engine_->step()) {
    }
    return sum;
  }
  std::uint64_t num_preemptions() const { return engine_->stats().preemptions; }
  EngineStats stats() const { return engine_->stats(); }
  Bits run(const Request& request) { return run(std::vector{request}).at(0); }
  /// With the logits of the prompt.
  Bits run_with_logits(Request request) {
    std::vector<float> logits;
    request.on_prompt_logits = [&](int, std::span<const float> rows) {
      logits.insert(logits.end(), rows.begin(), rows.end());
    };
    Bits bits = run(request);
    bits.floats.insert(bits.floats.end(), logits.begin(), logits.end());
    return bits;
  }

 private:
  bool step() {
    ThreadPool& pool = resources_->impl().threads;
    if (changes_width_) pool.set_width(1 + pool.width() % pool.num_threads());
    return engine_->step();
  }

  std::shared_ptr<Resources> resources_;
  bool changes_width_ = false;
  std::unique_ptr<EngineImpl> engine_;
};

Request some_request(int prompt_tokens, int max_tokens, unsigned seed) {
  std::mt19937 random(seed);
  Request request{.max_tokens = max_tokens, .ignore_eos = true};
  for (int i = 0; i < prompt_tokens; ++i) request.tokens.push_back(static_cast<TokenId>(random() % 80));
  request.sampling = {.temperature = 0.9F, .seed = seed};
  return request;
}

class SameBits : public ::testing::TestWithParam<std::tuple<std::string, KvType>> {
 protected:
  static RealEngine engine(const Options& options = {}) {
    return {std::get<0>(GetParam()), std::get<1>(GetParam()), options};
  }
  /// Some layers are recurrent.
  static bool keeps_states() {
    const std::string& arch = std::get<0>(GetParam());
    return arch.starts_with("qwen35") || arch == "qwen3next" || arch.starts_with("lfm") || arch == "granitehybrid" ||
           arch == "falcon-h1";
  }
};
class SameBitsOfLayouts : public SameBits {};
class SameBitsOfHeads : public SameBits {};

constexpr auto kName = [](const auto& instance) {
  std::string name = std::get<0>(instance.param) + "_" + std::string(kv_type_name(std::get<1>(instance.param)));
  std::ranges::replace(name, '-', '_');
  return name;
};
const std::string kArchitectures[] = {"llama",  "qwen3moe", "qwen35",         "qwen35moe", "qwen35-head",
                                      "gemma3", "gemma4",   "gemma4-experts", "gpt-oss",   "qwen35moe-head"};
INSTANTIATE_TEST_SUITE_P(Engine, SameBits,
                         ::testing::Combine(::testing::ValuesIn(kArchitectures),
                                            ::testing::Values(KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kQ8_0,
                                                              KvType::kI16)),
                         kName);
// A gate that is a tensor of its own; a feed-forward beside attention; norms of results alone; a router by sigmoids
// with a bias and groups; value heads by key head; layers that run several times; heads that differ by layer, with a
// gate by softplus of each; the mean of a mixture and of an expert for every row; chunks, and experts whose weights
// multiply what they read; feed-forwards with limits.
const std::string kParts[] = {"muse-glimmer", "command-r", "cohere2", "olmo2",      "exaone4", "glm4moe",
                              "qwen3next",    "nanbeige",  "laguna",  "cohere2moe", "llama4",  "step35"};
// Latent attention, whose one KV head all heads read; with the products of heads in two tensors, and in one.
INSTANTIATE_TEST_SUITE_P(Latents, SameBits,
                         ::testing::Combine(::testing::Values("deepseek2"),
                                            ::testing::Values(KvType::kF16, KvType::kQ8_0, KvType::kI16)),
                         kName);
INSTANTIATE_TEST_SUITE_P(JointLatents, SameBits,
                         ::testing::Combine(::testing::Values("minicpm3"), ::testing::Values(KvType::kI16)), kName);
INSTANTIATE_TEST_SUITE_P(Parts, SameBits,
                         ::testing::Combine(::testing::ValuesIn(kParts), ::testing::Values(KvType::kI16)), kName);
INSTANTIATE_TEST_SUITE_P(Parts, SameBitsOfLayouts,
                         ::testing::Combine(::testing::ValuesIn(kParts), ::testing::Values(KvType::kI16)), kName);
INSTANTIATE_TEST_SUITE_P(Assisted, SameBits,
                         ::testing::Combine(::testing::Values("gemma4-assisted"), ::testing::Values(KvType::kI16)),
                         kName);
// Short convolutions and Mamba-2, whose states have nothing to do with the type of keys and values.
const std::string kRecurrences[] = {"lfm2", "lfm3", "granitehybrid", "falcon-h1"};
INSTANTIATE_TEST_SUITE_P(Recurrences, SameBits,
                         ::testing::Combine(::testing::ValuesIn(kRecurrences), ::testing::Values(KvType::kI16)), kName);
INSTANTIATE_TEST_SUITE_P(Recurrences, SameBitsOfLayouts,
                         ::testing::Combine(::testing::ValuesIn(kRecurrences), ::testing::Values(KvType::kI16)), kName);
INSTANTIATE_TEST_SUITE_P(Engine, SameBitsOfHeads,
                         ::testing::Combine(::testing::Values("qwen35-head", "qwen35moe-head", "gemma4-assisted"),
                                            ::testing::Values(KvType::kF16, KvType::kQ8_0, KvType::kI16)),
                         kName);
// The contiguous layout has no q8_0.
INSTANTIATE_TEST_SUITE_P(Engine, SameBitsOfLayouts,
                         ::testing::Combine(::testing::ValuesIn(kArchitectures),
                                            ::testing::Values(KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kI16)),
                         kName);

TEST_P(SameBits, ChunkIsWhole) {
  const Request request = some_request(150, 20, 1);
  RealEngine whole = engine();
  const Bits expected = whole.run_with_logits(request);
  EXPECT_EQ(expected.floats.size(), 20U + 150 * 80);
  for (const int chunk : {1, 7, 64}) {
    RealEngine chunked = engine({.max_step_tokens = chunk});
    EXPECT_EQ(chunked.run_with_logits(request), expected) << chunk;
  }
}

TEST_P(SameBits, BatchIsAlone) {
  const int lengths[] = {1, 37, 90, 16, 17};
  std::vector<Request> requests;
  for (const int length : lengths) requests.push_back(some_request(length, 30, static_cast<unsigned>(length)));
  RealEngine batched = engine({.num_threads = 2, .changes_width = true, .max_step_tokens = 40});
  const std::vector<Bits> together = batched.run(requests);
  ASSERT_EQ(together.size(), requests.size());
  RealEngine alone = engine({.prefix_cache = false});
  for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(together[i], alone.run(requests[i])) << lengths[i];
}

TEST_P(SameBits, OneThreadIsTwo) {
  const Request request = some_request(600, 20, 2);  // beyond a tile of attention, several times
  RealEngine one = engine(), two = engine({.num_threads = 2});
  EXPECT_EQ(one.run_with_logits(request), two.run_with_logits(request));
}

TEST_P(SameBits, CacheHitIsMiss) {
  RealEngine cached = engine({.max_step_tokens = 100});
  RealEngine cold = engine({.prefix_cache = false});
  cached.run(some_request(200, 10, 3));
  // The same prompt, and one that leaves it in the middle of a block.
  Request other = some_request(200, 30, 4);
  const Request first = some_request(200, 1, 3);
  std::copy_n(first.tokens.begin(), 170, other.tokens.begin());
  for (const Request& request : {some_request(200, 30, 3), other}) {
    const Bits hit = cached.run(request);
    // Recurrent layers: up to the last checkpoint.
    EXPECT_GE(hit.cached_tokens, keeps_states() ? 96 : 160);
    const Bits miss = cold.run(request);
    EXPECT_EQ(miss.cached_tokens, 0);
    EXPECT_EQ(hit, miss);
  }
}

// In a KV memory where two of them cannot end together: the younger one gives blocks back and goes on later.
TEST_P(SameBits, PreemptedIsAlone) {
  const std::vector<Request> requests = {some_request(180, 200, 8), some_request(180, 200, 9)};
  RealEngine tight = engine({.kv_tokens = 560});
  const std::vector<Bits> together = tight.run(requests);
  EXPECT_GT(tight.num_preemptions(), 0U);
  RealEngine roomy = engine();
  for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(together[i], roomy.run(requests[i])) << i;
}

// No step fits the time, so that prompts get the fewest rows that there are beside others, and stop within blocks.
TEST_P(SameBits, AFewRowsOfAPromptAtATimeAreAllAtOnce) {
  std::vector<Request> requests = {some_request(3, 60, 12), some_request(150, 20, 13), some_request(150, 20, 14)};
  std::copy_n(requests[1].tokens.begin(), 70, requests[2].tokens.begin());
  RealEngine late = engine({.step_ms = 1e-6});
  const std::vector<Bits> together = late.run(requests, 2);
  RealEngine roomy = engine({.prefix_cache = false});
  for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(together[i], roomy.run(requests[i])) << i;
}

// Requests that begin alike or not, of one or two choices, come while others run, in a memory that holds few of them.
TEST_P(SameBits, StormIsAlone) {
  std::mt19937 random(11);
  const Request common = some_request(200, 1, 100);
  std::vector<Request> requests;
  for (unsigned i = 0; i < 10; ++i) {
    Request request =
        some_request(20 + static_cast<int>(random() % 150), 20 + static_cast<int>(random() % 100), 20 + i);
    std::copy_n(common.tokens.begin(), std::min<std::size_t>(request.tokens.size(), random() % 120),
                request.tokens.begin());
    request.num_choices = 1 + static_cast<int>(i % 2);
    requests.push_back(request);
  }
  RealEngine tight = engine({.num_threads = 2, .max_step_tokens = 48, .kv_tokens = 420});
  const std::vector<Bits> together = tight.run(requests, 3);
  // Of sequences with a recurrent state there is room for two, which end together.
  if (!keeps_states()) {
    EXPECT_GT(tight.num_preemptions(), 0U);
  }
  RealEngine roomy = engine({.prefix_cache = false});
  std::size_t i = 0;
  for (const Request& request : requests)
    for (const Bits& choice : roomy.run(std::vector{request})) {
      ASSERT_LT(i, together.size());
      EXPECT_EQ(together[i], choice) << "choice " << i;
      ++i;
    }
  EXPECT_EQ(i, together.size());
}

// All predicted tokens are right, or all but every seventh; others run beside.
TEST_P(SameBits, DraftedIsTokenByToken) {
  std::vector<Request> requests = {some_request(40, 60, 31), some_request(90, 50, 32), some_request(25, 60, 33)};
  requests[2].sampling.temperature = 0;
  RealEngine plain = engine({.prefix_cache = false});
  std::vector<Bits> expected;
  for (Request& request : requests) {
    expected.push_back(plain.run(request));
    request.prediction = expected.back().tokens;
    if (expected.size() == 2)
      for (std::size_t i = 6; i < request.prediction.size(); i += 7)
        request.prediction[i] = (request.prediction[i] + 1) % 80;
  }
  RealEngine drafting = engine({.num_threads = 2, .draft = DraftMode::kNgram});
  const std::vector<Bits> drafted = drafting.run(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(drafted[i], expected[i]) << i;
  const EngineStats stats = drafting.stats();
  EXPECT_GT(stats.accepted_draft_tokens, 20U);
  EXPECT_GT(stats.drafted_tokens, stats.accepted_draft_tokens);
}

// Guesses of a draft head, of which some are right where it looks at what the model looks at.
TEST_P(SameBitsOfHeads, GuessedIsTokenByToken) {
  std::vector<Request> requests = {some_request(40, 60, 31), some_request(90, 50, 32), some_request(25, 60, 33)};
  for (const std::size_t i : {0U, 2U}) requests[i].sampling.temperature = 0;
  requests[1].num_choices = 3;
  RealEngine plain = engine({.prefix_cache = false, .draft = DraftMode::kOff});
  std::vector<Bits> expected;
  for (const Request& request : requests)
    for (Bits& choice : plain.run(std::vector{request})) expected.push_back(std::move(choice));
  for (const DraftMode mode : {DraftMode::kMtp, DraftMode::kAuto}) {
    RealEngine guessing = engine({.num_threads = 2, .draft = mode});
    EXPECT_EQ(guessing.run(requests), expected);
    EXPECT_EQ(guessing.run(requests), expected) << "with a prefix that is cached";
    const EngineStats stats = guessing.stats();
    EXPECT_GT(stats.drafted_tokens, 50U);
    if (std::get<0>(GetParam()) != "qwen35moe-head") {
      EXPECT_GT(stats.accepted_draft_tokens, 20U);
    }
  }
}

// A guess that is drawn with the token's own number is right oftener than any likeliest word, even the model's own: of
// the tokens that are drawn, one of probability p is the likeliest with that probability.
TEST(DrawnGuesses, AreRightOftenerThanLikeliestOnes) {
  for (const int top_k : {0, 10}) {
    RealEngine guessing("qwen35-head", kDefaultKvType, {.draft = DraftMode::kMtp, .num_words = 60, .vocab = 60});
    double sum = 0;
    for (unsigned seed = 40; seed < 46; ++seed) {
      Request request = some_request(30, 100, seed);
      for (TokenId& token : request.tokens) token %= 60;
      request.max_drafts = 1;
      request.sampling.temperature = 1;
      request.sampling.top_k = top_k;
      sum += guessing.sum_of_likeliest(request);
    }
    const EngineStats stats = guessing.stats();
    const double of_likeliest = sum / 600;
    EXPECT_GT(stats.drafted_tokens, 200U);
    EXPECT_GT(double(stats.accepted_draft_tokens), 1.5 * of_likeliest * double(stats.drafted_tokens)) << top_k;
  }
}

// A schema forbids most of what is guessed, the pattern nothing of it.
TEST_P(SameBitsOfHeads, GuessedUnderAConstraintIsTokenByToken) {
  const ConstraintSource schema{
      .kind = ConstraintKind::kJsonSchema,
      .text = R"({"$ref": "#/$defs/deep", "$defs": {"deep": {"anyOf": [{"enum": [true, false, null]},
                                      {"type": "array", "items": {"$ref": "#/$defs/deep"}, "minItems": 1,
                                       "maxItems": 1}]}}})"};
  const ConstraintSource pattern{.kind = ConstraintKind::kRegex, .text = "[^ ]{30,60}"};
  for (const ConstraintSource& constraint : {schema, pattern}) {
    const auto requests = [&](RealEngine& engine) {
      std::vector<Request> all;
      for (unsigned seed = 60; seed < 66; ++seed) {
        Request request = some_request(20, 60, seed);
        request.ignore_eos = false;
        request.sampling.temperature = seed % 2 == 0 ? 0.0F : 1.0F;
        request.num_choices = seed % 3 == 0 ? 2 : 1;
        request.constraint = engine.compile(constraint);
        all.push_back(std::move(request));
      }
      return all;
    };
    RealEngine plain = engine({.draft = DraftMode::kOff, .num_words = 60});
    RealEngine guessing = engine({.draft = DraftMode::kMtp, .num_words = 60});
    const std::vector<Bits> expected = plain.run(requests(plain));
    EXPECT_EQ(guessing.run(requests(guessing)), expected);
    EXPECT_EQ(guessing.run(requests(guessing)), expected) << "with a prefix that is cached";
    if (constraint.kind == ConstraintKind::kRegex && std::get<0>(GetParam()) != "qwen35moe-head") {
      EXPECT_GT(guessing.stats().accepted_draft_tokens, 20U);
    }
  }
}

TEST_P(SameBitsOfHeads, ACancelWhileGuessesAreVerifiedChangesNoOther) {
  std::vector<Request> requests = {some_request(40, 60, 31), some_request(25, 60, 33)};
  requests[0].sampling.temperature = 0;
  RealEngine plain = engine({.prefix_cache = false, .draft = DraftMode::kOff});
  const Bits cancelled = plain.run(requests[0]), other = plain.run(requests[1]);
  for (const std::size_t at : {1U, 2U, 9U, 23U}) {
    RealEngine guessing = engine({.draft = DraftMode::kMtp});
    const std::vector<Bits> found = guessing.run_cancelling(requests, at);
    EXPECT_TRUE(std::ranges::equal(found[0].tokens, std::span(cancelled.tokens).first(at))) << at;
    EXPECT_EQ(found[1], other) << at;
    EXPECT_EQ(guessing.run(requests[0]), cancelled) << "what was left behind by the one that was cancelled at " << at;
  }
}

TEST_P(SameBits, ForkedIsWrittenTwice) {
  Request request = some_request(53, 40, 5);
  request.num_choices = 4;
  RealEngine forked = engine({.num_threads = 2});
  const std::vector<Bits> choices = forked.run(std::vector{request});
  ASSERT_EQ(choices.size(), 4U);
  EXPECT_NE(choices[0].tokens, choices[1].tokens);
  request.num_choices = 1;
  RealEngine alone = engine({.prefix_cache = false});
  for (const Bits& choice : choices) {
    EXPECT_EQ(alone.run(request), choice);
    ++request.first_choice;
  }
}

TEST_P(SameBitsOfLayouts, PagedIsContiguous) {
  const Request request = some_request(150, 40, 6);
  RealEngine paged = engine(), contiguous = engine({.layout = KvLayout::kContiguous});
  EXPECT_EQ(contiguous.run_with_logits(request), paged.run_with_logits(request));
  Request forked = some_request(20, 30, 7);  // one after the other, where there is one block
  forked.num_choices = 3;
  EXPECT_EQ(contiguous.run(std::vector{forked}), paged.run(std::vector{forked}));
}

}  // namespace
}  // namespace octavo

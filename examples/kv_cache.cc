// A toy engine on Octavo's KV memory, without Octavo's models: what somebody with an engine of their own would write.
//
// Its model is a transformer of two layers, the second with a sliding window; its weights are drawn at random. A
// layer's keys and values come from the attention of the layer before, as in any model. Shown: a step that goes layer
// by layer, the same for prompts and for a batch of decodes; attention that reads blocks in place; a prompt that finds
// the blocks of an earlier one; a fork whose first write copies a block; truncation; the counts; and the growing
// contiguous cache as a drop-in with the same bits. Exit code 1 if any of it is not as stated.
#include <octavo/kv.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using octavo::SequenceId;
using octavo::TokenId;

constexpr int kNumLayers = 2;
constexpr int kWindow = 32;  // tokens that the second layer looks back
constexpr int kNumHeads = 4;
constexpr int kNumKvHeads = 2;
constexpr int kHeadDim = 32;
constexpr int kKvWidth = kNumKvHeads * kHeadDim;
constexpr int kWidth = kNumHeads * kHeadDim;  // of a row of queries, and of the hidden state
constexpr int kVocabulary = 500;

using Rows = std::vector<float>;  // [rows][width]

void require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "not as expected: %s\n", what.c_str());
  std::exit(1);
}

// The value of a result; errors end the program here, an engine would act on them.
template <class Result>
auto must(Result result) {
  require(result.has_value(), result ? "" : result.error().message);
  if constexpr (!std::is_void_v<typename Result::value_type>) return std::move(*result);
}

// Random weights: [out_width][kWidth].
class Matrix {
 public:
  Matrix(int out_width, std::mt19937& random) : weights_(static_cast<std::size_t>(out_width * kWidth)) {
    std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(kWidth)));
    for (float& weight : weights_) weight = normal(random);
  }

  std::span<const float> row(int i) const {
    return std::span(weights_).subspan(static_cast<std::size_t>(i) * kWidth, kWidth);
  }
  // [rows][kWidth] to [rows][out_width]; a row's bits do not depend on the others.
  Rows times(std::span<const float> in) const {
    Rows out;
    for (; !in.empty(); in = in.subspan(kWidth))
      for (int i = 0; i < static_cast<int>(weights_.size()) / kWidth; ++i)
        out.push_back(std::inner_product(row(i).begin(), row(i).end(), in.begin(), 0.0F));
    return out;
  }

 private:
  std::vector<float> weights_;
};

struct Model {
  struct Layer {
    Matrix queries, keys, values;
  };
  std::mt19937 random{1};
  Matrix embedding{kVocabulary, random}, output{kVocabulary, random};
  std::vector<Layer> layers;

  Model() {
    for (int i = 0; i < kNumLayers; ++i)
      layers.push_back({.queries = {kWidth, random}, .keys = {kKvWidth, random}, .values = {kKvWidth, random}});
  }

  // Tokens from a position on: [tokens][kWidth].
  Rows embed(std::span<const TokenId> tokens, int position) const {
    Rows hidden;
    for (const TokenId token : tokens) {
      for (int i = 0; i < kWidth; ++i)
        hidden.push_back(12 * embedding.row(token)[static_cast<std::size_t>(i)] +  // a standard deviation of 1
                         std::sin(static_cast<float>(position) / static_cast<float>(1 + i)));
      ++position;
    }
    return hidden;
  }
  // The likeliest token behind one row.
  TokenId next(std::span<const float> hidden) const {
    const Rows logits = output.times(hidden);
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
};

struct Sequence {
  SequenceId id = 0;
  std::vector<TokenId> tokens;  // the cache holds those that were computed, in front
};

class ToyEngine {
 public:
  ToyEngine()
      : cache_(must(octavo::PagedKvCache::create({.type = octavo::KvType::kF16,
                                                  .num_kv_heads = kNumKvHeads,
                                                  .head_dim = kHeadDim,
                                                  .layer_windows = {0, kWindow},
                                                  .num_blocks = 32}))),
        attention_(must(octavo::BatchedAttention::create(2))) {}

  const Model& model() const { return model_; }
  octavo::PagedKvCache& cache() { return *cache_; }
  octavo::BatchedAttention& attention() { return attention_; }
  static octavo::AttentionOptions options() {
    return {.num_heads = kNumHeads, .scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim))};
  }

  // Reads a prompt and adds the token behind it; gives the sequence and how many tokens were found in the cache.
  std::pair<Sequence, int> read(const std::vector<TokenId>& prompt, std::string_view domain) {
    Sequence sequence{cache_->create_sequence(), prompt};
    const int found = must(cache_->attach_prefix(sequence.id, prompt, domain));
    step({&sequence, 1}, domain);
    return {std::move(sequence), found};
  }

  // Computes what the cache does not hold yet, whole prompts or single tokens, and adds one token to every sequence.
  void step(std::span<Sequence> batch, std::string_view domain) {
    Rows hidden;
    std::vector<octavo::ChunkRows> slots;
    for (const Sequence& sequence : batch) {
      const auto first = static_cast<std::size_t>(cache_->sequence_length(sequence.id));
      const Rows rows = model_.embed(std::span(sequence.tokens).subspan(first), static_cast<int>(first));
      hidden.insert(hidden.end(), rows.begin(), rows.end());
      slots.push_back({sequence.id, static_cast<int>(sequence.tokens.size() - first)});
    }
    for (int layer = 0; layer < kNumLayers; ++layer) run_layer(layer, slots, hidden);

    auto row = hidden.begin();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      Sequence& sequence = batch[i];
      // In this order: what is full is findable before the window gives it back.
      must(cache_->publish(sequence.id, sequence.tokens, domain));
      cache_->commit(sequence.id, static_cast<std::int64_t>(sequence.tokens.size()));
      row += slots[i].num_rows * kWidth;
      sequence.tokens.push_back(model_.next({row - kWidth, row}));
    }
  }

 private:
  // Keys and values of all rows first, then attention over them and what the cache holds.
  void run_layer(int layer, std::span<const octavo::ChunkRows> slots, Rows& hidden) {
    const Model::Layer& weights = model_.layers[static_cast<std::size_t>(layer)];
    const Rows queries = weights.queries.times(hidden);
    const Rows keys = weights.keys.times(hidden), values = weights.values.times(hidden);
    std::size_t at = 0;
    for (const auto& [id, num_rows] : slots) {
      const auto count = static_cast<std::size_t>(num_rows * kKvWidth);
      must(cache_->write_kv(id, layer, cache_->layer_length(id, layer), std::span(keys).subspan(at, count),
                            std::span(values).subspan(at, count), num_rows));
      at += count;
    }
    Rows mixed(hidden.size());
    must(attention_.chunk(*cache_, layer, slots, queries, options(), mixed));
    for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] += mixed[i];
  }

  Model model_;
  std::unique_ptr<octavo::PagedKvCache> cache_;
  octavo::BatchedAttention attention_;
};

void print_stats(ToyEngine& engine, const char* when) {
  std::printf("%-22s %s\n", when, engine.cache().stats().summary().c_str());
}

std::vector<TokenId> prompt_of(int shared, int own, int salt) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(shared));
  std::iota(tokens.begin(), tokens.end(), 1);
  for (int i = 0; i < own; ++i) tokens.push_back(100 + salt * 50 + i);
  return tokens;
}

void show_sharing(ToyEngine& engine) {
  auto [first, first_found] = engine.read(prompt_of(40, 10, 0), "alice");
  auto [second, second_found] = engine.read(prompt_of(40, 7, 1), "alice");
  auto [stranger, stranger_found] = engine.read(prompt_of(40, 7, 1), "bob");
  std::printf("tokens found in cache: %d, %d and, in another domain, %d\n", first_found, second_found, stranger_found);
  require(first_found == 0 && second_found == 32 && stranger_found == 0, "two blocks of 16 shared in one domain");
  print_stats(engine, "three prompts:");

  std::vector<Sequence> batch{first, second};
  for (int i = 0; i < 8; ++i) engine.step(batch, "alice");
  std::printf("the last layer of a step read %llu bytes of K and V\n",
              static_cast<unsigned long long>(engine.attention().kv_bytes_loaded()));
  for (int i = 0; i < 8; ++i) engine.step({&stranger, 1}, "bob");
  require(batch[1].tokens == stranger.tokens, "found and in a batch, or computed and alone: the same answer");
  print_stats(engine, "8 tokens each:");
  for (const Sequence& sequence : {batch[0], batch[1], stranger}) must(engine.cache().drop_sequence(sequence.id));
  print_stats(engine, "all dropped:");
}

void show_fork(ToyEngine& engine) {
  std::vector<Sequence> branches{engine.read(prompt_of(0, 20, 3), "alice").first};
  branches.push_back({must(engine.cache().fork(branches[0].id)), branches[0].tokens});
  require(engine.cache().stats().copies == 0, "a fork copies nothing");
  branches[1].tokens.back() = 7;  // the branches part here, with a token that a sampler could have drawn
  engine.step(branches, "alice");
  const std::uint64_t copies = engine.cache().stats().copies;
  require(copies == 2, "the first write to a shared block copies that block, in each group of layers");
  for (int i = 0; i < 4; ++i) engine.step(branches, "alice");
  require(branches[0].tokens != branches[1].tokens, "two branches");
  std::printf("a fork and its origin after 5 tokens: %llu blocks copied, first 16 tokens shared\n",
              static_cast<unsigned long long>(copies));

  must(engine.cache().truncate(branches[0].id, 16));
  std::printf("truncated to %lld tokens, room for %lld\n",
              static_cast<long long>(engine.cache().sequence_length(branches[0].id)),
              static_cast<long long>(engine.cache().token_capacity(branches[0].id)));
  for (const Sequence& sequence : branches) must(engine.cache().drop_sequence(sequence.id));
  must(engine.cache().check_integrity());
}

// The first layer's keys and values in one growing piece of memory.
void show_contiguous(ToyEngine& engine) {
  const Sequence sequence = engine.read(prompt_of(0, 30, 5), "alice").first;
  auto contiguous = must(octavo::ContiguousKvCache::create({.type = octavo::KvType::kF16,
                                                            .num_kv_heads = kNumKvHeads,
                                                            .head_dim = kHeadDim,
                                                            .initial_capacity = 4,
                                                            .max_seq_len = 64}));
  const Model::Layer& weights = engine.model().layers[0];
  const Rows hidden = engine.model().embed(std::span(sequence.tokens).first(30), 0);
  const Rows keys = weights.keys.times(hidden), values = weights.values.times(hidden);
  for (std::size_t at = 0; at < keys.size(); at += kKvWidth)
    must(contiguous.update_row(0, std::span(keys).subspan(at, kKvWidth), std::span(values).subspan(at, kKvWidth), 1));

  const Rows query = weights.queries.times(std::span(hidden).last(kWidth));
  Rows paged(kWidth), plain(kWidth);
  must(engine.attention().decode(engine.cache(), 0, {&sequence.id, 1}, query, ToyEngine::options(), paged));
  must(engine.attention().decode(contiguous, query, ToyEngine::options(), plain));
  require(paged == plain, "blocks and contiguous memory give the same bits");
  std::printf("contiguous cache of %d tokens, capacity %d: same bits as the blocks\n", contiguous.seq_len(),
              contiguous.capacity());
  must(engine.cache().drop_sequence(sequence.id));
}

}  // namespace

int main() {
  ToyEngine engine;
  show_sharing(engine);
  show_fork(engine);
  show_contiguous(engine);
  print_stats(engine, "at the end:");
  require(engine.cache().utilization() == 0.0, "no block is held");
  return 0;
}

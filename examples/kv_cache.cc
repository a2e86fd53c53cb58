// A toy engine on Octavo's KV memory, without Octavo's models: what somebody with an engine of their own would write.
//
// Its "model" projects a token and its position to queries, keys and values by a fixed formula; memory and attention
// are real. Shown: writing a prompt's K and V layer by layer, batched decode that reads pages in place, a prompt that
// finds the blocks of an earlier one, a fork whose first write copies a block, truncation, the books, and the growing
// contiguous cache as a drop-in with the same bits. Exit code 1 if any of it is not as stated.
#include <octavo/kv.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace {

using octavo::SequenceId;
using octavo::TokenId;

constexpr int kNumLayers = 2;
constexpr int kNumHeads = 4;
constexpr int kNumKvHeads = 2;
constexpr int kHeadDim = 64;
constexpr int kKvWidth = kNumKvHeads * kHeadDim;
constexpr int kQueryWidth = kNumHeads * kHeadDim;

void require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "not as expected: %s\n", what.c_str());
  std::exit(1);
}

std::string message(const octavo::Error& error) { return error.message; }
std::string message(const octavo::KvError& error) { return octavo::describe(error); }

// The value of a result; errors end the program here, an engine would act on them.
template <class Result>
auto must(Result result) {
  require(result.has_value(), result ? "" : message(result.error()));
  if constexpr (!std::is_void_v<typename Result::value_type>) return std::move(*result);
}

// Projections: what = 0 keys, 1 values, 2 queries.
void project(int what, int layer, TokenId token, int position, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::sin(0.37F * static_cast<float>(token) + 0.11F * static_cast<float>(position) +
                      1.7F * static_cast<float>(what * kNumLayers + layer) + 0.29F * static_cast<float>(i));
}

struct Sequence {
  SequenceId id = 0;
  std::vector<TokenId> tokens;
};

class ToyEngine {
 public:
  ToyEngine()
      : cache_(must(octavo::PagedKvCache::create({.type = octavo::KvType::kF16,
                                                  .num_kv_heads = kNumKvHeads,
                                                  .head_dim = kHeadDim,
                                                  .layer_windows = std::vector<int>(kNumLayers, 0),
                                                  .num_blocks = 32}))),
        attention_(must(octavo::BatchedAttention::create(2))) {}

  octavo::PagedKvCache& cache() { return *cache_; }
  octavo::BatchedAttention& attention() { return attention_; }

  // Reads a prompt; gives the sequence and how many of its tokens were found in the cache.
  std::pair<Sequence, int> read(const std::vector<TokenId>& prompt, std::string_view domain) {
    Sequence sequence{cache_->create_sequence(), prompt};
    const int found = must(cache_->attach_prefix(sequence.id, prompt, domain));
    write(sequence, found);
    must(cache_->publish(sequence.id, prompt, domain));
    return {sequence, found};
  }

  // Writes K and V of the tokens from `first` on, all positions of a layer at once.
  void write(const Sequence& sequence, int first) {
    const int count = static_cast<int>(sequence.tokens.size()) - first;
    std::vector<float> keys(static_cast<std::size_t>(count * kKvWidth)), values(keys.size());
    for (int layer = 0; layer < kNumLayers; ++layer) {
      for (int i = 0; i < count; ++i) {
        const TokenId token = sequence.tokens[static_cast<std::size_t>(first + i)];
        const auto at = static_cast<std::size_t>(i * kKvWidth);
        project(0, layer, token, first + i, std::span(keys).subspan(at, kKvWidth));
        project(1, layer, token, first + i, std::span(values).subspan(at, kKvWidth));
      }
      must(cache_->write_kv(sequence.id, layer, first, keys, values, count));
    }
  }

  // Attention of the last token of every sequence over its own past, summed over layers: [sequences][kQueryWidth].
  std::vector<float> attend(std::span<const Sequence> batch) {
    std::vector<SequenceId> slots;
    for (const Sequence& sequence : batch) slots.push_back(sequence.id);
    std::vector<float> queries(batch.size() * kQueryWidth), out(queries.size()), sum(queries.size());
    for (int layer = 0; layer < kNumLayers; ++layer) {
      for (std::size_t i = 0; i < batch.size(); ++i)
        project(2, layer, batch[i].tokens.back(), static_cast<int>(batch[i].tokens.size()) - 1,
                std::span(queries).subspan(i * kQueryWidth, kQueryWidth));
      must(attention_.decode(*cache_, layer, slots, queries, options(), out));
      for (std::size_t i = 0; i < out.size(); ++i) sum[i] += out[i];
    }
    return sum;
  }

  // One token more for every sequence.
  void decode(std::span<Sequence> batch) {
    const std::vector<float> hidden = attend(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto row = std::span(hidden).subspan(i * kQueryWidth, kQueryWidth);
      const float sum = std::accumulate(row.begin(), row.end(), 0.0F);
      batch[i].tokens.push_back(static_cast<TokenId>(std::abs(sum) * 1000) % 997);
      write(batch[i], static_cast<int>(batch[i].tokens.size()) - 1);
    }
  }

  static octavo::AttentionOptions options() {
    return {.num_heads = kNumHeads, .scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim))};
  }

 private:
  std::unique_ptr<octavo::PagedKvCache> cache_;
  octavo::BatchedAttention attention_;
};

void print_stats(ToyEngine& engine, const char* when) {
  std::printf("%-22s %s\n", when, engine.cache().stats().summary().c_str());
}

std::vector<TokenId> prompt_of(int shared, int own, int salt) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(shared));
  std::iota(tokens.begin(), tokens.end(), 1);
  for (int i = 0; i < own; ++i) tokens.push_back(500 + salt * 50 + i);
  return tokens;
}

void show_sharing(ToyEngine& engine) {
  const auto [first, first_found] = engine.read(prompt_of(40, 10, 0), "alice");
  const auto [second, second_found] = engine.read(prompt_of(40, 7, 1), "alice");
  const auto [stranger, stranger_found] = engine.read(prompt_of(40, 7, 1), "bob");
  std::printf("tokens found in cache: %d, %d and, in another domain, %d\n", first_found, second_found, stranger_found);
  require(first_found == 0 && second_found == 32 && stranger_found == 0, "two blocks of 16 shared in one domain");
  print_stats(engine, "three prompts:");

  std::vector<Sequence> batch{first, second, stranger};
  const std::vector<float> out = engine.attend(batch);
  const std::uint64_t bytes = engine.attention().kv_bytes_loaded();
  std::printf("one decode read %llu bytes of K and V a layer\n", static_cast<unsigned long long>(bytes));
  const auto row = [&](std::size_t i) {
    return std::vector(out.begin() + static_cast<std::ptrdiff_t>(i * kQueryWidth),
                       out.begin() + static_cast<std::ptrdiff_t>((i + 1) * kQueryWidth));
  };
  require(row(1) == row(2), "what was found in the cache gives the bits of what was computed");
  require(engine.attend(std::span(batch).first(1)) == row(0), "alone as in a batch");

  for (int step = 0; step < 8; ++step) engine.decode(batch);
  require(batch[1].tokens == batch[2].tokens, "the same answer with and without a cache hit");
  print_stats(engine, "8 tokens each:");
  for (const Sequence& sequence : batch) must(engine.cache().drop_sequence(sequence.id));
  print_stats(engine, "all dropped:");
}

void show_fork(ToyEngine& engine) {
  std::vector<Sequence> branches{engine.read(prompt_of(0, 20, 3), "alice").first};
  branches.push_back({must(engine.cache().fork(branches[0].id)), branches[0].tokens});
  require(engine.cache().stats().copies == 0, "a fork copies nothing");
  branches[1].tokens.back() = 7;  // the branches part here: at the last token of the prompt
  engine.write(branches[1], 19);
  require(engine.cache().stats().copies == 1, "the first write to a shared block copies that block");
  for (int step = 0; step < 4; ++step) engine.decode(branches);
  require(branches[0].tokens != branches[1].tokens, "two branches");
  std::printf("a fork and its origin after 4 tokens: %llu block copied, first 16 tokens shared\n",
              static_cast<unsigned long long>(engine.cache().stats().copies));

  must(engine.cache().truncate(branches[0].id, 16));
  std::printf("truncated to %lld tokens, room for %lld\n",
              static_cast<long long>(engine.cache().sequence_length(branches[0].id)),
              static_cast<long long>(engine.cache().token_capacity(branches[0].id)));
  for (const Sequence& sequence : branches) must(engine.cache().drop_sequence(sequence.id));
  must(engine.cache().check_integrity());
}

// The same keys and values in one growing piece of memory.
void show_contiguous(ToyEngine& engine) {
  const Sequence sequence = engine.read(prompt_of(0, 30, 5), "alice").first;
  auto contiguous = must(octavo::ContiguousKvCache::create({.type = octavo::KvType::kF16,
                                                            .num_kv_heads = kNumKvHeads,
                                                            .head_dim = kHeadDim,
                                                            .initial_capacity = 4,
                                                            .max_seq_len = 64}));
  std::vector<float> key(kKvWidth), value(kKvWidth), query(kQueryWidth), paged(kQueryWidth), plain(kQueryWidth);
  for (int position = 0; position < 30; ++position) {
    project(0, 0, sequence.tokens[static_cast<std::size_t>(position)], position, key);
    project(1, 0, sequence.tokens[static_cast<std::size_t>(position)], position, value);
    must(contiguous.update_row(0, key, value, 1));
  }
  project(2, 0, sequence.tokens.back(), 29, query);
  must(engine.attention().decode(engine.cache(), 0, std::span(&sequence.id, 1), query, ToyEngine::options(), paged));
  must(engine.attention().decode(contiguous, query, ToyEngine::options(), plain));
  require(paged == plain, "pages and contiguous memory give the same bits");
  std::printf("contiguous cache of %d tokens, capacity %d: same bits as the pages\n", contiguous.seq_len(),
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

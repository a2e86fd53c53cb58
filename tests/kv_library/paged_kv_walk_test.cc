// P20: a random walk over the paged cache against a model that knows nothing of blocks' contents: for every sequence
// and layer a map from positions to values. The model takes only the block ids of the tables from the cache. From these
// it predicts what is shared, what runs out, and what can be found again.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

#include "kv/kv_error.h"
#include "octavo/kv/paged_kv_cache.h"

namespace octavo {
namespace {

constexpr int kMaxSequences = 5;
constexpr int kMaxTokens = 40;  // positions a walk writes

struct WalkShape {
  const char* name;
  KvType type;
  int block_size;
  int num_blocks;
  std::vector<KvLayerShape> layers;
  int operations;
};

/// Layers of one head of two dimensions.
std::vector<KvLayerShape> looking_back(std::initializer_list<int> windows) {
  std::vector<KvLayerShape> layers;
  for (const int window : windows) layers.push_back({.num_kv_heads = 1, .k_dim = 2, .v_dim = 2, .window = window});
  return layers;
}

// The key of a published block: all tokens up to its end, in a domain.
struct Content {
  int domain;
  std::vector<TokenId> prefix;
  bool operator==(const Content&) const = default;
  bool begins(const Content& other) const {
    return domain == other.domain && prefix.size() < other.prefix.size() &&
           std::ranges::equal(prefix, std::span(other.prefix).first(prefix.size()));
  }
};

struct ModelSequence {
  int domain = 0;
  std::vector<TokenId> tokens;                           // [kMaxTokens]
  std::vector<std::map<std::int64_t, float>> positions;  // [layers] what is written
  std::vector<std::int64_t> gone;                        // [groups] leading entries given back
  std::int64_t dirty_from = kMaxTokens;                  // from here on values do not follow from the tokens
};

class Walk {
 public:
  explicit Walk(const WalkShape& shape, unsigned seed) : shape_(shape), random_(seed) {
    cache_ = *PagedKvCache::create(
        {.type = shape.type, .block_size = shape.block_size, .layers = shape.layers, .num_blocks = shape.num_blocks});
    contents_.resize(static_cast<std::size_t>(cache_->num_groups()));
    for (auto& document : documents_)
      for (int i = 0; i < kMaxTokens; ++i) document.push_back(pick(3));
    // Two documents begin alike, so that chains fork.
    std::ranges::copy(std::span(documents_[0]).first(12), documents_[1].begin());
  }

  void operation() {
    if (pick(100) == 0) return release();
    const int kind = pick(100);
    if (sequences_.empty() || kind < 8) return create();
    const SequenceId id = any();
    touched_ = id;
    if (kind < 30) return write(id);
    if (kind < 62) return step(id);
    if (kind < 70) return fork(id);
    if (kind < 79) return truncate(id);
    if (kind < 90) return publish(id);
    if (kind < 94) return ensure(id);
    drop(id);
  }

  // The counts, and all that can be read of the sequence just changed and of another one.
  void verify() {
    const Result<void> intact = cache_->check_integrity();
    ASSERT_TRUE(intact) << intact.error().message;
    ASSERT_EQ(cache_->stats().hits, hits_);
    ASSERT_EQ(cache_->stats().misses, misses_);
    for (const SequenceId id : {touched_, sequences_.empty() ? touched_ : any()}) {
      if (sequences_.contains(id)) {
        ASSERT_NO_FATAL_FAILURE(verify(id));
      } else {
        ASSERT_EQ(cache_->sequence_length(id), 0);
        ASSERT_FALSE(cache_->fork(id));
      }
    }
  }

  std::map<std::string, int> outcomes;

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  SequenceId any() { return std::next(sequences_.begin(), pick(static_cast<int>(sequences_.size())))->first; }
  std::int64_t size() const { return shape_.block_size; }
  int num_groups() const { return cache_->num_groups(); }
  int num_layers() const { return cache_->num_layers(); }
  // The layer whose keys and values a layer reads.
  int lender(int layer) const { return shape_.layers[static_cast<std::size_t>(layer)].borrows_from.value_or(layer); }
  std::size_t width(int layer) const {
    const KvLayerShape& shape = shape_.layers[static_cast<std::size_t>(layer)];
    return static_cast<std::size_t>(shape.num_kv_heads * shape.k_dim);
  }
  std::span<const BlockId> table(SequenceId id, int g) const { return cache_->table(id, g).block_ids(); }
  ModelSequence& model(SequenceId id) { return sequences_.at(id); }

  // --- what the tables say
  std::map<BlockId, int> references(int g) const {
    std::map<BlockId, int> counts;
    for (const auto& [id, sequence] : sequences_)
      for (const BlockId block : table(id, g))
        if (block != kNoBlock) ++counts[block];
    return counts;
  }

  // The error that making positions first .. end - 1 writable must give in a group, if any.
  std::optional<Error> room(SequenceId id, int g, std::int64_t first, std::int64_t end) {
    const auto entries = static_cast<std::int64_t>(table(id, g).size());
    if (first / size() < model(id).gone[static_cast<std::size_t>(g)]) return position_out_of_range(id, first).error();
    const std::map<BlockId, int> counts = references(g);
    std::int64_t needed = std::max<std::int64_t>(0, (end + size() - 1) / size() - entries);
    for (std::int64_t i = first / size(); i <= (end - 1) / size() && i < entries; ++i)
      needed += counts.at(table(id, g)[static_cast<std::size_t>(i)]) > 1 ? 1 : 0;
    const int num_free = shape_.num_blocks - static_cast<int>(counts.size());
    EXPECT_EQ(cache_->blocks_needed(id, g, first, end), needed);
    if (needed > num_free) return out_of_blocks(g, static_cast<int>(needed), num_free).error();
    return std::nullopt;
  }

  template <class T>
  void expect_error(const Result<T>& result, const Error& expected) {
    ASSERT_FALSE(result);
    ASSERT_EQ(result.error().message, expected.message);
    ++outcomes[expected.kind == ErrorKind::kOutOfBlocks ? "out of memory" : "out of range"];
  }

  // --- what can be found
  void forget(int g, BlockId block) {
    auto& contents = contents_[static_cast<std::size_t>(g)];
    const auto found = contents.find(block);
    if (found == contents.end()) return;
    const Content content = found->second;
    const bool chained = cache_->group(g).window == 0;
    contents.erase(found);
    if (!chained) return;
    std::erase_if(contents, [&](const auto& entry) { return content.begins(entry.second); });
    for (auto& others : contents_)
      if (&others != &contents)
        std::erase_if(others,
                      [&](const auto& entry) { return content == entry.second || content.begins(entry.second); });
  }

  BlockId find(int g, const Content& content) const {
    for (const auto& [block, held] : contents_[static_cast<std::size_t>(g)])
      if (held == content) return block;
    return kNoBlock;
  }

  // After positions first .. end - 1 became writable: blocks that are new in the table, or were written, hold nothing
  // known.
  void forget_written(SequenceId id, int g, const std::vector<BlockId>& before, std::int64_t first, std::int64_t end) {
    const std::span<const BlockId> after = table(id, g);
    for (std::size_t i = 0; i < after.size(); ++i) {
      const auto begin = static_cast<std::int64_t>(i) * size();
      const bool written = begin < end && begin + size() > first;
      if (i >= before.size() || after[i] != before[i] || written) forget(g, after[i]);
    }
  }

  // --- values
  static float value_of(std::span<const TokenId> prefix, int layer) {
    std::uint32_t hash = 17 + static_cast<std::uint32_t>(layer);
    for (const TokenId token : prefix) hash = hash * 31 + static_cast<std::uint32_t>(token) + 1;
    return static_cast<float>(hash % 65'521);
  }
  float clean_value(const ModelSequence& sequence, int layer, std::int64_t position) const {
    return value_of(std::span(sequence.tokens).first(static_cast<std::size_t>(position) + 1), layer);
  }

  std::int64_t length(SequenceId id, int g) {
    ModelSequence& sequence = model(id);
    std::int64_t position = sequence.gone[static_cast<std::size_t>(g)] * size();
    const auto written = [&](int layer) {
      return sequence.positions[static_cast<std::size_t>(layer)].contains(position);
    };
    while (std::ranges::all_of(cache_->group(g).layers, written)) ++position;
    return position;
  }

  void verify(SequenceId id) {
    for (int g = 0; g < num_groups(); ++g) {
      ASSERT_EQ(cache_->sequence_length(id, g), length(id, g));
      ASSERT_EQ(cache_->token_capacity(id, g), static_cast<std::int64_t>(table(id, g).size()) * size());
    }
    for (int layer = 0; layer < num_layers(); ++layer) ASSERT_NO_FATAL_FAILURE(verify(id, layer));
  }

  void verify(SequenceId id, int layer) {
    ModelSequence& sequence = model(id);
    std::vector<float> key(width(layer)), value(width(layer)), expected_key, expected_value;
    const std::int64_t gone = sequence.gone[static_cast<std::size_t>(cache_->group_of_layer(layer))] * size();
    const auto& positions = sequence.positions[static_cast<std::size_t>(lender(layer))];
    for (std::int64_t position = 0; position < kMaxTokens; ++position) {
      const auto read = cache_->read_kv(id, layer, position, key, value);
      const auto expected = positions.find(position);
      ASSERT_EQ(read.has_value(), position >= gone && expected != positions.end())
          << "layer " << layer << " position " << position;
      if (!read) continue;
      expected_key.clear();
      expected_value.clear();
      append_stored(expected->second, layer, expected_key, expected_value);
      ASSERT_EQ(key, expected_key) << "layer " << layer << " position " << position;
      ASSERT_EQ(value, expected_value) << "layer " << layer << " position " << position;
    }
  }

  // --- operations
  void create() {
    if (static_cast<int>(sequences_.size()) == kMaxSequences) return drop(any());
    const SequenceId id = cache_->create_sequence(pick(2) * kMaxTokens);
    ASSERT_EQ(id, next_id_++);
    touched_ = id;
    ModelSequence& sequence = sequences_[id];
    sequence.domain = pick(8) == 0 ? 1 : 0;
    sequence.tokens = documents_[static_cast<std::size_t>(pick(3))];
    sequence.positions.resize(static_cast<std::size_t>(num_layers()));
    sequence.gone.resize(static_cast<std::size_t>(num_groups()));
    if (pick(3) != 0) attach(id, sequence);
  }

  std::int64_t first_needed(int g, std::int64_t tokens) const {
    const int window = cache_->group(g).window;
    return window == 0 ? 0 : std::max<std::int64_t>(0, tokens - window + 1) / size();
  }

  Content content_of(const ModelSequence& sequence, std::int64_t index) const {
    const auto end = sequence.tokens.begin() + static_cast<std::ptrdiff_t>((index + 1) * size());
    return {sequence.domain, {sequence.tokens.begin(), end}};
  }

  void attach(SequenceId id, ModelSequence& sequence) {
    const int num_tokens = 1 + pick(kMaxTokens);
    const std::int64_t most = (num_tokens - 1) / size();
    std::int64_t longest = 0;
    for (std::int64_t blocks = 1; blocks <= most; ++blocks) {
      bool complete = true;
      for (int g = 0; g < num_groups(); ++g)
        for (std::int64_t i = first_needed(g, blocks * size()); i < blocks; ++i)
          complete &= find(g, content_of(sequence, i)) != kNoBlock;
      if (complete) longest = blocks;
    }
    const auto attached =
        cache_->attach_prefix(id, std::span(sequence.tokens).first(static_cast<std::size_t>(num_tokens)),
                              sequence.domain == 0 ? "left" : "right");
    ASSERT_TRUE(attached);
    ASSERT_EQ(*attached, longest * size());
    hits_ += static_cast<std::uint64_t>(longest * size());
    misses_ += static_cast<std::uint64_t>((most - longest) * size());
    if (longest > 0) ++outcomes["hits"];
    for (int g = 0; g < num_groups(); ++g) {
      const std::int64_t gone = first_needed(g, longest * size());
      sequence.gone[static_cast<std::size_t>(g)] = gone;
      ASSERT_EQ(table(id, g).size(), static_cast<std::size_t>(longest));
      for (std::int64_t i = 0; i < longest; ++i)
        ASSERT_EQ(table(id, g)[static_cast<std::size_t>(i)], i < gone ? kNoBlock : find(g, content_of(sequence, i)));
      for (const int layer : cache_->group(g).layers)
        for (std::int64_t position = gone * size(); position < longest * size(); ++position)
          sequence.positions[static_cast<std::size_t>(layer)][position] = clean_value(sequence, layer, position);
    }
  }

  // Two numbers each of a key and a value that stand for x, and that the type stores as they are.
  std::array<float, 4> stored(float x) const {
    const auto folded = [x](int modulus) { return static_cast<float>(1 + static_cast<int>(x) % modulus); };
    switch (shape_.type) {
      case KvType::kF32: return {x, x + 1, -x, 2 * x};
      case KvType::kBF16: return {folded(251), folded(251) / 2, -folded(251), folded(251) / 4};
      case KvType::kQ8_0: return {127 * folded(2039), -64 * folded(2039), -127 * folded(2039), 32 * folded(2039)};
      default: return {folded(2039), folded(2039) / 2, -folded(2039), folded(2039) / 4};
    }
  }

  // As wide as the layer, whose heads hold the same two numbers over and over.
  void append_stored(float x, int layer, std::vector<float>& keys, std::vector<float>& values) const {
    const std::array<float, 4> numbers = stored(x);
    for (std::size_t i = 0; i < width(layer); ++i) {
      keys.push_back(numbers[i % 2]);
      values.push_back(numbers[2 + i % 2]);
    }
  }

  Result<void> put(SequenceId id, int layer, std::int64_t position, std::span<const float> xs) {
    std::vector<float> keys, values;
    for (const float x : xs) append_stored(x, layer, keys, values);
    return cache_->write_kv(id, layer, position, keys, values, static_cast<int>(xs.size()));
  }

  // One layer, at a random place: behind the end, with a gap, or over what is there; also with values of its own.
  void write(SequenceId id) {
    ModelSequence& sequence = model(id);
    const int layer = pick(num_layers());
    const int g = cache_->group_of_layer(layer);
    const std::int64_t near = std::min<std::int64_t>(length(id, g) + pick(4), kMaxTokens - 1);
    const std::int64_t first = pick(3) == 0 ? pick(static_cast<int>(near) + 1) : near;
    const std::int64_t end = std::min<std::int64_t>(first + 1 + pick(5), kMaxTokens);
    const bool own = pick(4) == 0;
    std::vector<float> xs;
    for (std::int64_t position = first; position < end; ++position)
      xs.push_back(own ? static_cast<float>(70'000 + pick(1000)) : clean_value(sequence, layer, position));
    const std::optional<Error> expected = room(id, g, first, end);
    const std::vector<BlockId> before(table(id, g).begin(), table(id, g).end());
    const Result<void> written = put(id, layer, first, xs);
    if (lender(layer) != layer) {
      ASSERT_EQ(written.error().message, layer_is_borrowed(layer, lender(layer)).error().message);
      ASSERT_TRUE(std::ranges::equal(before, table(id, g)));
      return;
    }
    if (expected) {
      ASSERT_NO_FATAL_FAILURE(expect_error(written, *expected));
      ASSERT_TRUE(std::ranges::equal(before, table(id, g)));
      return;
    }
    ASSERT_TRUE(written) << written.error().message;
    ++outcomes["written"];
    if (own) sequence.dirty_from = std::min(sequence.dirty_from, first);
    for (std::int64_t position = first; position < end; ++position)
      sequence.positions[static_cast<std::size_t>(layer)][position] = xs[static_cast<std::size_t>(position - first)];
    forget_written(id, g, before, first, end);
  }

  // As an engine does it: reserve, copy, write all layers, commit.
  void step(SequenceId id) {
    ModelSequence& sequence = model(id);
    std::int64_t first = kMaxTokens;
    for (int g = 0; g < num_groups(); ++g) first = std::min(first, length(id, g));
    const std::int64_t end = std::min<std::int64_t>(first + 1 + pick(6), kMaxTokens);
    if (first >= end) return truncate(id);
    std::optional<Error> expected;
    for (int g = 0; g < num_groups() && !expected; ++g) expected = room(id, g, first, end);
    std::vector<std::vector<BlockId>> before;
    for (int g = 0; g < num_groups(); ++g) before.emplace_back(table(id, g).begin(), table(id, g).end());
    std::vector<BlockCopy> copies;
    const Result<void> reserved = cache_->reserve(id, first, end, &copies);
    if (expected) {
      ASSERT_NO_FATAL_FAILURE(expect_error(reserved, *expected));
      ASSERT_TRUE(copies.empty());
      for (int g = 0; g < num_groups(); ++g)
        ASSERT_TRUE(std::ranges::equal(before[static_cast<std::size_t>(g)], table(id, g)));
      return;
    }
    ASSERT_TRUE(reserved) << reserved.error().message;
    ++outcomes["steps"];
    cache_->make_copies(copies);
    for (int g = 0; g < num_groups(); ++g) {
      forget_written(id, g, before[static_cast<std::size_t>(g)], first, end);
      ASSERT_EQ(cache_->blocks_needed(id, g, first, end), 0);
    }
    for (int layer = 0; layer < num_layers(); ++layer) {
      if (lender(layer) != layer) continue;
      std::vector<float> xs;
      for (std::int64_t position = first; position < end; ++position) {
        xs.push_back(clean_value(sequence, layer, position));
        sequence.positions[static_cast<std::size_t>(layer)][position] = xs.back();
      }
      ASSERT_TRUE(put(id, layer, first, xs));
    }
    cache_->commit(id, end);
    for (int g = 0; g < num_groups(); ++g) {
      if (cache_->group(g).window == 0) continue;
      std::int64_t& gone = sequence.gone[static_cast<std::size_t>(g)];
      gone = std::max(gone, first_needed(g, end));
    }
  }

  void fork(SequenceId id) {
    if (static_cast<int>(sequences_.size()) == kMaxSequences) return drop(id);
    const Result<SequenceId> child = cache_->fork(id);
    ASSERT_TRUE(child);
    ASSERT_EQ(*child, next_id_++);
    for (int g = 0; g < num_groups(); ++g)
      ASSERT_TRUE(std::ranges::equal(table(id, g), cache_->table(*child, g).block_ids()));
    ModelSequence copy = model(id);
    sequences_[*child] = std::move(copy);
    touched_ = *child;
    ++outcomes["forks"];
  }

  void truncate(SequenceId id) {
    ModelSequence& sequence = model(id);
    const std::int64_t n = pick(6) == 0 ? 0 : pick(kMaxTokens);
    std::optional<Error> expected;
    for (int g = 0; g < num_groups() && n != 0 && !expected; ++g)
      if (n < static_cast<std::int64_t>(table(id, g).size()) * size() &&
          first_needed(g, n) < sequence.gone[static_cast<std::size_t>(g)])
        expected = position_out_of_range(id, std::max<std::int64_t>(0, n - cache_->group(g).window + 1)).error();
    std::vector<bool> cuts;
    for (int g = 0; g < num_groups(); ++g) cuts.push_back(n < static_cast<std::int64_t>(table(id, g).size()) * size());
    const Result<void> truncated = cache_->truncate(id, n);
    if (expected) {
      ASSERT_NO_FATAL_FAILURE(expect_error(truncated, *expected));
      return;
    }
    ASSERT_TRUE(truncated) << truncated.error().message;
    ++outcomes["truncations"];
    for (int g = 0; g < num_groups(); ++g) {
      if (!cuts[static_cast<std::size_t>(g)]) continue;
      ASSERT_EQ(static_cast<std::int64_t>(table(id, g).size()), (n + size() - 1) / size());
      std::int64_t& gone = sequence.gone[static_cast<std::size_t>(g)];
      gone = std::min(gone, static_cast<std::int64_t>(table(id, g).size()));
      if (n % size() != 0 && references(g).at(table(id, g).back()) == 1) forget(g, table(id, g).back());
    }
    for (auto& positions : sequence.positions) positions.erase(positions.lower_bound(n), positions.end());
    if (sequence.dirty_from >= n) sequence.dirty_from = kMaxTokens;
    // Another text from here on.
    const auto& document = documents_[static_cast<std::size_t>(pick(3))];
    std::copy(document.begin() + n, document.end(), sequence.tokens.begin() + n);
  }

  void publish(SequenceId id) {
    ModelSequence& sequence = model(id);
    if (sequence.dirty_from < kMaxTokens) return truncate(id);
    std::int64_t shortest = kMaxTokens;
    for (int g = 0; g < num_groups(); ++g) shortest = std::min(shortest, length(id, g));
    const Result<void> published = cache_->publish(id, sequence.tokens, sequence.domain == 0 ? "left" : "right");
    ASSERT_TRUE(published);
    ++outcomes["publications"];
    for (std::int64_t i = 0; i < shortest / size(); ++i) {
      const Content content = content_of(sequence, i);
      for (int g = 0; g < num_groups(); ++g) {
        if (i < sequence.gone[static_cast<std::size_t>(g)]) continue;
        const BlockId held = table(id, g)[static_cast<std::size_t>(i)];
        const BlockId known = find(g, content);
        if (known == kNoBlock) {
          contents_[static_cast<std::size_t>(g)][held] = content;
        } else {
          ASSERT_EQ(held, known);
        }
      }
    }
  }

  void ensure(SequenceId id) {
    const std::int64_t n = pick(kMaxTokens + 1);
    std::optional<Error> expected;
    for (int g = 0; g < num_groups() && !expected; ++g) {
      const std::int64_t missing = (n + size() - 1) / size() - static_cast<std::int64_t>(table(id, g).size());
      const int num_free = shape_.num_blocks - static_cast<int>(references(g).size());
      if (missing > num_free) expected = out_of_blocks(g, static_cast<int>(missing), num_free).error();
    }
    std::vector<std::vector<BlockId>> before;
    for (int g = 0; g < num_groups(); ++g) before.emplace_back(table(id, g).begin(), table(id, g).end());
    const Result<void> grown = cache_->ensure_capacity(id, n);
    if (expected) {
      ASSERT_NO_FATAL_FAILURE(expect_error(grown, *expected));
      for (int g = 0; g < num_groups(); ++g)
        ASSERT_TRUE(std::ranges::equal(before[static_cast<std::size_t>(g)], table(id, g)));
      return;
    }
    ASSERT_TRUE(grown);
    for (int g = 0; g < num_groups(); ++g) forget_written(id, g, before[static_cast<std::size_t>(g)], 0, 0);
  }

  // Memory of free blocks goes back to the system, of cached ones too every other time: then they cannot be found.
  void release() {
    const bool cached = pick(2) == 0;
    cache_->release_memory(cached);
    ++outcomes["releases"];
    for (int g = 0; g < num_groups() && cached; ++g) {
      const std::map<BlockId, int> held = references(g);
      const std::map<BlockId, Content> contents = contents_[static_cast<std::size_t>(g)];
      for (const auto& [block, content] : contents)
        if (!held.contains(block)) forget(g, block);
    }
  }

  void drop(SequenceId id) {
    touched_ = id;
    ASSERT_TRUE(cache_->drop_sequence(id));
    ASSERT_FALSE(cache_->drop_sequence(id));
    sequences_.erase(id);
    ++outcomes["drops"];
  }

  WalkShape shape_;
  std::mt19937 random_;
  std::unique_ptr<PagedKvCache> cache_;
  std::array<std::vector<TokenId>, 3> documents_;
  std::map<SequenceId, ModelSequence> sequences_;
  std::vector<std::map<BlockId, Content>> contents_;  // [groups]
  std::uint64_t hits_ = 0, misses_ = 0;
  SequenceId next_id_ = 0, touched_ = 0;
};

class PagedKvCacheWalk : public ::testing::TestWithParam<WalkShape> {};

TEST_P(PagedKvCacheWalk, P20_random_walk_agrees_with_a_simple_model) {
  Walk walk(GetParam(), 20'26);
  for (int i = 0; i < GetParam().operations; ++i) {
    walk.operation();
    if (HasFatalFailure()) FAIL() << "in operation " << i;
    walk.verify();
    if (HasFatalFailure()) FAIL() << "after operation " << i;
  }
  // Every kind of outcome was met many times.
  for (const char* outcome :
       {"written", "steps", "forks", "truncations", "publications", "drops", "hits", "out of memory", "releases"})
    EXPECT_GT(walk.outcomes[outcome], GetParam().operations / 1000) << outcome;
}

// Heads of two shapes, as of gemma 4; the fourth layer reads the first one's keys and values less far back.
const std::vector<KvLayerShape> kTwoShapes = {
    {.num_kv_heads = 1, .k_dim = 4, .v_dim = 4},
    {.num_kv_heads = 2, .k_dim = 2, .v_dim = 2, .window = 6},
    {.num_kv_heads = 1, .k_dim = 2, .v_dim = 2, .window = 6},
    {.num_kv_heads = 1, .k_dim = 4, .v_dim = 4, .window = 3, .borrows_from = 0},
    {.num_kv_heads = 2, .k_dim = 2, .v_dim = 2, .window = 6, .borrows_from = 1},
};
// Two groups see all: a block is found where both of them have it.
const std::vector<KvLayerShape> kTwoWithoutWindow = {
    {.num_kv_heads = 1, .k_dim = 6, .v_dim = 6, .window = 5},
    {.num_kv_heads = 1, .k_dim = 2, .v_dim = 2},
    {.num_kv_heads = 3, .k_dim = 2, .v_dim = 2},
    {.num_kv_heads = 1, .k_dim = 2, .v_dim = 2, .borrows_from = 1},
};

INSTANTIATE_TEST_SUITE_P(
    Shapes, PagedKvCacheWalk,
    ::testing::Values(WalkShape{"BlocksOf1", KvType::kF32, 1, 60, looking_back({0}), 20'000},
                      WalkShape{"BlocksOf2", KvType::kF16, 2, 30, looking_back({0, 0}), 30'000},
                      WalkShape{"BlocksOf4", KvType::kF32, 4, 14, looking_back({0, 0}), 30'000},
                      WalkShape{"BlocksOf8", KvType::kI16, 8, 9, looking_back({0}), 20'000},
                      WalkShape{"BlocksOf16", KvType::kQ8_0, 16, 7, looking_back({0, 0}), 20'000},
                      WalkShape{"Windowed", KvType::kBF16, 2, 26, looking_back({7, 0}), 30'000},
                      WalkShape{"WindowedBlocksOf4", KvType::kI16, 4, 14, looking_back({0, 6}), 20'000},
                      WalkShape{"AllWindowed", KvType::kF32, 2, 22, looking_back({5}), 15'000},
                      WalkShape{"TwoHeadShapes", KvType::kI16, 4, 14, kTwoShapes, 15'000},
                      WalkShape{"TwoGroupsWithoutWindow", KvType::kF32, 2, 26, kTwoWithoutWindow, 15'000}),
    [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace octavo

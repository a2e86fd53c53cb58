// A random walk over the manager of a memory with recurrent states, beside the bytes: each snapshot is the list of the
// tokens that its state has seen. Whatever is attached, forked, cut, kept and given up, a sequence's state is the one
// that computing all its tokens gives.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "kv/kv_cache_manager.h"
#include "support/state_room.h"

namespace octavo {
namespace {

using Tokens = std::vector<TokenId>;

constexpr int kMaxTokens = 48;

struct WalkShape {
  const char* name;
  std::vector<int> windows;
  int block_size, num_blocks, num_snapshots;
};

class Walk {
 public:
  Walk(const WalkShape& shape, unsigned seed)
      : kv_(test::tiny_manager(shape.windows, shape.block_size, shape.num_blocks, true, shape.num_snapshots)),
        random_(seed),
        states_(static_cast<std::size_t>(shape.num_snapshots)) {}

  void operation() {
    const int kind = pick(100);
    if (sequences_.empty() || kind < 12) return create();
    const auto it = std::next(sequences_.begin(), pick(static_cast<int>(sequences_.size())));
    if (kind < 60) return step(it->first, it->second);
    if (kind < 70) return fork(it->first, it->second);
    if (kind < 80) return cut(it->first, it->second);
    if (kind < 82) return release();
    ASSERT_TRUE(kv_->drop_sequence(it->first));
    sequences_.erase(it);
  }

  void verify() {
    const Result<void> intact = kv_->check_integrity();
    ASSERT_TRUE(intact) << intact.error().message;
    for (const auto& [id, text] : sequences_) {
      const auto length = static_cast<std::size_t>(kv_->sequence_length(id));
      const std::optional<BlockId> state_slot = kv_->table(id, kv_->num_groups()).get(0);
      ASSERT_EQ(state_slot.has_value(), length > 0);
      if (state_slot) {
        ASSERT_EQ(state(*state_slot), Tokens(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length)));
      }
    }
  }

  std::map<std::string, int> outcomes;

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  Tokens& state(BlockId snapshot) { return states_.at(static_cast<std::size_t>(snapshot)); }
  /// Texts part at a few places: tokens are 0 but for one.
  Tokens some_text() {
    Tokens text(kMaxTokens, 0);
    if (pick(3) > 0) text[static_cast<std::size_t>(pick(kMaxTokens))] = 1;
    return text;
  }

  void create() {
    if (sequences_.size() == 6) return;
    const SequenceId id = kv_->create_sequence();
    const Tokens& text = sequences_[id] = some_text();
    const int attached =
        kv_->attach_prefix(id, std::span(text).first(static_cast<std::size_t>(1 + pick(kMaxTokens))), "").value();
    if (attached > 0) ++outcomes["attached"];
  }

  void step(SequenceId id, const Tokens& text) {
    const auto first = kv_->sequence_length(id), end = std::min<std::int64_t>(first + 1 + pick(9), kMaxTokens);
    if (first == end) return;
    std::vector<BlockCopy> copies;
    if (!kv_->reserve(id, first, end, copies)) {
      ++outcomes["out of memory"];
      ASSERT_TRUE(copies.empty());
      return;
    }
    const int states = kv_->num_groups();
    for (const BlockCopy& copy : copies)
      if (copy.group == states) state(copy.to) = state(copy.from);
    const BlockId state_slot = kv_->table(id, states).get(0).value();
    ASSERT_EQ(kv_->pool(states).references(state_slot), 1);
    ASSERT_FALSE(kv_->pool(states).is_cached(state_slot)) << "what is kept is not written";
    if (first == 0) state(state_slot).clear();
    state(state_slot).insert(state(state_slot).end(), text.begin() + first, text.begin() + end);
    kv_->commit(id, end);
    ASSERT_TRUE(kv_->publish(id, text, ""));
    if (pick(2) == 0) kv_->keep_checkpoint(id);
    ++outcomes["steps"];
  }

  void fork(SequenceId id, const Tokens& text) {
    if (sequences_.size() == 6) return;
    sequences_[kv_->fork(id).value()] = text;
    ++outcomes["forks"];
  }

  void cut(SequenceId id, Tokens& text) {
    const std::int64_t length = kv_->sequence_length(id), most = pick(kMaxTokens);
    const std::int64_t end = kv_->longest_cut(id, std::min(most, length));
    ASSERT_LE(end, most);
    if (!kv_->truncate(id, end)) return;  // a window has left it
    ASSERT_EQ(kv_->sequence_length(id), end);
    if (end > 0) ++outcomes["cuts"];
    const Tokens other = some_text();  // it goes on differently
    std::copy(other.begin() + end, other.end(), text.begin() + end);
  }

  void release() {
    std::vector<BlockRun> runs;
    kv_->release_memory(pick(2) == 0, runs);
    for (const BlockRun& run : runs)
      for (int i = 0; i < run.count && run.group == kv_->num_groups(); ++i) state(run.first + i).assign(1, -2);
    ++outcomes["releases"];
  }

  std::unique_ptr<KvCacheManager> kv_;
  std::mt19937 random_;
  std::map<SequenceId, Tokens> sequences_;
  std::vector<Tokens> states_;  // [snapshots]
};

class CheckpointWalk : public ::testing::TestWithParam<WalkShape> {};

TEST_P(CheckpointWalk, EveryStateIsTheOneThatComputingAllTokensGives) {
  Walk walk(GetParam(), 27);
  for (int i = 0; i < 60'000; ++i) {
    walk.operation();
    if (HasFatalFailure()) FAIL() << "in operation " << i;
    walk.verify();
    if (HasFatalFailure()) FAIL() << "after operation " << i;
  }
  for (const char* outcome : {"attached", "steps", "forks", "cuts", "releases"})
    EXPECT_GT(walk.outcomes[outcome], 100) << outcome;
}

INSTANTIATE_TEST_SUITE_P(Shapes, CheckpointWalk,
                         ::testing::Values(WalkShape{"Roomy", {test::kRecurrent, 0}, 4, 80, 24},
                                           WalkShape{"FewStates", {test::kRecurrent, 0}, 4, 80, 7},
                                           WalkShape{"FewBlocks", {test::kRecurrent, 0}, 2, 40, 16},
                                           WalkShape{"Windowed", {test::kRecurrent, 0, 7}, 4, 60, 12},
                                           WalkShape{"Chunked", {test::kRecurrent, 0, test::chunks_of(6)}, 4, 60, 12},
                                           WalkShape{"AllWindowed", {test::kRecurrent, 9}, 2, 60, 12}),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace octavo

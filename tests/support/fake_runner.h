// A model without weights whose KV memory is integers: any error in tables, chunks, positions, copies, sharing or
// preemption changes its answers or ends the test.
//
// Its state is one layer of the smallest shape for each window, and integers in place of keys and values. A batch's
// releases are emptied and its copies made, then each row's (token, position) is written into the block slots that the
// batch names, in every group; the logits of a row are a pseudo-random function of what its tables hold within each
// group's window up to the row's own position. A slot never written, or written for another position, ends the process;
// so does a write to a block that another sequence holds or that is cached, where the engine's manager is known. A row
// that begins with a vector counts as the vector's first number. The
// recurrent state of a sequence is the list of its tokens in its snapshot: it ends the process if that is not as long
// as the sequence, or if somebody else holds it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "model/model_runner.h"
#include "sampler/sampler.h"
#include "support/state_room.h"

namespace octavo::test {

constexpr std::uint64_t mix(std::uint64_t x) {  // the finalizer of SplitMix64
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// The state of a group after one more token at `position`.
constexpr std::uint64_t next_state(std::uint64_t state, std::int32_t token, std::int32_t position) {
  return mix(state ^ mix(static_cast<std::uint64_t>(token) << 32 | static_cast<std::uint32_t>(position)));
}

/// The first position that position `last` sees.
constexpr int first_seen(int last, int window) {
  if (window < kRecurrent) return last / -window * -window;  // of a chunk
  return window == 0 || window == kRecurrent ? 0 : std::max(0, last - window + 1);
}

/// The state of a row at position `last`: all groups together; `token_at(group, position)` reads the cache.
template <class TokenAt>
std::uint64_t row_state(std::span<const int> windows, int last, const TokenAt& token_at) {
  std::uint64_t state = 0;
  for (std::size_t group = 0; group < windows.size(); ++group) {
    std::uint64_t of_group = 0;
    for (int position = first_seen(last, windows[group]); position <= last; ++position) {
      of_group = next_state(of_group, token_at(group, position), position);
    }
    state = group == 0 ? of_group : mix(state ^ of_group);
  }
  return state;
}

/// A recurrent state: the tokens that it has seen, in memory of one piece.
class StateTokens {
 public:
  static constexpr std::size_t kMost = 32'767;

  // Those beyond its size are never written, which would take memory and time.
  StateTokens() : size_(0) {}
  StateTokens(const StateTokens& other) : size_(0) { *this = other; }
  StateTokens& operator=(const StateTokens& other) {
    size_ = other.size_;
    std::copy_n(other.tokens_.begin(), size(), tokens_.begin());
    return *this;
  }
  ~StateTokens() = default;
  std::size_t size() const { return static_cast<std::size_t>(size_); }
  std::int32_t operator[](std::size_t i) const { return tokens_.at(i); }
  void clear() { size_ = 0; }
  void resize(std::size_t size) { size_ = static_cast<std::int32_t>(size); }
  void push_back(std::int32_t token) { tokens_.at(static_cast<std::size_t>(size_++)) = token; }

 private:
  std::int32_t size_;
  std::array<std::int32_t, kMost> tokens_;
};

class FakeRunner final : public ModelRunner, public BlockMemory {
 public:
  struct Options {
    int vocab_size = 32;
    int block_size = 4;
    int num_blocks = 64;             // of each group; 0: as many as memory_bytes holds
    std::vector<int> windows = {0};  // of each layer; equal ones form a group; kRecurrent: its layer is
    int num_snapshots = 256;         // where layers are recurrent
    std::size_t state_bytes = 64;    // of a recurrent layer: as much as the keys and values of 8 tokens in one group
    std::uint64_t memory_bytes = 0;
    KvLayout layout = KvLayout::kPaged;
    int max_rows = 512;
    int joint_rows = 0;  // the most rows of a joint pass, of which each piece has two; 0: it makes none
    bool is_encoder = false;
    bool asks_whether_wanted = false;  // in the midst of its steps
    /// Changes the logits of a row, given the row's own token.
    std::function<void(std::int32_t token, std::span<float> logits)> edit = {};
    std::function<void()> before_forward = {};  // may throw: std::bad_alloc refuses the batch
    std::int32_t not_finite_hidden_token = -1;  // hidden rows of it are no numbers
    std::int32_t not_finite_token = -1;         // sequences with a row of it are reported as not finite
    std::int32_t spoiled_token = -1;            // and as spoiled
    bool has_draft_head = false;                // it guesses what is drawn, but for every n-th token of guess_wrong
    int guess_wrong = 0;                        // 0: none
  };

  static constexpr std::size_t kWidth = 2;  // of hidden rows

  explicit FakeRunner(Options options) : options_(std::move(options)) {
    info_.vocab_size = options_.vocab_size;
    info_.max_rows = options_.max_rows;
    info_.has_draft_head = options_.has_draft_head;
    info_.width = static_cast<int>(kWidth);
    info_.is_encoder = options_.is_encoder;
    info_.joint_rows = options_.joint_rows;
    info_.room = tiny_room(
        options_.windows, options_.block_size,
        {.bytes = options_.memory_bytes, .num_blocks = options_.num_blocks, .num_snapshots = options_.num_snapshots},
        options_.layout, options_.state_bytes);
    for (int g = 0; g < info_.room.layout.num_groups(); ++g) {
      const KvGroup& group = info_.room.layout.group(g);
      windows_.push_back(group.is_chunked ? chunks_of(group.window) : group.window);
      slots_.emplace_back(at(num_blocks(g)) * at(block_size()));
    }
    if (info_.room.num_snapshots > 0) windows_.push_back(kRecurrent);
    other_layers_.resize(at(block_size()) * sizeof(Slot));
    snapshots_.resize(at(info_.room.num_snapshots));
    states_.reserve(at(options_.max_rows));
    kept_.reserve(at(kMaxDraftedRows));
    row_tokens_.reserve(at(options_.max_rows));
    logits_.resize(at(kMaxLogitRows * options_.vocab_size));
    not_finite_.reserve(at(options_.max_rows));
    spoiled_.reserve(at(options_.max_rows));
    guesses_.reserve(at(options_.max_rows));
    ahead_.reserve(at(options_.max_rows));
  }

  /// The manager of the engine that it belongs to, which must outlive its last batch: nobody else holds what is
  /// written.
  void check_writes_against(const KvCacheManager& manager) { manager_ = &manager; }

  const RunnerInfo& info() const override { return info_; }

  /// A group's slots are the blocks of its first layer. States want Options::state_bytes of a whole StateTokens.
  BlockMemory* block_memory() override { return this; }
  std::span<std::byte> piece(int pool, BlockId block, int layer_index) override {
    if (at(pool) == slots_.size()) {
      require(info_.room.layout.snapshot.bytes == sizeof(StateTokens), "size of a recurrent state");
      return std::as_writable_bytes(std::span(&snapshots_.at(at(block)), 1));
    }
    const std::size_t size = at(block_size());
    const auto slots = std::as_writable_bytes(std::span(slots_.at(at(pool))).subspan(at(block) * size, size));
    require(slots.size() == info_.room.layout.layer_block_bytes(pool), "size of a block");
    return layer_index == 0 ? slots : std::span(other_layers_).first(slots.size());
  }

  void begin(const Batch& batch) override { batch_ = &batch; }
  void begin(const GuessBatch& batch) override {
    batch_ = &batch.rows;
    guess_batch_ = &batch;
  }

  BatchOutcome wait() override {
    const Batch& batch = *std::exchange(batch_, nullptr);
    const GuessBatch* guesses = std::exchange(guess_batch_, nullptr);
    for (const StateAdvance& advance : batch.advances) make_advance(advance);
    for (const BlockRun& run : batch.releases) release(run);
    if (batch.ends_joint_pass) end_joint_pass(batch);
    if (batch.num_rows() == 0) return {};
    try {
      if (options_.before_forward) options_.before_forward();
    } catch (const std::bad_alloc&) {
      return {.is_refused = true};
    }
    if (options_.asks_whether_wanted && batch.is_unwanted && batch.is_unwanted())
      return {.is_refused = true, .is_left = true};
    if (guesses != nullptr) {
      guess(*guesses);
      return {.guesses = guesses_};
    }
    compute(batch);
    not_finite_.clear();
    spoiled_.clear();
    for (int s = 0; s < batch.num_seqs(); ++s) {
      const std::span tokens =
          std::span(batch.tokens)
              .subspan(at(batch.seq_begin[at(s)]), at(batch.seq_begin[at(s + 1)] - batch.seq_begin[at(s)]));
      if (std::ranges::find(tokens, options_.not_finite_token) != tokens.end()) not_finite_.push_back(s);
      if (std::ranges::find(tokens, options_.spoiled_token) != tokens.end()) spoiled_.push_back(s);
    }
    return {.not_finite = not_finite_, .spoiled = spoiled_};
  }

  bool begin_joint_pass(const Batch& batch) override {
    require(batch.num_rows() >= 1 && batch.num_rows() <= options_.joint_rows && batch.num_seqs() == 1, "joint rows");
    require(batch.sight_end == batch.kv_len[0] && batch.positions.back() + 1 == batch.sight_end, "end of sight");
    for (int row = 0; row < batch.num_rows(); ++row) require(batch.given_vector(row) != nullptr, "joint row");
    for (const BlockCopy& copy : batch.copies) make_copy(copy);
    joint_ = batch;
    joint_tokens_.clear();
    for (int row = 0; row < batch.num_rows(); ++row) joint_tokens_.push_back(row_token(batch, row));
    next_joint_row_ = 0;
    ++num_joint_passes_;
    return true;
  }
  JointPiece advance_joint_pass(const JointWork& most_work) override {
    require(most_work[0] > 0 && most_work[1] > 0, "work of a piece");
    if (next_joint_row_ == joint_.num_rows()) return {};
    const bool is_of_keys = ++num_joint_pieces_ % 2 == 1;  // a part that is always as small
    most_joint_rest_ = most_work[std::to_underlying(JointPart::kRest)];
    for (int i = 0; i < 2 && next_joint_row_ < joint_.num_rows(); ++i, ++next_joint_row_) {
      const int position = joint_.positions[at(next_joint_row_)];
      for (std::size_t group = 0; group < slots_.size(); ++group) {
        require_unshared(static_cast<int>(group), block_of(joint_, group, 0, position));
        slot(joint_, group, 0, position) = {joint_tokens_[at(next_joint_row_)], position};
      }
    }
    return is_of_keys
               ? JointPiece{.work = 2, .part = JointPart::kKeys}
               : JointPiece{.work = std::min<std::uint64_t>(most_joint_rest_, 1'000'000'000), .part = JointPart::kRest};
  }

  std::span<const float> logits(int first, int count) override {
    require(count >= 1 && count <= kMaxLogitRows && at(first + count) <= states_.size(), "logit rows");
    for (int i = 0; i < count; ++i) {
      const std::span<float> row = std::span(logits_).subspan(at(i * options_.vocab_size), at(options_.vocab_size));
      fill_logits(states_[at(first + i)], row);
      if (options_.edit) options_.edit(row_tokens_[at(first + i)], row);
    }
    return std::span(logits_).first(at(count * options_.vocab_size));
  }

  /// Rows of two numbers, a function of what the row has seen.
  std::span<const float> hidden_rows(int first, int count) override {
    require(count >= 1 && count <= kMaxLogitRows && at(first + count) <= states_.size(), "hidden rows");
    for (int i = 0; i < count; ++i) {
      const std::span<float> row = std::span(hidden_).subspan(at(i) * kWidth, kWidth);
      fill_logits(states_[at(first + i)], row);
      if (row_tokens_[at(first + i)] == options_.not_finite_hidden_token)
        row[0] = std::numeric_limits<float>::quiet_NaN();
    }
    return std::span(hidden_).first(at(count) * kWidth);
  }
  /// The row itself, or one score: its first number.
  std::span<const float> apply_head(std::span<const float> pooled, bool ranks) override {
    return ranks ? pooled.first(1) : pooled;
  }

  /// The logits of a row in this state, before any edit.
  static void fill_logits(std::uint64_t state, std::span<float> row) {
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] = static_cast<float>(mix(state + i) >> 40) * 0x1p-22F;  // 0 to 4
  }

  /// Windows of the groups, in their order, then kRecurrent where a layer is.
  std::span<const int> windows() const { return windows_; }
  int num_forwards() const { return num_forwards_; }
  int num_rows() const { return num_rows_; }
  int num_copies() const { return num_copies_; }
  int num_guesses() const { return num_guesses_; }
  int num_joint_passes() const { return num_joint_passes_; }
  int num_joint_pieces() const { return num_joint_pieces_; }
  /// The most work that the last piece might have taken in the part that needs all keys.
  std::uint64_t most_joint_rest() const { return most_joint_rest_; }
  /// For steps whose answers nobody looks at.
  void let_read_anything(bool may) { may_read_anything_ = may; }
  int max_sequences_seen() const { return max_sequences_seen_; }

 private:
  struct Slot {
    std::int32_t token = -1, position = -1;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "FakeRunner: wrong %s\n", what);
    std::abort();
  }

  int block_size() const { return info_.room.layout.block_size; }
  int num_blocks(int group) const { return info_.room.num_blocks[at(group)]; }

  void compute(const Batch& batch) {
    require(batch.num_rows() >= 1 && batch.num_rows() <= options_.max_rows, "number of rows");
    require(batch.groups.size() == slots_.size(), "number of groups");
    require(batch.seq_begin.size() == batch.kv_len.size() + 1, "seq_begin");
    require(batch.positions.size() == batch.tokens.size() && batch.rope_positions.size() == batch.tokens.size(),
            "rows");
    ++num_forwards_;
    num_rows_ += batch.num_rows();
    num_copies_ += static_cast<int>(batch.copies.size());
    max_sequences_seen_ = std::max(max_sequences_seen_, batch.num_seqs());
    require(batch.state_slots.size() == (snapshots_.empty() ? 0 : batch.kv_len.size()), "number of state_slots");
    for (const BlockCopy& copy : batch.copies) make_copy(copy);
    for (int s = 0; s < batch.num_seqs(); ++s) write(batch, s);
    kept_.clear();
    for (int s = 0; s < batch.num_seqs() && !snapshots_.empty(); ++s) advance_state(batch, s);
    states_.clear();
    row_tokens_.clear();
    int s = 0;
    for (const std::int32_t row : batch.logit_rows) {
      while (row >= batch.seq_begin[at(s + 1)]) ++s;
      states_.push_back(read(batch, s, batch.positions[at(row)]));
      row_tokens_.push_back(batch.tokens[at(row)]);
    }
  }

  /// The row in front of each last token must have been computed, and there must be places for all guesses.
  void guess(const GuessBatch& guesses) {
    const Batch& batch = guesses.rows;
    require(options_.has_draft_head, "batch of guesses");
    require(batch.num_rows() == batch.num_seqs() && guesses.num_guesses.size() == at(batch.num_seqs()), "guesses");
    require(guesses.candidate_begin.size() == at(batch.num_seqs() + 1), "candidates");
    require(guesses.draws.size() == at(batch.num_seqs()), "draws of guesses");
    for (const BlockCopy& copy : batch.copies) make_copy(copy);
    guesses_.clear();
    for (int s = 0; s < batch.num_seqs(); ++s) {
      const int last = batch.positions[at(s)], count = guesses.num_guesses[at(s)];
      require(batch.seq_begin[at(s)] == s && batch.kv_len[at(s)] == last + count, "places of guesses");
      if (!snapshots_.empty())
        require(snapshots_.at(at(batch.state_slots[at(s)])).size() == at(last), "state before guesses");
      std::vector<std::int32_t>& ahead = ahead_;
      ahead.assign(1, batch.tokens[at(s)]);
      for (int position = last; position < last + count; ++position) {
        for (std::size_t group = 0; group < slots_.size(); ++group)
          require_unshared(static_cast<int>(group), block_of(batch, group, s, position));
        ahead.push_back(guess_behind(guesses, s, position, ahead));
        guesses_.push_back({.token = ahead.back(), .chance = GuessedToken::kSure * 3 / 4});
      }
    }
  }

  std::int32_t guess_behind(const GuessBatch& guesses, int s, int last, std::span<const std::int32_t> ahead) {
    const Batch& batch = guesses.rows;
    const int first_ahead = batch.positions[at(s)];
    const std::uint64_t state = row_state(windows_, last, [&](std::size_t group, int position) {
      if (position >= first_ahead) return ahead[at(position - first_ahead)];
      if (windows_[group] == kRecurrent) return snapshots_[at(batch.state_slots[at(s)])][at(position)];
      const Slot seen = slot(batch, group, s, position);
      require(seen.position == position, "slot before guesses");
      return seen.token;
    });
    const std::span<float> row = std::span(logits_).first(at(options_.vocab_size));
    fill_logits(state, row);
    const GuessDraw& draw = guesses.draws[at(s)];
    params_.temperature = draw.temperature;
    params_.top_k = draw.top_k;
    params_.top_p = draw.top_p;
    params_.min_p = draw.min_p;
    const DrawKey key{.seed = draw.seed, .choice = draw.choice, .position = static_cast<std::uint32_t>(last + 1)};
    const std::int32_t drawn = sample(row, options_.vocab_size, params_, key, scratch_, {.wants_logprob = false}).token;
    ++num_guesses_;
    const bool is_wrong = options_.guess_wrong > 0 && last % options_.guess_wrong == 0;
    return is_wrong ? (drawn + 1) % options_.vocab_size : drawn;
  }

  /// All rows of the pass must be where they were written.
  void end_joint_pass(const Batch& batch) {
    require(joint_.num_rows() > 0 && next_joint_row_ == joint_.num_rows(), "end of a joint pass");
    require(batch.logit_rows == joint_.logit_rows, "logit rows of a joint pass");
    read(joint_, 0, joint_.positions.back());
    states_.clear();
    row_tokens_.clear();
    for (const std::int32_t row : batch.logit_rows) {
      states_.push_back(read(joint_, 0, joint_.positions[at(row)]));
      row_tokens_.push_back(joint_tokens_[at(row)]);
    }
  }

  void release(const BlockRun& run) {
    if (at(run.group) == slots_.size()) {
      for (int i = 0; i < run.count; ++i) snapshots_.at(at(run.first + i)).clear();
      return;
    }
    require(run.first >= 0 && run.count > 0 && run.first + run.count <= num_blocks(run.group), "release");
    const std::size_t size = at(block_size());
    std::fill_n(slots_[at(run.group)].begin() + static_cast<std::ptrdiff_t>(at(run.first) * size), at(run.count) * size,
                Slot{});
  }

  void make_copy(const BlockCopy& copy) {
    if (at(copy.group) == slots_.size()) {
      snapshots_.at(at(copy.to)) = snapshots_.at(at(copy.from));
      return;
    }
    require(at(copy.group) < slots_.size(), "group of a copy");
    const int end = num_blocks(copy.group);
    require(copy.from >= 0 && copy.from < end && copy.to >= 0 && copy.to < end, "block of a copy");
    std::vector<Slot>& slots = slots_[at(copy.group)];
    const std::size_t size = at(block_size());
    std::copy_n(&slots[at(copy.from) * size], size, &slots[at(copy.to) * size]);
  }

  BlockId block_of(const Batch& batch, std::size_t group, int s, int position) const {
    const Batch::Group& tables = batch.groups[group];
    const int index = tables.block_begin[at(s)] + position / block_size();
    require(index < tables.block_begin[at(s + 1)], "table length");
    const int block = tables.block_ids[at(index)];
    require(block >= 0 && block < num_blocks(static_cast<int>(group)), "block id");
    return block;
  }

  Slot& slot(const Batch& batch, std::size_t group, int s, int position) {
    const std::size_t size = at(block_size());
    return slots_[group][at(block_of(batch, group, s, position)) * size + at(position) % size];
  }

  void write(const Batch& batch, int s) {
    const int begin = batch.seq_begin[at(s)], end = batch.seq_begin[at(s + 1)];
    require(begin < end, "empty sequence");
    require(batch.kv_len[at(s)] == batch.positions[at(end - 1)] + 1, "kv_len");
    for (int row = begin; row < end; ++row) {
      const int position = batch.positions[at(row)];
      require(position == batch.positions[at(begin)] + row - begin, "positions");
      require(batch.tokens[at(row)] >= 0 && batch.tokens[at(row)] < options_.vocab_size, "token");
      for (std::size_t group = 0; group < slots_.size(); ++group) {
        require_unshared(static_cast<int>(group), block_of(batch, group, s, position));
        slot(batch, group, s, position) = {row_token(batch, row), position};
      }
    }
  }

  void advance_state(const Batch& batch, int s) {
    const int first = batch.positions[at(batch.seq_begin[at(s)])], state_slot = batch.state_slots[at(s)];
    require_unshared(static_cast<int>(slots_.size()), state_slot);
    StateTokens& state = snapshots_.at(at(state_slot));
    if (first == 0) state.clear();
    if (may_read_anything_) state.resize(at(first));
    require(state.size() == at(first), "length of a recurrent state");
    const int end = batch.seq_begin[at(s + 1)], first_drafted = end - batch.num_drafted[at(s)];
    for (int row = batch.seq_begin[at(s)]; row < first_drafted; ++row) state.push_back(row_token(batch, row));
    kept_.insert(kept_.end(), batch.tokens.begin() + first_drafted, batch.tokens.begin() + end);
    require(kept_.size() <= at(kMaxDraftedRows), "number of drafted rows");
  }

  void make_advance(const StateAdvance& advance) {
    require(advance.first_row >= 0 && at(advance.first_row + advance.num_rows) <= kept_.size(), "rows of an advance");
    StateTokens& state = snapshots_.at(at(advance.state_slot));
    for (int i = 0; i < advance.num_rows; ++i) state.push_back(kept_[at(advance.first_row + i)]);
  }

  /// The token that the recurrent state of a sequence has seen at a position, drafted ones included.
  std::int32_t seen_token(const Batch& batch, int s, int position) const {
    const StateTokens& state = snapshots_[at(batch.state_slots[at(s)])];
    if (at(position) < state.size()) return state[at(position)];
    return row_token(batch, batch.seq_begin[at(s)] + position - batch.positions[at(batch.seq_begin[at(s)])]);
  }

  /// The token of a row, or the first number of the vector that it begins with instead.
  static std::int32_t row_token(const Batch& batch, int row) {
    const float* given = batch.given_vector(row);
    return given == nullptr ? batch.tokens[at(row)] : static_cast<std::int32_t>(*given);
  }

  void require_unshared(int group, BlockId block) const {
    if (manager_ == nullptr) return;
    const BlockPool& pool = manager_->pool(group);
    require(pool.references(block) == 1 && !pool.is_cached(block), "write: the block is shared");
  }

  std::uint64_t read(const Batch& batch, int s, int last) {
    return row_state(windows_, last, [&](std::size_t group, int position) {
      if (windows_[group] == kRecurrent) return seen_token(batch, s, position);
      const Slot seen = slot(batch, group, s, position);
      require(seen.position == position || may_read_anything_, "slot: never written, or by another sequence");
      return seen.token;
    });
  }

  Options options_;
  RunnerInfo info_;
  const KvCacheManager* manager_ = nullptr;
  const Batch* batch_ = nullptr;                    // begun
  const GuessBatch* guess_batch_ = nullptr;         // that the rows belong to
  std::vector<int> windows_;                        // [groups]
  std::vector<std::vector<Slot>> slots_;            // [groups][blocks * block_size]
  std::vector<StateTokens> snapshots_;              // [num_snapshots]
  std::vector<std::byte> other_layers_;             // blocks of a group's layers behind the first, which has the tokens
  std::vector<std::int32_t> kept_;                  // tokens of the last batch's drafted rows
  std::vector<std::uint64_t> states_;               // [logit rows]
  std::vector<std::int32_t> row_tokens_;            // [logit rows]
  std::vector<float> logits_;                       // [kMaxLogitRows, vocab_size]
  std::vector<std::int32_t> not_finite_, spoiled_;  // sequences of the last batch
  std::vector<GuessedToken> guesses_;               // of the last batch of guesses
  std::vector<std::int32_t> ahead_;                 // scratch of guess()
  SamplingParams params_;                           // the same
  SamplerScratch scratch_{options_.vocab_size};     // the same
  int num_guesses_ = 0;
  std::vector<float> hidden_ = std::vector<float>(at(kMaxLogitRows) * kWidth);
  bool may_read_anything_ = false;
  Batch joint_;                             // of the joint pass
  std::vector<std::int32_t> joint_tokens_;  // [rows of the pass]
  int next_joint_row_ = 0, num_joint_passes_ = 0, num_joint_pieces_ = 0;
  std::uint64_t most_joint_rest_ = 0;
  int num_forwards_ = 0, num_rows_ = 0, num_copies_ = 0;
  int max_sequences_seen_ = 0;
};

}  // namespace octavo::test

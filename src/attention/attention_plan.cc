#include "attention/attention_plan.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

#include "base/error.h"
#include "base/to_size.h"
#include "octavo/kv/types.h"

namespace octavo {
namespace {

// Partial results of a round: enough tiles for all threads, few enough to stay in the caches.
constexpr std::size_t kRoundFloats = std::size_t{1} << 20;
// Queries of one piece of a chunk share what they load. More of them gain little (their states leave the first-level
// cache); fewer, where threads would be without a few pieces each, but not so few that each is mostly loading.
constexpr int kPieceQueries = 96, kMinPieceQueries = 48;
constexpr int kPiecesPerThread = 4;
// Merging less than this is not worth another thread's wake-up.
constexpr std::size_t kMergeGrainFloats = 8192;
// Bytes that memory gives a core for each multiply-add, where a core has one or two vectors of them a cycle.
constexpr double kBytesPerMultiplyAdd = 0.25;
// If a step needs fewer of these, its products are so much the bound that fetching more than it must slows it down.
constexpr double kBytesNeeded = 0.65;

constexpr std::size_t kNoReading = std::numeric_limits<std::size_t>::max();

/// The positions begin <= p < end that a row of a sequence sees.
std::pair<int, int> seen_by(const AttentionSequence& sequence, int position, const AttentionReach& reach) {
  if (reach.is_causal) {
    const int end = reach.joins ? std::max(position + 1, sequence.sight_end) : position + 1;
    return {reach.first_seen(position), end};
  }
  if (reach.window == 0) return {sequence.first_token, sequence.num_tokens};
  const int side = reach.window / 2;
  return {std::max(0, position - side), std::min(sequence.num_tokens, position + side + 1)};
}

}  // namespace

AttentionPlan::AttentionPlan(const Shape& shape, int num_threads)
    : shape_(shape),
      heads_per_kv_head_(shape.num_heads / shape.num_kv_heads),
      state_floats_(shape.v_dim + 2),
      num_threads_(num_threads),
      tickets_(shape.num_kv_heads, num_threads) {
  OCTAVO_CHECK(std::max(shape.k_dim, shape.v_dim) <= kMaxHeadDim && shape.num_heads % shape.num_kv_heads == 0,
               "{} and {} dimensions, {} / {} heads", shape.k_dim, shape.v_dim, shape.num_heads, shape.num_kv_heads);
  const auto one_tile = to_size(shape.max_rows) * to_size(shape.num_heads) * to_size(state_floats_);
  partials_ = AlignedBuffer<float>(std::max(one_tile, kRoundFloats));
  states_ = AlignedBuffer<float>(one_tile);
  scratch_ = AlignedBuffer<float>(thread_floats() * to_size(num_threads));
  queries_.reserve(to_size(shape.max_rows * heads_per_kv_head_));
}

void AttentionPlan::build(std::span<const AttentionSequence> sequences, const AttentionReach& reach, int block_size) {
  seqs_.clear();
  queries_.clear();
  readings_.clear();
  for (const AttentionSequence& s : sequences)
    if (is_cut_by_tiles(s, reach))
      seqs_.push_back({.source = &s,
                       .num_queries = s.num_rows * heads_per_kv_head_,
                       .begin = reach.first_seen(s.first_position),
                       .end = s.first_position + s.num_rows});
  sort_sequences(reach, block_size);
  keep_uncut(sequences, reach);
  for (Seq& seq : seqs_) {
    seq.first_query = static_cast<int>(queries_.size());
    add_queries(*seq.source, reach);
  }
  num_tile_queries_ = static_cast<int>(queries_.size());
  add_tile_readings();
  const auto tile_floats = to_size(num_tile_queries_ * shape_.num_kv_heads * state_floats_);
  rounds_.tiles_per_round = seqs_.empty() ? 1 : static_cast<int>(partials_.size() / tile_floats);
  OCTAVO_CHECK(rounds_.tiles_per_round >= 1, "{} queries", num_tile_queries_);
  rounds_.count =
      std::max(1, (rounds_.end_tile - rounds_.first_tile + rounds_.tiles_per_round - 1) / rounds_.tiles_per_round);
  for (const AttentionSequence& s : sequences)
    if (!is_cut_by_tiles(s, reach)) add_direct_readings(s, reach);
  for (const Seq& seq : uncut_) {
    const auto first = static_cast<int>(queries_.size());
    add_queries(*seq.source, reach);
    readings_.push_back({seq.source->blocks.data(), first, seq.num_queries, seq.begin, seq.end, Cut::kHeadRange});
  }
  tokens_ = query_tokens_ = 0;
  for (const Reading& reading : readings_) {
    const auto tokens = static_cast<std::uint64_t>(reading.end - reading.begin);
    tokens_ += tokens;
    query_tokens_ += tokens * static_cast<std::uint64_t>(reading.num_queries);
  }
  const auto rest = std::ranges::stable_partition(readings_, [](const Reading& reading) {
    return reading.num_queries > kMaxTileQueries && reading.cut != Cut::kHeadRange;
  });
  std::ranges::stable_partition(rest, [](const Reading& reading) { return reading.cut == Cut::kHeadRange; });
}

bool AttentionPlan::is_cut_by_tiles(const AttentionSequence& s, const AttentionReach& reach) const {
  if (!reach.is_causal || (reach.joins && s.sight_end > 0)) return false;
  const int begin = reach.first_seen(s.first_position), last = s.first_position + s.num_rows - 1;
  return begin / kTileTokens != last / kTileTokens && s.num_rows * heads_per_kv_head_ <= kMaxItemQueries;
}

void AttentionPlan::add_queries(const AttentionSequence& s, const AttentionReach& reach) {
  for (int row = 0; row < s.num_rows; ++row) {
    const auto [begin, end] = seen_by(s, s.first_position + row, reach);
    for (int head = 0; head < heads_per_kv_head_; ++head) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * shape_.num_heads + head;
      queries_.push_back(
          {.q = s.q + at * shape_.k_dim, .out = s.out + at * shape_.v_dim, .begin = begin, .end = end, .head = head});
    }
  }
}

void AttentionPlan::add_direct_readings(const AttentionSequence& s, const AttentionReach& reach) {
  auto first = static_cast<int>(queries_.size());
  add_queries(s, reach);
  const auto end = static_cast<int>(queries_.size());
  int piece = kPieceQueries;
  while (piece > kMinPieceQueries &&
         (end - first + piece - 1) / piece * shape_.num_kv_heads < kPiecesPerThread * num_threads_)
    piece /= 2;
  for (; first < end; first += piece) {
    const int count = std::min(piece, end - first);
    readings_.push_back({.blocks = s.blocks.data(),
                         .first_query = first,
                         .num_queries = count,
                         .begin = queries_[to_size(first)].begin,
                         .end = queries_[to_size(first + count - 1)].end,
                         .cut = Cut::kHeads});
  }
}

// Sequences that share nothing are left to one thread each, longest first, while what remains can keep the others busy
// for as long.
void AttentionPlan::keep_uncut(std::span<const AttentionSequence> sequences, const AttentionReach& reach) {
  // Reading a token takes about as long as the products of eight queries.
  const auto cost = [](int tokens, int queries) { return std::int64_t{tokens} * (kMaxTileQueries + queries); };
  const auto cost_of = [&](const Seq* seq) { return cost(seq->end - seq->begin, seq->num_queries); };
  std::int64_t left = 0;
  for (const AttentionSequence& s : sequences)
    left += cost(s.first_position + s.num_rows - reach.first_seen(s.first_position), s.num_rows * heads_per_kv_head_);
  unshared_.clear();
  for (std::size_t i = 0; i < seqs_.size(); ++i)
    if (!seqs_[i].shares_with_last() && (i + 1 == seqs_.size() || !seqs_[i + 1].shares_with_last()))
      unshared_.push_back(&seqs_[i]);
  std::ranges::sort(unshared_, std::greater{}, cost_of);
  uncut_.clear();
  for (Seq* seq : unshared_) {
    if (num_threads_ > 1 && cost_of(seq) * num_threads_ > left - cost_of(seq)) continue;
    left -= cost_of(seq);
    uncut_.push_back(*seq);
    seq->uncut = true;
  }
  std::erase_if(seqs_, [](const Seq& seq) { return seq.uncut; });
}

// Sequences that have blocks in common become neighbours. Blocks before a window may have been given back, so tables
// are compared where all of those compared have blocks: sequences are taken together as long as there is such a place.
void AttentionPlan::sort_sequences(const AttentionReach& reach, int block_size) {
  const auto first_block = [&](const Seq& seq) { return seq.begin / block_size; };
  if (reach.window > 0) std::ranges::sort(seqs_, {}, first_block);
  for (std::size_t first = 0, end = 0; first < seqs_.size(); first = end) {
    int least_end = std::numeric_limits<int>::max();
    for (end = first; end < seqs_.size() && first_block(seqs_[end]) < least_end; ++end)
      least_end = std::min(least_end, (seqs_[end].end - 1) / block_size + 1);
    sort_by_blocks(std::span(seqs_).subspan(first, end - first), first_block(seqs_[end - 1]), reach, block_size);
  }
}

// All of them have a block at entry `common`.
void AttentionPlan::sort_by_blocks(std::span<Seq> seqs, int common, const AttentionReach& reach, int block_size) {
  const auto behind = [&](const Seq& seq) { return seq.source->blocks.subspan(to_size(common)); };
  std::ranges::sort(
      seqs, [&](const Seq& a, const Seq& b) { return std::ranges::lexicographical_compare(behind(a), behind(b)); });
  for (std::size_t i = 0; i < seqs.size(); ++i) {
    Seq& seq = seqs[i];
    seq.full_begin = tiles_up_to(reach.first_seen(seq.end - 1));
    seq.full_end = (seq.source->first_position + 1) / kTileTokens;
    seq.shared_begin = seq.shared_end = 0;
    if (i == 0) continue;
    const std::span<const std::int32_t> before = seqs[i - 1].source->blocks, blocks = seq.source->blocks;
    const auto equal = std::ranges::mismatch(behind(seqs[i - 1]), behind(seq)).in2 - behind(seq).begin();
    if (equal == 0) continue;
    auto first = to_size(common);
    while (first > 0 && blocks[first - 1] == before[first - 1] && blocks[first - 1] != kNoBlock) --first;
    seq.shared_begin = tiles_up_to(static_cast<int>(first) * block_size);
    seq.shared_end = static_cast<int>((common + equal) * block_size / kTileTokens);
  }
}

void AttentionPlan::add_tile_readings() {
  rounds_.first_tile = seqs_.empty() ? 0 : std::numeric_limits<int>::max();
  rounds_.end_tile = 0;
  for (std::size_t first = 0, end = 0; first < seqs_.size(); first = end) {
    for (end = first + 1; end < seqs_.size() && seqs_[end].shares_with_last();) ++end;
    if (end - first > 1) {
      add_shared_readings(first, end);
    } else {
      const Seq& seq = seqs_[first];
      readings_.push_back(
          {seq.source->blocks.data(), seq.first_query, seq.num_queries, seq.begin, seq.end, Cut::kTiles});
    }
  }
  for (const Seq& seq : seqs_) {
    rounds_.first_tile = std::min(rounds_.first_tile, seq.begin / kTileTokens);
    rounds_.end_tile = std::max(rounds_.end_tile, tiles_up_to(seq.end));
  }
}

// Tile by tile, neighbours that read it together; those that do so in the next tile too make one reading.
void AttentionPlan::add_shared_readings(std::size_t first_seq, std::size_t end_seq) {
  open_reading_.assign(seqs_.size(), kNoReading);
  int end_tile = 0;
  for (std::size_t i = first_seq; i < end_seq; ++i) end_tile = std::max(end_tile, tiles_up_to(seqs_[i].end));
  const auto reads_all = [](const Seq& seq, int tile) { return seq.full_begin <= tile && tile < seq.full_end; };
  for (int tile = 0; tile < end_tile; ++tile)
    for (std::size_t begin = first_seq, end = first_seq; begin < end_seq; begin = end) {
      int queries = seqs_[begin].num_queries;
      for (end = begin + 1; end < end_seq; ++end) {
        const bool together = seqs_[end].shares_tile(tile) && reads_all(seqs_[end - 1], tile) &&
                              reads_all(seqs_[end], tile) && queries + seqs_[end].num_queries <= kMaxItemQueries;
        if (!together) break;
        queries += seqs_[end].num_queries;
      }
      add_readers(begin, end, tile);
    }
}

void AttentionPlan::add_readers(std::size_t first_seq, std::size_t end_seq, int tile) {
  const Seq& seq = seqs_[first_seq];
  const int begin = std::max(seq.begin, tile * kTileTokens), end = std::min(seq.end, (tile + 1) * kTileTokens);
  if (begin >= end) return;
  const Seq& last = seqs_[end_seq - 1];
  const int num_queries = last.first_query + last.num_queries - seq.first_query;
  if (const std::size_t open = open_reading_[first_seq];
      open != kNoReading && readings_[open].num_queries == num_queries && readings_[open].end == begin) {
    readings_[open].end = end;
    return;
  }
  open_reading_[first_seq] = readings_.size();
  readings_.push_back({seq.source->blocks.data(), seq.first_query, num_queries, begin, end, Cut::kTiles});
}

int AttentionPlan::heads_of_range(const Reading& reading) const {
  return std::min(shape_.num_kv_heads, kMaxItemQueries / reading.num_queries);
}

void AttentionPlan::count_tasks(int round) {
  const int round_begin = first_tile_of(round), round_end = first_tile_of(round + 1);
  AttentionTasks tasks;
  tasks_before_.assign(1, 0);
  has_few_ = false;
  for (const Reading& reading : readings_) {
    int num_tasks = round == 0 ? shape_.num_kv_heads : 0;
    if (reading.cut == Cut::kHeadRange && round == 0)
      num_tasks = (shape_.num_kv_heads + heads_of_range(reading) - 1) / heads_of_range(reading);
    if (reading.cut == Cut::kTiles)
      num_tasks = std::max(0, std::min(tiles_up_to(reading.end), round_end) -
                                  std::max(reading.begin / kTileTokens, round_begin)) *
                  shape_.num_kv_heads;
    const auto count = to_size(num_tasks);
    tasks_before_.push_back(tasks_before_.back() + count);
    const bool many = reading.num_queries > kMaxTileQueries;
    (reading.cut == Cut::kHeadRange ? tasks.ranges : many ? tasks.by_many : tasks.few) += count;
    if (many && reading.cut == Cut::kTiles) tasks.by_tiles += count;
    if (!many && count > 0) has_few_ = true;
  }
  tickets_.begin(tasks);
}

// Memory gives most when asked in the order of addresses. Queries that wait for their own products gain if they
// fetch little at a time: one head, which the second-level cache holds twice even where another process has half of it.
int AttentionPlan::heads_of_stretch(const Reading& reading, const KvLayer& kv) const {
  if (reading.num_queries > kFewQueries) return 1;
  return static_cast<int>(std::max<std::size_t>(1, kStretchBytes / (kTileTokens * kv.token_bytes)));
}

// The positions that the reading sees of some tiles.
AttentionItem AttentionPlan::item_of(const Reading& reading, int head, int begin_tile, int end_tile) const {
  return {.blocks = reading.blocks,
          .queries = queries_.data() + reading.first_query,
          .partial = nullptr,
          .states = nullptr,
          .resumes = false,
          .num_queries = reading.num_queries,
          .kv_head = head,
          .q_stride = heads_per_kv_head_ * shape_.k_dim,
          .out_stride = heads_per_kv_head_ * shape_.v_dim,
          .begin = std::max(reading.begin, begin_tile * kTileTokens),
          .end = std::min(reading.end, end_tile * kTileTokens)};
}

AttentionStretch AttentionPlan::stretch(int round, const Reading& reading, std::size_t task_of_reading, int max_heads) {
  const auto heads = to_size(shape_.num_kv_heads);
  const auto head = static_cast<int>(task_of_reading % heads);
  if (reading.cut == Cut::kHeads) return {.first = item_of(reading, head, 0, tiles_up_to(reading.end))};
  const int tile =
      std::max(reading.begin / kTileTokens, first_tile_of(round)) + static_cast<int>(task_of_reading / heads);
  AttentionStretch s{.first = item_of(reading, head, tile, tile + 1),
                     .num_heads = std::min(max_heads, shape_.num_kv_heads - head),
                     .head_floats = static_cast<std::ptrdiff_t>(num_tile_queries_) * state_floats_};
  s.first.partial = partials_.data() + ((tile - first_tile_of(round)) * shape_.num_kv_heads + head) * s.head_floats +
                    static_cast<std::ptrdiff_t>(reading.first_query) * state_floats_;
  return s;
}

// The walk's next tile and heads; behind the last ones the walk has left the range.
AttentionStretch AttentionPlan::stretch_of_range(const Reading& reading, std::size_t task_of_reading, int max_heads,
                                                 Walk& walk) const {
  const int heads = heads_of_range(reading), first_head = static_cast<int>(task_of_reading) * heads;
  const int end_head = std::min(first_head + heads, shape_.num_kv_heads);
  if (!walk.in_range) walk.tile = reading.begin / kTileTokens, walk.head = first_head;
  AttentionStretch s{.first = item_of(reading, walk.head, walk.tile, walk.tile + 1),
                     .num_heads = std::min(max_heads, end_head - walk.head),
                     .head_floats = static_cast<std::ptrdiff_t>(reading.num_queries) * state_floats_};
  s.first.states = walk.states + (walk.head - first_head) * s.head_floats;
  s.first.resumes = s.first.begin > reading.begin;
  walk.in_range = true;
  walk.head += s.num_heads;
  if (walk.head == end_head) {
    walk.head = first_head;
    ++walk.tile;
    walk.in_range = s.first.end < reading.end;
  }
  return s;
}

std::optional<AttentionStretch> AttentionPlan::next_stretch(int round, int worker, const KvLayer& kv, Walk& walk,
                                                            ThreadPool& pool) {
  if (walk.task == walk.end_task) {
    if (walk.started && pool.must_pause(worker)) return std::nullopt;
    const auto tasks = tickets_.next(worker);
    if (!tasks) return std::nullopt;
    std::tie(walk.task, walk.end_task) = *tasks;
  }
  const auto above = std::ranges::upper_bound(tasks_before_, walk.task) - tasks_before_.begin();
  const auto index = to_size(above) - 1;
  const Reading& reading = readings_[index];
  const std::size_t task_of_reading = walk.task - tasks_before_[index];
  const int max_heads = walk.started ? heads_of_stretch(reading, kv) : 1;
  walk.started = true;
  if (reading.cut == Cut::kHeadRange) {
    const AttentionStretch next = stretch_of_range(reading, task_of_reading, max_heads, walk);
    if (!walk.in_range) ++walk.task;
    return next;
  }
  const int left = static_cast<int>(walk.end_task - walk.task);
  const AttentionStretch next = stretch(round, reading, task_of_reading, std::min(left, max_heads));
  walk.task += to_size(next.num_heads);
  return next;
}

// Items of more than kMaxTileQueries take long for their bytes, those of fewer take no time for as many. If a step has
// both, and needs memory about as long as products, the former fetch for the latter.
bool AttentionPlan::fetches_far(const KvLayer& kv) const {
  const double multiply_adds = static_cast<double>(query_tokens_) * (shape_.k_dim + shape_.v_dim);
  const double bytes = static_cast<double>(tokens_) * static_cast<double>(kv.token_bytes);
  return has_few_ && bytes >= kBytesNeeded * kBytesPerMultiplyAdd * multiply_adds;
}

// Bytes that an item fetches though it need not: those that memory gives while its last tile is computed. They are no
// more than that tile's own bytes in each pass over it, because the kernel fetches no faster.
std::size_t AttentionPlan::bytes_meanwhile(const AttentionItem& item, const KvLayer& kv) const {
  if (item.num_queries <= kMaxTileQueries) return 0;
  const auto queries = to_size(item.num_queries), passes = (queries - 1) / kMaxTileQueries + 1;
  const int last_tile = (item.end - 1) / kTileTokens * kTileTokens;
  const auto tokens = to_size(item.end - std::max(item.begin, last_tile));
  const double multiply_adds = static_cast<double>(queries * tokens) * (shape_.k_dim + shape_.v_dim);
  return std::min(static_cast<std::size_t>(multiply_adds * kBytesPerMultiplyAdd), passes * tokens * kv.token_bytes);
}

void AttentionPlan::run_round(int round, const KvLayer& kv, AttentionFn attention, const SoftmaxTerms& terms,
                              ThreadPool& pool) {
  count_tasks(round);
  do {
    pool.for_ranges(to_size(num_threads_), 1, [&](std::size_t, std::size_t, int worker) {
      walk_tasks(round, worker, kv, attention, terms, pool);
    });
  } while (tickets_.has_more());  // they left early, for a pause
}

// A thread knows its next stretches before it works on the one at hand, each item of which fetches a portion of them.
void AttentionPlan::walk_tasks(int round, int worker, const KvLayer& kv, AttentionFn attention,
                               const SoftmaxTerms& terms, ThreadPool& pool) {
  const bool far = fetches_far(kv);
  float* scratch = scratch_.data() + to_size(worker) * thread_floats();
  Walk walk{.states = scratch + attention_scratch_floats(shape_.k_dim, shape_.v_dim)};
  StretchQueue queue(kv);
  const auto take = [&] {
    const std::optional<AttentionStretch> next = next_stretch(round, worker, kv, walk, pool);
    if (next) queue.push(*next);
    return next.has_value();
  };
  take();
  while (!queue.empty()) {
    const AttentionStretch at = queue.pop();
    const std::size_t bytes = far ? bytes_meanwhile(at.first, kv) : 0;  // for each of its heads
    for (int i = 0; i < at.num_heads; ++i) {
      while (queue.wants_more(bytes) && take());
      AttentionItem item = at.item(i);
      item.terms = terms;
      attention(kv, item, queue.fetch(i, at.num_heads, bytes), scratch);
    }
  }
}

void AttentionPlan::run(const KvLayer& kv, AttentionFn attention, MergeTilesFn merge_tiles, ThreadPool& pool,
                        const SoftmaxTerms& terms) {
  const auto heads = to_size(shape_.num_kv_heads);
  for (int round = 0; round < rounds_.count; ++round) {
    run_round(round, kv, attention, terms, pool);
    const int tiles = std::min(rounds_.tiles_per_round, rounds_.end_tile - first_tile_of(round));
    const auto query_floats = to_size(std::max(1, tiles) * state_floats_ * heads_per_kv_head_);
    const std::size_t grain = std::max<std::size_t>(1, kMergeGrainFloats / query_floats);
    pool.for_ranges(seqs_.size() * heads, grain, [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t task = begin; task < end; ++task)
        merge(round, task % seqs_.size(), static_cast<int>(task / seqs_.size()), terms, merge_tiles);
    });
  }
}

// Takes a round's results of one sequence and head into its queries' states; the last round's become outputs.
void AttentionPlan::merge(int round, std::size_t seq_index, int head, const SoftmaxTerms& terms,
                          MergeTilesFn merge_tiles) {
  const Seq& seq = seqs_[seq_index];
  const int first_tile = std::max(seq.begin / kTileTokens, first_tile_of(round));
  const int end_tile = std::min(tiles_up_to(seq.end), first_tile_of(round + 1));
  if (first_tile >= end_tile) return;
  const auto state_floats = to_size(state_floats_), queries = to_size(num_tile_queries_);
  const std::size_t stride = to_size(shape_.num_kv_heads) * queries * state_floats;
  const bool last = end_tile == tiles_up_to(seq.end);
  const std::size_t at =
      (to_size(head) * queries + to_size(seq.first_query)) * state_floats;  // in a tile's results, and in states
  merge_tiles({.partials = partials_.data() + to_size(first_tile - first_tile_of(round)) * stride + at,
               .states = states_.data() + at,
               .queries = last ? queries_.data() + seq.first_query : nullptr,
               .stride = static_cast<std::int64_t>(stride),
               .head = static_cast<std::ptrdiff_t>(head) * heads_per_kv_head_ * shape_.v_dim,
               .num_tiles = end_tile - first_tile,
               .num_queries = seq.num_queries,
               .v_dim = shape_.v_dim,
               .first = first_tile == seq.begin / kTileTokens,
               .sinks = terms.sinks == nullptr ? nullptr : terms.sinks + head * heads_per_kv_head_});
}

std::uint64_t AttentionPlan::kv_bytes_loaded(const KvLayer& kv) const {
  return tokens_ * static_cast<std::uint64_t>(shape_.num_kv_heads) * kv.token_bytes;
}

}  // namespace octavo

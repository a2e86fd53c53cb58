#include "attention/attention_plan.h"
#include "base/to_size.h"

#include <algorithm>
#include <tuple>

namespace octavo {
namespace {

// Merging less than this is not worth another thread's wake-up.
constexpr std::size_t kMergeGrainFloats = 8192;
// Bytes that memory gives a core for each multiply-add, where a core has one or two vectors of them a cycle.
constexpr double kBytesPerMultiplyAdd = 0.25;
// If a step needs fewer of these, its products are so much the bound that fetching more than it must slows it down.
constexpr double kBytesNeeded = 0.65;

}  // namespace

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
          .head_stride = heads_per_kv_head_ * shape_.head_dim,
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

std::optional<AttentionStretch> AttentionPlan::next_stretch(int round, int worker, const KvLayer& kv, Walk& walk) {
  if (walk.task == walk.end_task) {
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
  const double multiply_adds = 2.0 * static_cast<double>(query_tokens_) * shape_.head_dim;
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
  const double multiply_adds = 2.0 * static_cast<double>(queries * tokens) * shape_.head_dim;
  return std::min(static_cast<std::size_t>(multiply_adds * kBytesPerMultiplyAdd), passes * tokens * kv.token_bytes);
}

// A thread knows its next stretches before it works on the one at hand, each item of which fetches a portion of them.
void AttentionPlan::run_round(int round, const KvLayer& kv, AttentionFn attention, const SoftmaxTerms& terms,
                              ThreadPool& pool) {
  count_tasks(round);
  const bool far = fetches_far(kv);
  pool.for_ranges(to_size(num_threads_), 1, [&](std::size_t, std::size_t, int worker) {
    float* scratch = scratch_.data() + to_size(worker) * thread_floats();
    Walk walk{.states = scratch + attention_scratch_floats(shape_.head_dim)};
    StretchQueue queue(kv);
    const auto take = [&] {
      const std::optional<AttentionStretch> next = next_stretch(round, worker, kv, walk);
      if (next) queue.push(*next);
      return next.has_value();
    };
    take();
    while (!queue.empty()) {
      const AttentionStretch at = queue.pop();
      const std::size_t bytes = far ? bytes_meanwhile(at.first, kv) : 0;  // the same for each of its heads
      for (int i = 0; i < at.num_heads; ++i) {
        while (queue.wants_more(bytes) && take());
        AttentionItem item = at.item(i);
        item.terms = terms;
        attention(kv, item, queue.fetch(i, at.num_heads, bytes), scratch);
      }
    }
  });
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
               .head = static_cast<std::ptrdiff_t>(head) * heads_per_kv_head_ * shape_.head_dim,
               .num_tiles = end_tile - first_tile,
               .num_queries = seq.num_queries,
               .head_dim = shape_.head_dim,
               .first = first_tile == seq.begin / kTileTokens,
               .sinks = terms.sinks == nullptr ? nullptr : terms.sinks + head * heads_per_kv_head_});
}

std::uint64_t AttentionPlan::kv_bytes_loaded(const KvLayer& kv) const {
  return tokens_ * static_cast<std::uint64_t>(shape_.num_kv_heads) * kv.token_bytes;
}

}  // namespace octavo

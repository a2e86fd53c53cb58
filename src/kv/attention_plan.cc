#include "kv/attention_plan.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

#include "base/error.h"

namespace octavo {
namespace {

// Partial results of a round: enough tiles for all threads, few enough to stay in the caches.
constexpr std::size_t kRoundFloats = std::size_t{1} << 20;
// Queries of one piece of a chunk share what they load. More of them gain little (their states leave the first-level
// cache); fewer, where threads would be without a few pieces each, but not fewer than a copy of a tile pays for.
constexpr int kPieceQueries = 96, kMinPieceQueries = 48;
constexpr int kPiecesPerThread = 4;
// Merging less than this is not worth another thread's wake-up.
constexpr std::size_t kMergeGrainFloats = 8192;

constexpr std::size_t kNoUnit = std::numeric_limits<std::size_t>::max();

int tiles_up_to(int position) { return (position + kTileTokens - 1) / kTileTokens; }

/// The first position that a row sees.
int first_seen(int position, int window) { return window > 0 ? std::max(0, position - window + 1) : 0; }

}  // namespace

AttentionPlan::AttentionPlan(const Shape& shape, int num_threads)
    : shape_(shape),
      group_(shape.num_heads / shape.num_kv_heads),
      state_floats_(shape.head_dim + 2),
      num_threads_(num_threads),
      shares_(static_cast<std::size_t>(num_threads) + 1) {
  OCTAVO_CHECK(shape.head_dim <= kMaxHeadDim && shape.num_heads % shape.num_kv_heads == 0,
               "{} dimensions, {} / {} heads", shape.head_dim, shape.num_heads, shape.num_kv_heads);
  const auto one_tile = static_cast<std::size_t>(shape.max_rows) * static_cast<std::size_t>(shape.num_heads) *
                        static_cast<std::size_t>(state_floats_);
  partials_ = AlignedBuffer<float>(std::max(one_tile, kRoundFloats));
  states_ = AlignedBuffer<float>(one_tile);
  scratch_ = AlignedBuffer<float>(thread_floats() * static_cast<std::size_t>(num_threads));
  queries_.reserve(static_cast<std::size_t>(shape.max_rows * group_));
}

void AttentionPlan::build(std::span<const AttentionSequence> sequences, int window, int block_size) {
  seqs_.clear();
  queries_.clear();
  units_.clear();
  for (const AttentionSequence& s : sequences)
    if (is_cut_by_tiles(s, window))
      seqs_.push_back({.given = &s,
                       .num_queries = s.num_rows * group_,
                       .begin = first_seen(s.first_position, window),
                       .end = s.first_position + s.num_rows});
  sort_sequences(window, block_size);
  keep_whole(sequences, window);
  for (Seq& seq : seqs_) {
    seq.first_query = static_cast<int>(queries_.size());
    add_queries(*seq.given, window);
  }
  num_tile_queries_ = static_cast<int>(queries_.size());
  add_tile_units();
  const auto tile_floats = static_cast<std::size_t>(num_tile_queries_ * shape_.num_kv_heads * state_floats_);
  tiles_per_round_ = seqs_.empty() ? 1 : static_cast<int>(partials_.size() / tile_floats);
  OCTAVO_CHECK(tiles_per_round_ >= 1, "{} queries", num_tile_queries_);
  num_rounds_ = std::max(1, (end_tile_ - first_tile_ + tiles_per_round_ - 1) / tiles_per_round_);
  for (const AttentionSequence& s : sequences)
    if (!is_cut_by_tiles(s, window)) add_direct_units(s, window);
  for (const Seq& seq : whole_) {
    const auto first = static_cast<int>(queries_.size());
    add_queries(*seq.given, window);
    units_.push_back({seq.given->blocks.data(), first, seq.num_queries, seq.begin, seq.end, Cut::kHeadRange});
  }
  const auto rest = std::ranges::stable_partition(
      units_, [](const Unit& unit) { return unit.num_queries > kMaxTileQueries && unit.cut != Cut::kHeadRange; });
  std::ranges::stable_partition(rest, [](const Unit& unit) { return unit.cut == Cut::kHeadRange; });
}

bool AttentionPlan::is_cut_by_tiles(const AttentionSequence& s, int window) const {
  const int begin = first_seen(s.first_position, window), last = s.first_position + s.num_rows - 1;
  return begin / kTileTokens != last / kTileTokens && s.num_rows * group_ <= kMaxItemQueries;
}

void AttentionPlan::add_queries(const AttentionSequence& s, int window) {
  const std::ptrdiff_t row_floats = static_cast<std::ptrdiff_t>(shape_.num_heads) * shape_.head_dim;
  for (int row = 0; row < s.num_rows; ++row)
    for (int head = 0; head < group_; ++head) {
      const std::ptrdiff_t at = row * row_floats + static_cast<std::ptrdiff_t>(head) * shape_.head_dim;
      const int position = s.first_position + row;
      queries_.push_back(
          {.q = s.q + at, .out = s.out + at, .begin = first_seen(position, window), .end = position + 1});
    }
}

void AttentionPlan::add_direct_units(const AttentionSequence& s, int window) {
  auto first = static_cast<int>(queries_.size());
  add_queries(s, window);
  const auto end = static_cast<int>(queries_.size());
  int piece = kPieceQueries;
  while (piece > kMinPieceQueries &&
         (end - first + piece - 1) / piece * shape_.num_kv_heads < kPiecesPerThread * num_threads_)
    piece /= 2;
  for (; first < end; first += piece) {
    const int count = std::min(piece, end - first);
    units_.push_back({.blocks = s.blocks.data(),
                      .first_query = first,
                      .num_queries = count,
                      .begin = queries_[static_cast<std::size_t>(first)].begin,
                      .end = queries_[static_cast<std::size_t>(first + count - 1)].end,
                      .cut = Cut::kHeads});
  }
}

// Sequences that share nothing are left to one thread each, longest first, while what remains can keep the others busy
// for as long.
void AttentionPlan::keep_whole(std::span<const AttentionSequence> sequences, int window) {
  // Reading a token takes about as long as the products of eight queries.
  const auto cost = [](int tokens, int queries) { return std::int64_t{tokens} * (kMaxTileQueries + queries); };
  const auto cost_of = [&](const Seq* seq) { return cost(seq->end - seq->begin, seq->num_queries); };
  std::int64_t left = 0;
  for (const AttentionSequence& s : sequences)
    left += cost(s.first_position + s.num_rows - first_seen(s.first_position, window), s.num_rows * group_);
  alone_.clear();
  for (std::size_t i = 0; i < seqs_.size(); ++i)
    if (seqs_[i].tiles_as_before == 0 && (i + 1 == seqs_.size() || seqs_[i + 1].tiles_as_before == 0))
      alone_.push_back(&seqs_[i]);
  std::ranges::sort(alone_, std::greater{}, cost_of);
  whole_.clear();
  for (Seq* seq : alone_) {
    if (num_threads_ > 1 && cost_of(seq) * num_threads_ > left - cost_of(seq)) continue;
    left -= cost_of(seq);
    whole_.push_back(*seq);
    seq->whole = true;
  }
  std::erase_if(seqs_, [](const Seq& seq) { return seq.whole; });
}

// Sequences whose tables begin alike become neighbours.
void AttentionPlan::sort_sequences(int window, int block_size) {
  std::ranges::sort(seqs_, [](const Seq& a, const Seq& b) {
    return std::ranges::lexicographical_compare(a.given->blocks, b.given->blocks);
  });
  for (std::size_t i = 0; i < seqs_.size(); ++i) {
    Seq& seq = seqs_[i];
    const int last_row = seq.end - 1;
    seq.full_begin = tiles_up_to(first_seen(last_row, window));
    seq.full_end = (seq.given->first_position + 1) / kTileTokens;
    seq.tiles_as_before = 0;
    if (i == 0) continue;
    const std::span<const std::int32_t> before = seqs_[i - 1].given->blocks, blocks = seq.given->blocks;
    const auto equal = std::ranges::mismatch(before, blocks).in2 - blocks.begin();
    seq.tiles_as_before = static_cast<int>(equal * block_size / kTileTokens);
  }
}

void AttentionPlan::add_tile_units() {
  first_tile_ = seqs_.empty() ? 0 : std::numeric_limits<int>::max();
  end_tile_ = 0;
  for (std::size_t first = 0, end = 0; first < seqs_.size(); first = end) {
    for (end = first + 1; end < seqs_.size() && seqs_[end].tiles_as_before > 0;) ++end;
    if (end - first > 1) {
      add_shared_units(first, end);
    } else {
      const Seq& seq = seqs_[first];
      units_.push_back({seq.given->blocks.data(), seq.first_query, seq.num_queries, seq.begin, seq.end, Cut::kTiles});
    }
  }
  for (const Seq& seq : seqs_) {
    first_tile_ = std::min(first_tile_, seq.begin / kTileTokens);
    end_tile_ = std::max(end_tile_, tiles_up_to(seq.end));
  }
}

// Tile by tile, neighbours that read it together make a run; a run that goes on in the next tile is one unit.
void AttentionPlan::add_shared_units(std::size_t first_seq, std::size_t end_seq) {
  open_unit_.assign(seqs_.size(), kNoUnit);
  int end_tile = 0;
  for (std::size_t i = first_seq; i < end_seq; ++i) end_tile = std::max(end_tile, tiles_up_to(seqs_[i].end));
  const auto reads_all = [](const Seq& seq, int tile) { return seq.full_begin <= tile && tile < seq.full_end; };
  for (int tile = 0; tile < end_tile; ++tile)
    for (std::size_t begin = first_seq, end = first_seq; begin < end_seq; begin = end) {
      int queries = seqs_[begin].num_queries;
      for (end = begin + 1; end < end_seq; ++end) {
        const bool together = seqs_[end].tiles_as_before > tile && reads_all(seqs_[end - 1], tile) &&
                              reads_all(seqs_[end], tile) && queries + seqs_[end].num_queries <= kMaxItemQueries;
        if (!together) break;
        queries += seqs_[end].num_queries;
      }
      add_run(begin, end, tile);
    }
}

void AttentionPlan::add_run(std::size_t first_seq, std::size_t end_seq, int tile) {
  const Seq& seq = seqs_[first_seq];
  const int begin = std::max(seq.begin, tile * kTileTokens), end = std::min(seq.end, (tile + 1) * kTileTokens);
  if (begin >= end) return;
  const Seq& last = seqs_[end_seq - 1];
  const int num_queries = last.first_query + last.num_queries - seq.first_query;
  if (const std::size_t open = open_unit_[first_seq];
      open != kNoUnit && units_[open].num_queries == num_queries && units_[open].end == begin) {
    units_[open].end = end;
    return;
  }
  open_unit_[first_seq] = units_.size();
  units_.push_back({seq.given->blocks.data(), seq.first_query, num_queries, begin, end, Cut::kTiles});
}

int AttentionPlan::heads_of_range(const Unit& unit) const {
  return std::min(shape_.num_kv_heads, kMaxItemQueries / unit.num_queries);
}

void AttentionPlan::count_claims(int round) {
  const int round_begin = first_tile_of(round), round_end = first_tile_of(round + 1);
  tickets_ = {};
  claims_before_.assign(1, 0);
  std::size_t few = 0;
  for (const Unit& unit : units_) {
    int claims = round == 0 ? shape_.num_kv_heads : 0;
    if (unit.cut == Cut::kHeadRange && round == 0)
      claims = (shape_.num_kv_heads + heads_of_range(unit) - 1) / heads_of_range(unit);
    if (unit.cut == Cut::kTiles)
      claims =
          std::max(0, std::min(tiles_up_to(unit.end), round_end) - std::max(unit.begin / kTileTokens, round_begin)) *
          shape_.num_kv_heads;
    const auto count = static_cast<std::size_t>(claims);
    claims_before_.push_back(claims_before_.back() + count);
    (unit.cut == Cut::kHeadRange          ? tickets_.ranges
     : unit.num_queries > kMaxTileQueries ? tickets_.by_many
                                          : few) += count;
  }
  const auto heads = static_cast<std::size_t>(shape_.num_kv_heads), threads = static_cast<std::size_t>(num_threads_);
  tickets_.runs = (few - std::min(few, 2 * threads * heads)) / heads;
  tickets_.singles = few - tickets_.runs * heads;
  tickets_.run_claims = heads;
}

// Claims of many queries are spread evenly among the ranges and three quarters of the runs.
std::pair<std::size_t, std::size_t> AttentionPlan::Tickets::claims_of(std::size_t ticket) const {
  const auto other = [&](std::size_t i) {
    const std::size_t first = by_many + (i < ranges ? i : ranges + (i - ranges) * run_claims);
    return std::pair(first, first + (i < ranges ? 1 : run_claims));
  };
  const std::size_t mixed = by_many + ranges + runs - runs / 4;
  if (ticket < mixed) {
    const auto by_many_before = [&](std::size_t t) { return (t * by_many + mixed - 1) / mixed; };
    const std::size_t before = by_many_before(ticket);
    return by_many_before(ticket + 1) > before ? std::pair(before, before + 1) : other(ticket - before);
  }
  if (ticket < by_many + ranges + runs) return other(ticket - by_many);
  const std::size_t first = by_many + ranges + runs * run_claims + (ticket - by_many - ranges - runs);
  return {first, first + 1};
}

AttentionItem AttentionPlan::item(int round, const Unit& unit, std::size_t claim_of_unit) {
  const auto heads = static_cast<std::size_t>(shape_.num_kv_heads);
  const auto head = static_cast<int>(claim_of_unit % heads);
  AttentionItem item{.blocks = unit.blocks,
                     .queries = queries_.data() + unit.first_query,
                     .partial = nullptr,
                     .states = nullptr,
                     .resumes = false,
                     .num_queries = unit.num_queries,
                     .kv_head = head,
                     .head_stride = group_ * shape_.head_dim,
                     .begin = unit.begin,
                     .end = unit.end};
  if (unit.cut == Cut::kHeads) return item;
  const int tile = std::max(unit.begin / kTileTokens, first_tile_of(round)) + static_cast<int>(claim_of_unit / heads);
  item.begin = std::max(unit.begin, tile * kTileTokens);
  item.end = std::min(unit.end, (tile + 1) * kTileTokens);
  const auto plane = static_cast<std::size_t>((tile - first_tile_of(round)) * shape_.num_kv_heads + head);
  item.partial = partials_.data() +
                 (plane * static_cast<std::size_t>(num_tile_queries_) + static_cast<std::size_t>(unit.first_query)) *
                     static_cast<std::size_t>(state_floats_);
  return item;
}

// The walk's next tile and head; behind the last one the walk has left the range.
AttentionItem AttentionPlan::item_of_range(const Unit& unit, std::size_t claim_of_unit, Walk& walk) {
  const int heads = heads_of_range(unit), first_head = static_cast<int>(claim_of_unit) * heads;
  if (!walk.in_range) walk.tile = unit.begin / kTileTokens, walk.head = first_head;
  const int begin = std::max(unit.begin, walk.tile * kTileTokens);
  const int end = std::min(unit.end, (walk.tile + 1) * kTileTokens);
  const std::ptrdiff_t before = static_cast<std::ptrdiff_t>(walk.head - first_head) * unit.num_queries;
  const AttentionItem item{.blocks = unit.blocks,
                           .queries = queries_.data() + unit.first_query,
                           .partial = nullptr,
                           .states = walk.states + before * state_floats_,
                           .resumes = begin > unit.begin,
                           .num_queries = unit.num_queries,
                           .kv_head = walk.head,
                           .head_stride = group_ * shape_.head_dim,
                           .begin = begin,
                           .end = end};
  walk.in_range = true;
  if (++walk.head == std::min(first_head + heads, shape_.num_kv_heads)) {
    walk.head = first_head;
    ++walk.tile;
    walk.in_range = end < unit.end;
  }
  return item;
}

// Each thread has a share of consecutive tickets, then takes what others have left, then those of one claim.
// Two threads that took turns would each get memory at a lower rate.
void AttentionPlan::share_tickets() {
  const std::size_t shared = tickets_.count() - tickets_.singles, threads = shares_.size() - 1;
  for (std::size_t w = 0; w < threads; ++w) {
    shares_[w].next.store(shared * w / threads, std::memory_order_relaxed);
    shares_[w].end = shared * (w + 1) / threads;
  }
  shares_[threads].next.store(shared, std::memory_order_relaxed);
  shares_[threads].end = tickets_.count();
}

// tickets_.count() when all are taken.
std::size_t AttentionPlan::next_ticket(int worker) {
  const std::size_t threads = shares_.size() - 1;
  for (std::size_t i = 0; i <= threads; ++i) {
    Share& share = shares_[i == threads ? threads : (static_cast<std::size_t>(worker) + i) % threads];
    if (share.next.load(std::memory_order_relaxed) >= share.end) continue;
    const std::size_t ticket = share.next.fetch_add(1, std::memory_order_relaxed);
    if (ticket < share.end) return ticket;
  }
  return tickets_.count();
}

std::optional<AttentionItem> AttentionPlan::next_item(int round, int worker, Walk& walk) {
  if (walk.claim == walk.end_claim) {
    const std::size_t ticket = next_ticket(worker);
    if (ticket >= tickets_.count()) return std::nullopt;
    std::tie(walk.claim, walk.end_claim) = tickets_.claims_of(ticket);
  }
  const auto above = std::ranges::upper_bound(claims_before_, walk.claim) - claims_before_.begin();
  const auto index = static_cast<std::size_t>(above) - 1;
  const Unit& unit = units_[index];
  const std::size_t claim_of_unit = walk.claim - claims_before_[index];
  const AttentionItem next =
      unit.cut == Cut::kHeadRange ? item_of_range(unit, claim_of_unit, walk) : item(round, unit, claim_of_unit);
  if (!walk.in_range) ++walk.claim;
  return next;
}

// A thread knows its next item before it works on the one at hand, whose end prefetches what comes next.
void AttentionPlan::run_round(int round, const KvLayer& kv, AttentionFn attention, ThreadPool& pool) {
  count_claims(round);
  share_tickets();
  pool.for_ranges(static_cast<std::size_t>(num_threads_), 1, [&](std::size_t, std::size_t, int worker) {
    float* scratch = scratch_.data() + static_cast<std::size_t>(worker) * thread_floats();
    Walk walk{.states = scratch + attention_scratch_floats(shape_.head_dim)};
    std::optional<AttentionItem> item = next_item(round, worker, walk);
    while (item) {
      const std::optional<AttentionItem> next = next_item(round, worker, walk);
      attention(kv, *item, next ? &*next : nullptr, scratch);
      item = next;
    }
  });
}

void AttentionPlan::run(const KvLayer& kv, AttentionFn attention, MergeTilesFn merge_tiles, ThreadPool& pool) {
  const auto heads = static_cast<std::size_t>(shape_.num_kv_heads);
  for (int round = 0; round < num_rounds_; ++round) {
    run_round(round, kv, attention, pool);
    const int tiles = std::min(tiles_per_round_, end_tile_ - first_tile_of(round));
    const auto query_floats = static_cast<std::size_t>(std::max(1, tiles) * state_floats_ * group_);
    const std::size_t grain = std::max<std::size_t>(1, kMergeGrainFloats / query_floats);
    pool.for_ranges(seqs_.size() * heads, grain, [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t task = begin; task < end; ++task)
        merge(round, task / heads, static_cast<int>(task % heads), merge_tiles);
    });
  }
}

// Takes a round's results of one sequence and head into its queries' states; the last round's become outputs.
void AttentionPlan::merge(int round, std::size_t seq_index, int head, MergeTilesFn merge_tiles) {
  const Seq& seq = seqs_[seq_index];
  const int first_tile = std::max(seq.begin / kTileTokens, first_tile_of(round));
  const int end_tile = std::min(tiles_up_to(seq.end), first_tile_of(round + 1));
  if (first_tile >= end_tile) return;
  const auto state_floats = static_cast<std::size_t>(state_floats_),
             queries = static_cast<std::size_t>(num_tile_queries_);
  const std::size_t stride = static_cast<std::size_t>(shape_.num_kv_heads) * queries * state_floats;
  const float* plane = partials_.data() + static_cast<std::size_t>(first_tile - first_tile_of(round)) * stride +
                       static_cast<std::size_t>(head) * queries * state_floats;
  float* states = states_.data() + static_cast<std::size_t>(head) * queries * state_floats;
  const bool first = first_tile == seq.begin / kTileTokens, last = end_tile == tiles_up_to(seq.end);
  for (int i = seq.first_query; i < seq.first_query + seq.num_queries; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * state_floats;
    float* out =
        queries_[static_cast<std::size_t>(i)].out + static_cast<std::ptrdiff_t>(head) * group_ * shape_.head_dim;
    merge_tiles(plane + at, static_cast<std::int64_t>(stride), end_tile - first_tile, shape_.head_dim, first,
                states + at, last ? out : nullptr);
  }
}

std::uint64_t AttentionPlan::kv_bytes_loaded(const KvLayer& kv) const {
  std::uint64_t tokens = 0;
  for (const Unit& unit : units_) tokens += static_cast<std::uint64_t>(unit.end - unit.begin);
  return tokens * static_cast<std::uint64_t>(shape_.num_kv_heads) * kv.token_bytes;
}

}  // namespace octavo

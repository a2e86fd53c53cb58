#include "attention/attention_plan.h"

#include <algorithm>
#include <functional>
#include <limits>

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

constexpr std::size_t kNoReading = std::numeric_limits<std::size_t>::max();

/// The first position that a row sees.
int first_seen(int position, int window) { return window > 0 ? std::max(0, position - window + 1) : 0; }

}  // namespace

AttentionPlan::AttentionPlan(const Shape& shape, int num_threads)
    : shape_(shape),
      heads_per_kv_head_(shape.num_heads / shape.num_kv_heads),
      state_floats_(shape.head_dim + 2),
      num_threads_(num_threads),
      tickets_(shape.num_kv_heads, num_threads) {
  OCTAVO_CHECK(shape.head_dim <= kMaxHeadDim && shape.num_heads % shape.num_kv_heads == 0,
               "{} dimensions, {} / {} heads", shape.head_dim, shape.num_heads, shape.num_kv_heads);
  const auto one_tile = to_size(shape.max_rows) * to_size(shape.num_heads) * to_size(state_floats_);
  partials_ = AlignedBuffer<float>(std::max(one_tile, kRoundFloats));
  states_ = AlignedBuffer<float>(one_tile);
  scratch_ = AlignedBuffer<float>(thread_floats() * to_size(num_threads));
  queries_.reserve(to_size(shape.max_rows * heads_per_kv_head_));
}

void AttentionPlan::build(std::span<const AttentionSequence> sequences, int window, int block_size) {
  seqs_.clear();
  queries_.clear();
  readings_.clear();
  for (const AttentionSequence& s : sequences)
    if (is_cut_by_tiles(s, window))
      seqs_.push_back({.source = &s,
                       .num_queries = s.num_rows * heads_per_kv_head_,
                       .begin = first_seen(s.first_position, window),
                       .end = s.first_position + s.num_rows});
  sort_sequences(window, block_size);
  keep_uncut(sequences, window);
  for (Seq& seq : seqs_) {
    seq.first_query = static_cast<int>(queries_.size());
    add_queries(*seq.source, window);
  }
  num_tile_queries_ = static_cast<int>(queries_.size());
  add_tile_readings();
  const auto tile_floats = to_size(num_tile_queries_ * shape_.num_kv_heads * state_floats_);
  rounds_.tiles_per_round = seqs_.empty() ? 1 : static_cast<int>(partials_.size() / tile_floats);
  OCTAVO_CHECK(rounds_.tiles_per_round >= 1, "{} queries", num_tile_queries_);
  rounds_.count =
      std::max(1, (rounds_.end_tile - rounds_.first_tile + rounds_.tiles_per_round - 1) / rounds_.tiles_per_round);
  for (const AttentionSequence& s : sequences)
    if (!is_cut_by_tiles(s, window)) add_direct_readings(s, window);
  for (const Seq& seq : uncut_) {
    const auto first = static_cast<int>(queries_.size());
    add_queries(*seq.source, window);
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

bool AttentionPlan::is_cut_by_tiles(const AttentionSequence& s, int window) const {
  const int begin = first_seen(s.first_position, window), last = s.first_position + s.num_rows - 1;
  return begin / kTileTokens != last / kTileTokens && s.num_rows * heads_per_kv_head_ <= kMaxItemQueries;
}

void AttentionPlan::add_queries(const AttentionSequence& s, int window) {
  const std::ptrdiff_t row_floats = static_cast<std::ptrdiff_t>(shape_.num_heads) * shape_.head_dim;
  for (int row = 0; row < s.num_rows; ++row)
    for (int head = 0; head < heads_per_kv_head_; ++head) {
      const std::ptrdiff_t at = row * row_floats + static_cast<std::ptrdiff_t>(head) * shape_.head_dim;
      const int position = s.first_position + row;
      queries_.push_back(
          {.q = s.q + at, .out = s.out + at, .begin = first_seen(position, window), .end = position + 1, .head = head});
    }
}

void AttentionPlan::add_direct_readings(const AttentionSequence& s, int window) {
  auto first = static_cast<int>(queries_.size());
  add_queries(s, window);
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
void AttentionPlan::keep_uncut(std::span<const AttentionSequence> sequences, int window) {
  // Reading a token takes about as long as the products of eight queries.
  const auto cost = [](int tokens, int queries) { return std::int64_t{tokens} * (kMaxTileQueries + queries); };
  const auto cost_of = [&](const Seq* seq) { return cost(seq->end - seq->begin, seq->num_queries); };
  std::int64_t left = 0;
  for (const AttentionSequence& s : sequences)
    left += cost(s.first_position + s.num_rows - first_seen(s.first_position, window), s.num_rows * heads_per_kv_head_);
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
void AttentionPlan::sort_sequences(int window, int block_size) {
  const auto first_block = [&](const Seq& seq) { return seq.begin / block_size; };
  if (window > 0) std::ranges::sort(seqs_, {}, first_block);
  for (std::size_t first = 0, end = 0; first < seqs_.size(); first = end) {
    int least_end = std::numeric_limits<int>::max();
    for (end = first; end < seqs_.size() && first_block(seqs_[end]) < least_end; ++end)
      least_end = std::min(least_end, (seqs_[end].end - 1) / block_size + 1);
    sort_by_blocks(std::span(seqs_).subspan(first, end - first), first_block(seqs_[end - 1]), window, block_size);
  }
}

// All of them have a block at entry `common`.
void AttentionPlan::sort_by_blocks(std::span<Seq> seqs, int common, int window, int block_size) {
  const auto behind = [&](const Seq& seq) { return seq.source->blocks.subspan(to_size(common)); };
  std::ranges::sort(
      seqs, [&](const Seq& a, const Seq& b) { return std::ranges::lexicographical_compare(behind(a), behind(b)); });
  for (std::size_t i = 0; i < seqs.size(); ++i) {
    Seq& seq = seqs[i];
    seq.full_begin = tiles_up_to(first_seen(seq.end - 1, window));
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

}  // namespace octavo

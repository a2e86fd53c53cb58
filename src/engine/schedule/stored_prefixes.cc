#include "engine/schedule/stored_prefixes.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::size_t kMostMoves = 64;  // the most reads and writes at a time
constexpr double kReadShare = 0.8;      // a read must take less than this part of the time to compute
constexpr int kBlocksAtATime = 16;      // reserved where a group has a window, which gives back what it has passed
constexpr double kMsPerS = 1000;

/// A sequence of the cache that is given back at the end of the scope, unless it is kept.
class ScopedSequence {
 public:
  ScopedSequence(KvCacheManager& kv, const Sequence& of) : kv_(kv), id_(kv.create_sequence(of.num_tokens())) {
    kv.set_owner(id_, of.params.owner);
    if (of.params.hides_blocks) kv.hide(id_);
  }
  ~ScopedSequence() {
    if (is_held_) kv_.drop(id_);
  }
  ScopedSequence(const ScopedSequence&) = delete;
  ScopedSequence& operator=(const ScopedSequence&) = delete;

  SequenceId id() const { return id_; }
  void keep() { is_held_ = false; }
  /// Attaches to what memory has of the rows; returns the number of blocks.
  int attach(const Sequence& of) const {
    const Result<int> attached = kv_.extend_prefix(id_, of.rows(), of.chain);
    OCTAVO_CHECK(attached.has_value(), "{}", attached.error().message);
    return *attached / kv_.block_size();
  }

 private:
  KvCacheManager& kv_;
  const SequenceId id_;
  bool is_held_ = true;
};

/// Whether a sequence's blocks could be found by others: only then can they be stored.
bool can_be_stored(const Sequence& sequence) {
  return sequence.may_use_cache() && !sequence.params.is_whole && sequence.chain.size() > 0;
}

}  // namespace

StoredPrefixes::StoredPrefixes(const Parts& parts, double min_compute_s)
    : parts_(parts),
      min_compute_s_(min_compute_s),
      spare_(to_size(parts.kv.num_pools())),
      needed_(spare_),
      none_(spare_) {
  parts_.scheduler.set_reads(*this);
}

StoredPrefixes::~StoredPrefixes() {
  parts_.store.cancel_all();
  for (const auto& [job, move] : moves_) parts_.kv.drop(move.kv);
}

bool StoredPrefixes::wait_for_read(Sequence& sequence) try {
  if (!can_be_stored(sequence)) return false;
  ready_.reserve(to_size(num_waiting_) + 1);
  ScopedSequence held(parts_.kv, sequence);
  const int known = held.attach(sequence);
  if (Move* read = read_of(sequence, known)) {
    read->waiting.push_back(&sequence);
    count_waiting(sequence, 1);
    return true;
  }
  const int most = (sequence.num_tokens() - 1) / parts_.kv.block_size();
  const KvStore::Found found = parts_.store.find(sequence.chain.hashes(), known, most);
  if (found.num_blocks <= known || moves_.size() >= kMostMoves || !pays(sequence, known, found)) return false;
  if (!begin_read(sequence, held.id(), known, found.num_blocks)) return false;
  held.keep();
  count_waiting(sequence, 1);
  return true;
} catch (const std::bad_alloc&) {
  return false;  // all of it is computed
}

void StoredPrefixes::count_waiting(const Sequence& sequence, int sign) {
  num_waiting_ += sign;
  num_waiting_choices_ += sign * sequence.num_choices();
}

/// Whether a read saves more time than it takes.
bool StoredPrefixes::pays(const Sequence& sequence, int known, const KvStore::Found& found) const {
  if (min_compute_s_ == 0) return true;
  const int block_size = parts_.kv.block_size();
  const int end = std::min(found.num_blocks * block_size, sequence.num_tokens());
  const double read_s = parts_.store.read_latency_s() + static_cast<double>(found.bytes) / parts_.store.read_rate();
  return read_s < kReadShare * compute_s(sequence, known * block_size, end);
}

/// The time that rows [first, end) would take, with the encoding of their pictures as far as it is known.
double StoredPrefixes::compute_s(const Sequence& sequence, int first, int end) const {
  double sum = parts_.cost.predict_ms(parts_.cost.work(first, end - first, 0)) / kMsPerS;
  for (std::size_t i = 0; i < sequence.given.rows.size(); ++i) {
    const GivenRows& rows = sequence.given.rows[i];
    if (rows.first < end && rows.end() > first) sum += sequence.given.pictures[i]->encode_s;
  }
  return sum;
}

/// The read that brings the block after the first `known` ones of a sequence; null: there is none.
StoredPrefixes::Move* StoredPrefixes::read_of(const Sequence& sequence, int known) {
  const std::span<const BlockHash> hashes = sequence.chain.hashes();
  if (to_size(known) >= hashes.size()) return nullptr;
  for (auto& [job, move] : moves_) {
    const bool covers = move.is_read && move.num_known <= known && known < move.num_blocks;
    if (covers && move.name.hashes[to_size(known)] == hashes[to_size(known)]) return &move;
  }
  return nullptr;
}

bool StoredPrefixes::begin_read(Sequence& sequence, SequenceId kv, int known, int num_blocks) {
  const int block_size = parts_.kv.block_size();
  if (!reserve(kv, known * block_size, num_blocks * block_size)) return false;
  Move move{.kv = kv,
            .is_read = true,
            .num_blocks = num_blocks,
            .num_known = known,
            .name = name_of(sequence, num_blocks),
            .chain = sequence.chain,
            .waiting = {&sequence}};
  const KvStore::Job job = parts_.store.read(move.name, held_blocks(kv, known));
  begin(job, std::move(move));
  return true;
}

/// Notes a move that the store has begun. Where there is no memory for that, its blocks are never touched again.
void StoredPrefixes::begin(KvStore::Job job, Move move) try {
  moves_.emplace(job, std::move(move));
} catch (const std::bad_alloc&) {
  parts_.store.cancel_all();
  throw;
}

/// Reserves blocks for the positions from `first` to `end`; in groups with a window, for those that positions from
/// `end` on look at. False: not all are to spare, and some may be held.
bool StoredPrefixes::reserve(SequenceId kv, int first, int end) {
  KvCacheManager& cache = parts_.kv;
  int at_a_time = end - first;
  std::vector<int> needed(to_size(cache.num_pools()));
  for (int pool = 0; pool < cache.num_pools(); ++pool) {
    needed[to_size(pool)] = cache.blocks_needed(kv, pool, first, end);
    if (pool == cache.num_groups() || cache.group(pool).window == 0) continue;
    at_a_time = std::min(at_a_time, kBlocksAtATime * cache.block_size());
    const int at_once = cache.group(pool).window / cache.block_size() + kBlocksAtATime + 2;
    needed[to_size(pool)] = std::min(needed[to_size(pool)], at_once);
  }
  if (!has_spare(needed)) return false;
  std::vector<BlockCopy> copies;  // a state at most is copied, and it is read as a whole
  for (int begin = first; begin < end; begin += at_a_time) {
    const int until = std::min(end, begin + at_a_time);
    if (!cache.reserve(kv, begin, until, copies)) return false;
    cache.commit(kv, until);
  }
  return true;
}

/// Whether so much is to spare in each pool.
bool StoredPrefixes::has_spare(std::span<const int> needed) {
  parts_.scheduler.count_spare(spare_);
  return std::ranges::equal(needed, spare_, std::ranges::less_equal());
}

PrefixName StoredPrefixes::name_of(const Sequence& sequence, int num_blocks) const {
  const auto count = to_size(num_blocks), tokens = count * to_size(parts_.kv.block_size());
  const std::span<const BlockHash> hashes = sequence.chain.hashes().first(count);
  PrefixName name{.domain = std::string(sequence.params.cache_domain),
                  .root = sequence.chain.root_hash(),
                  .hashes = {hashes.begin(), hashes.end()},
                  .tokens = {sequence.tokens.begin(), sequence.tokens.begin() + static_cast<std::ptrdiff_t>(tokens)}};
  sequence.rows().first(tokens).for_given([&](const GivenRows& rows) { name.given.push_back(rows); });
  return name;
}

/// The blocks of a sequence from `first` on in each group, and its state.
std::vector<HeldBlock> StoredPrefixes::held_blocks(SequenceId kv, int first) const {
  const KvCacheManager& cache = parts_.kv;
  std::vector<HeldBlock> blocks;
  for (int group = 0; group < cache.num_groups(); ++group) {
    const BlockTable& table = cache.table(kv, group);
    for (int index = std::max(first, table.first_held()); index < table.num_blocks(); ++index)
      blocks.push_back({.pool = group, .index = index, .block = table.block_ids()[to_size(index)]});
  }
  if (cache.has_snapshots())
    blocks.push_back({.pool = cache.num_groups(), .index = 0, .block = *cache.table(kv, cache.num_groups()).get(0)});
  return blocks;
}

void StoredPrefixes::write(const Sequence& sequence) {
  if (!can_be_stored(sequence) || moves_.size() >= kMostMoves) return;
  if (compute_s(sequence, 0, sequence.num_computed) < min_compute_s_ || !parts_.store.takes_writes()) return;
  try {
    ScopedSequence held(parts_.kv, sequence);
    const int num_blocks = held.attach(sequence);
    if (num_blocks == 0 || parts_.store.find(sequence.chain.hashes(), 0, num_blocks).num_blocks >= num_blocks) return;
    parts_.scheduler.count_first_waiting(needed_);
    if (!has_spare(needed_)) return;
    begin(parts_.store.write(name_of(sequence, num_blocks), held_blocks(held.id(), 0)),
          {.kv = held.id(), .num_blocks = num_blocks});
    held.keep();
  } catch (const std::bad_alloc&) {
    return;  // not stored
  }
}

bool StoredPrefixes::forget(const Sequence& sequence) {
  std::size_t found = std::erase(ready_, &sequence);
  for (auto& [job, move] : moves_) found += std::erase(move.waiting, &sequence);
  if (found > 0) count_waiting(sequence, -1);
  return found > 0;
}

void StoredPrefixes::set_busy(bool is_busy) {
  if (std::exchange(is_busy_, is_busy) != is_busy) parts_.store.set_busy(is_busy);
}

void StoredPrefixes::collect() {
  done_.clear();
  parts_.store.take_done(done_);
  for (const KvStore::Done& done : done_) end(done.job, done.is_ok);
}

void StoredPrefixes::end(KvStore::Job job, bool is_ok) {
  const auto place = moves_.find(job);
  if (place == moves_.end()) return;
  Move& move = place->second;
  if (move.is_read && is_ok) publish(move);
  ready_.insert(ready_.end(), move.waiting.begin(), move.waiting.end());  // room was taken when they came
  parts_.kv.drop(move.kv);
  moves_.erase(place);
}

void StoredPrefixes::publish(Move& read) {
  const Result<void> published = parts_.kv.publish(read.kv, read.name.rows(), read.chain);
  OCTAVO_CHECK(published.has_value(), "{}", published.error().message);
  parts_.kv.keep_checkpoint(read.kv, static_cast<int>(read.waiting.size()));
  parts_.scheduler.count_publication();
  for (Sequence* sequence : read.waiting)
    sequence->stored_tokens = (read.num_blocks - read.num_known) * parts_.kv.block_size();
}

Sequence* StoredPrefixes::next_ready() {
  if (ready_.empty()) return nullptr;
  Sequence* first = ready_.front();
  ready_.erase(ready_.begin());
  count_waiting(*first, -1);
  return first;
}

/// Makes room: a read keeps its blocks from a sequence that waits to be admitted, as an answer would; a write gives its
/// blocks up.
void StoredPrefixes::make_room() {
  if (moves_.empty()) return;
  const bool is_reading = std::ranges::any_of(moves_, [](const auto& entry) { return entry.second.is_read; });
  if (!is_reading) parts_.scheduler.count_first_waiting(needed_);
  if (has_spare(is_reading ? none_ : needed_)) return;
  parts_.store.cancel_all();
  collect();
}

void StoredPrefixes::finish_writes(std::chrono::seconds most) {
  const auto until = std::chrono::steady_clock::now() + most;
  const auto is_writing = [this] {
    return std::ranges::any_of(moves_, [](const auto& entry) { return !entry.second.is_read; });
  };
  for (collect(); is_writing(); collect()) {
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= left.zero()) return;
    wait(std::chrono::duration_cast<std::chrono::milliseconds>(left) + std::chrono::milliseconds(1));
  }
}

}  // namespace octavo

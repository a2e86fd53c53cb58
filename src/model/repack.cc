#include "model/repack.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include "base/to_size.h"
#include "kernels/pack.h"
#include "model/piece_reader.h"

namespace octavo {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kBuffersPerThread = 4;  // of a piece each: as many as a round may take at once, and more

/// Panels `begin` .. `end` of a matrix.
struct Piece {
  const RepackJob* job;
  std::int64_t begin, end;

  const Tensor& tensor() const { return job->tensor->tensor; }
  std::size_t row_of(std::int64_t panel) const { return to_size(std::min(panel * kPanelRows, job->num_rows)); }
  std::size_t offset() const { return job->offset() + row_of(begin) * tensor().row_bytes(); }
  std::size_t bytes() const { return (row_of(end) - row_of(begin)) * tensor().row_bytes(); }
};

std::vector<Piece> cut(const std::vector<RepackJob>& jobs) {
  std::vector<Piece> pieces;
  for (const RepackJob& job : jobs) {
    const std::size_t panel = job.tensor->tensor.row_bytes() * kPanelRows;
    const auto step = std::max<std::int64_t>(1, static_cast<std::int64_t>(kPieceBytes / panel));
    const std::int64_t panels = num_panels(job.num_rows);
    for (std::int64_t begin = 0; begin < panels; begin += step)
      pieces.push_back({&job, begin, std::min(begin + step, panels)});
  }
  return pieces;
}

/// Packs what a reader has read, in rounds, for each of which it has the threads.
class Rounds {
 public:
  Rounds(std::span<const Piece> pieces, const ModelSource& source, PieceReader& reader, ThreadPool& pool,
         FilePages pages)
      : pieces_(pieces), source_(source), reader_(reader), pool_(pool), pages_(pages), hashes_(pieces.size()) {}

  /// Packs pieces for a while, as long as there are some that were read.
  void run_one() {
    const ThreadPool::Step step(pool_);
    const Clock::time_point begin = Clock::now();
    const auto is_over = [&] {
      const Clock::duration time = Clock::now() - begin;
      return time > kRound || (time > kSharedRound && step.is_wanted_by_others());
    };
    pool_.for_ranges(to_size(pool_.num_threads()), 1, [&](std::size_t, std::size_t, int) {
      do {
        const std::optional<PieceReader::Piece> read = reader_.try_take();
        if (!read) return;
        pack(pieces_[read->index], read->bytes);
        hashes_[read->index] = hash_of(read->bytes);
        reader_.give_back(*read);
      } while (!is_over());
    });
  }

  std::uint64_t done_bytes() const { return done_; }
  ContentHash hash() const { return hash_of(std::as_bytes(std::span(hashes_))); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kRound = std::chrono::milliseconds(50);       // then progress is told
  static constexpr auto kSharedRound = std::chrono::milliseconds(5);  // beside engines that compute

  void pack(const Piece& piece, std::span<const std::byte> bytes) {
    if (pages_ == FilePages::kDropped) source_.drop(piece.offset(), piece.bytes());
    const Tensor& tensor = piece.tensor();
    const auto rows = static_cast<std::int64_t>(piece.row_of(piece.end) - piece.row_of(piece.begin));
    pack_panels({.type = tensor.type, .rows = rows, .cols = tensor.cols, .data = bytes}, 0, piece.end - piece.begin,
                piece.job->panels + to_size(piece.begin) * panel_bytes(tensor.type, tensor.cols));
    done_.fetch_add(piece.bytes(), std::memory_order_relaxed);
  }

  const std::span<const Piece> pieces_;
  const ModelSource& source_;
  PieceReader& reader_;
  ThreadPool& pool_;
  const FilePages pages_;
  std::vector<ContentHash> hashes_;
  std::atomic<std::uint64_t> done_ = 0;
};

}  // namespace

Result<ContentHash> repack(std::vector<RepackJob> jobs, const ModelSource& source, ThreadPool& pool,
                           const RepackProgress& progress, FilePages pages) {
  std::ranges::sort(jobs, {}, &RepackJob::offset);
  const std::vector<Piece> pieces = cut(jobs);
  std::vector<PieceReader::Range> ranges;
  ranges.reserve(pieces.size());
  std::uint64_t total = 0;
  for (const Piece& piece : pieces) {
    ranges.push_back({.offset = piece.offset(), .bytes = piece.bytes()});
    total += piece.bytes();
  }
  if (progress) progress(0, total);
  PieceReader reader(source, ranges, kBuffersPerThread * to_size(pool.num_threads()));
  Rounds rounds(pieces, source, reader, pool, pages);
  while (reader.wait()) {
    rounds.run_one();
    if (progress) progress(rounds.done_bytes(), total);
  }
  if (std::optional<Error> error = reader.error()) return std::unexpected(std::move(*error));
  if (progress) progress(total, total);
  return rounds.hash();
}

}  // namespace octavo

#include "model/repack.h"

#include <algorithm>
#include <atomic>

#include "kernels/pack.h"

namespace octavo {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
// How far ahead of the piece at work the file is asked for: the disk always has some megabytes to read.
constexpr std::size_t kAheadBytes = std::size_t{16} << 20;

/// Panels `begin` .. `end` of a matrix.
struct Piece {
  const RepackJob* job;
  std::int64_t begin, end;

  std::size_t row_of(std::int64_t panel) const {
    return static_cast<std::size_t>(std::min(panel * kPanelRows, job->source.rows));
  }
  std::size_t offset() const { return job->offset + row_of(begin) * job->source.row_bytes(); }
  std::size_t bytes() const { return (row_of(end) - row_of(begin)) * job->source.row_bytes(); }
};

std::vector<Piece> cut(const std::vector<RepackJob>& jobs) {
  std::vector<Piece> pieces;
  for (const RepackJob& job : jobs) {
    const std::size_t panel = job.source.row_bytes() * kPanelRows;
    const auto step = std::max<std::int64_t>(1, static_cast<std::int64_t>(kPieceBytes / panel));
    const std::int64_t panels = num_panels(job.source.rows);
    for (std::int64_t begin = 0; begin < panels; begin += step)
      pieces.push_back({&job, begin, std::min(begin + step, panels)});
  }
  return pieces;
}

void pack_piece(const Piece& piece, const MappedFile& file) {
  const Tensor& source = piece.job->source;
  file.prefetch(piece.offset() + kAheadBytes, piece.bytes());
  pack_panels(source, piece.begin, piece.end,
              piece.job->panels + static_cast<std::size_t>(piece.begin) * panel_bytes(source.type, source.cols));
  file.release(piece.offset(), piece.bytes());
}

}  // namespace

void repack(std::vector<RepackJob> jobs, const MappedFile& file, ThreadPool& pool, const RepackProgress& progress) {
  std::ranges::sort(jobs, {}, &RepackJob::offset);
  const std::vector<Piece> pieces = cut(jobs);
  std::uint64_t total = 0;
  for (const Piece& piece : pieces) total += piece.bytes();
  if (!jobs.empty()) file.prefetch(jobs.front().offset, kAheadBytes);
  std::atomic<std::uint64_t> done = 0;
  std::atomic<std::size_t> next = 0;  // in the file's order, whoever is free: a disk likes one place to read at
  pool.for_ranges(static_cast<std::size_t>(pool.num_threads()), 1, [&](std::size_t, std::size_t, int worker) {
    for (std::size_t i = next.fetch_add(1); i < pieces.size(); i = next.fetch_add(1)) {
      pack_piece(pieces[i], file);
      const std::uint64_t now = done.fetch_add(pieces[i].bytes(), std::memory_order_relaxed) + pieces[i].bytes();
      if (worker == 0 && progress) progress(now, total);  // worker 0 is the calling thread
    }
  });
  if (progress) progress(total, total);
}

}  // namespace octavo

#include "model/repack.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "base/aligned_buffer.h"
#include "base/to_size.h"
#include "kernels/pack.h"

namespace octavo {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
// The distance ahead of the piece at work at which the file is asked for: the disk always has some megabytes to read.
constexpr std::size_t kAheadBytes = std::size_t{16} << 20;

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

/// Memory of one thread, and what becomes of the pieces that it takes.
class Packer {
 public:
  Packer(const ModelSource& source, std::size_t largest_piece, FilePages pages)
      : source_(source), pages_(pages), buffer_(largest_piece) {}

  Result<ContentHash> pack(const Piece& piece) {
    const Tensor& tensor = piece.tensor();
    source_.prefetch(piece.offset() + kAheadBytes, piece.bytes());
    const std::span<std::byte> bytes = buffer_.span().first(piece.bytes());
    OCTAVO_TRY_VOID(source_.read(piece.offset(), bytes));
    if (pages_ == FilePages::kDropped) source_.drop(piece.offset(), piece.bytes());
    const auto rows = static_cast<std::int64_t>(piece.row_of(piece.end) - piece.row_of(piece.begin));
    pack_panels({.type = tensor.type, .rows = rows, .cols = tensor.cols, .data = bytes}, 0, piece.end - piece.begin,
                piece.job->panels + to_size(piece.begin) * panel_bytes(tensor.type, tensor.cols));
    return hash_of(bytes);
  }

 private:
  const ModelSource& source_;
  const FilePages pages_;
  AlignedBuffer<std::byte> buffer_;
};

/// The first error of several threads; they all end soon after it.
class FirstError {
 public:
  void set(Error error) {
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = std::move(error);
    failed_ = true;
  }
  bool failed() const { return failed_; }
  Error take() { return std::move(*error_); }

 private:
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

Result<ContentHash> repack(std::vector<RepackJob> jobs, const ModelSource& source, ThreadPool& pool,
                           const RepackProgress& progress, FilePages pages) {
  std::ranges::sort(jobs, {}, &RepackJob::offset);
  const std::vector<Piece> pieces = cut(jobs);
  std::uint64_t total = 0;
  std::size_t largest = 0;
  for (const Piece& piece : pieces) {
    total += piece.bytes();
    largest = std::max(largest, piece.bytes());
  }
  if (!jobs.empty()) source.prefetch(jobs.front().offset(), kAheadBytes);
  std::vector<Packer> packers;
  packers.reserve(to_size(pool.num_threads()));
  for (int i = 0; i < pool.num_threads(); ++i) packers.emplace_back(source, largest, pages);
  std::vector<ContentHash> hashes(pieces.size());
  FirstError error;
  std::atomic<std::uint64_t> done = 0;
  std::atomic<std::size_t> next = 0;  // in the file's order, whoever is free: a disk likes one place to read at
  pool.for_ranges(to_size(pool.num_threads()), 1, [&](std::size_t, std::size_t, int worker) {
    for (std::size_t i = next.fetch_add(1); i < pieces.size() && !error.failed(); i = next.fetch_add(1)) {
      Result<ContentHash> hash = packers[to_size(worker)].pack(pieces[i]);
      if (!hash) return error.set(std::move(hash.error()));
      hashes[i] = *hash;
      const std::uint64_t now = done.fetch_add(pieces[i].bytes(), std::memory_order_relaxed) + pieces[i].bytes();
      if (worker == 0 && progress) progress(now, total);  // worker 0 is the calling thread
    }
  });
  if (error.failed()) return std::unexpected(error.take());
  if (progress) progress(total, total);
  return hash_of(std::as_bytes(std::span(hashes)));
}

}  // namespace octavo

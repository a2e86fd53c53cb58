#include "cpu/repack.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/stop_check.h"
#include "base/text.h"
#include "base/to_size.h"
#include "cpu/piece_reader.h"
#include "kernels/pack.h"
#include "tensor/dequantize.h"
#include "tensor/quantize.h"

namespace octavo {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kQuantizedPieceBytes = std::size_t{128} << 10;  // for 5 ms or so, in a type of four bits
constexpr std::size_t kMostBuffersAhead = 64;                         // each has a piece: more than a round takes

/// The panels from `begin` to `end` of a matrix.
struct Piece {
  const RepackJob* job;
  std::int64_t begin, end;

  const Tensor& tensor() const { return job->tensor->tensor; }
  std::size_t row_of(std::int64_t panel) const { return to_size(std::min(panel * kPanelRows, job->num_rows)); }
  std::size_t offset() const { return job->offset() + row_of(begin) * tensor().row_bytes(); }
  std::size_t bytes() const { return (row_of(end) - row_of(begin)) * tensor().row_bytes(); }
  std::size_t packed_offset() const { return to_size(begin) * panel_bytes(job->type, tensor().cols); }
  std::size_t packed_bytes() const { return to_size(end - begin) * panel_bytes(job->type, tensor().cols); }
};

std::vector<Piece> cut(const std::vector<RepackJob>& jobs) {
  std::vector<Piece> pieces;
  for (const RepackJob& job : jobs) {
    const std::size_t panel = job.tensor->tensor.row_bytes() * kPanelRows;
    const std::size_t most = job.type == job.tensor->tensor.type ? kPieceBytes : kQuantizedPieceBytes;
    const auto step = std::max<std::int64_t>(1, static_cast<std::int64_t>(most / panel));
    const std::int64_t panels = num_panels(job.num_rows);
    for (std::int64_t begin = 0; begin < panels; begin += step)
      pieces.push_back({&job, begin, std::min(begin + step, panels)});
  }
  return pieces;
}

/// Converts the rows of a piece to another type. Used by one thread; it allocates its memory beforehand.
class RowConverter {
 public:
  explicit RowConverter(std::span<const Piece> pieces) {
    std::size_t cols = 0, bytes = 0;
    for (const Piece& piece : pieces) {
      if (piece.job->type == piece.tensor().type) continue;
      cols = std::max(cols, to_size(piece.tensor().cols));
      bytes = std::max(bytes, to_size(*dtype_bytes(piece.job->type, to_size(piece.tensor().cols))) *
                                  (piece.row_of(piece.end) - piece.row_of(piece.begin)));
    }
    floats_.resize(cols);
    out_.resize(bytes);
  }

  /// Converts `bytes`, which are rows of `tensor`. Error: a weight is not finite, or too large for the type.
  Result<std::span<const std::byte>> convert(const Tensor& tensor, std::span<const std::byte> bytes, DType type) {
    const std::size_t cols = to_size(tensor.cols), row_bytes = tensor.row_bytes();
    const std::size_t out_bytes = to_size(*dtype_bytes(type, cols)), num_rows = bytes.size() / row_bytes;
    const std::span<float> row = std::span(floats_).first(cols);
    for (std::size_t r = 0; r < num_rows; ++r) {
      dequantize(tensor.type, bytes.data() + r * row_bytes, row);
      OCTAVO_TRY_VOID(quantize(type, row, {}, std::span(out_).subspan(r * out_bytes, out_bytes)));
    }
    return std::span(out_).first(num_rows * out_bytes);
  }

 private:
  std::vector<float> floats_;
  std::vector<std::byte> out_;
};

/// The first error of several threads; all of them end soon after it.
class FirstError {
 public:
  void set(Error error) {
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = std::move(error);
    has_failed_ = true;
  }
  bool has_failed() const { return has_failed_; }
  std::optional<Error> take() { return std::move(error_); }

 private:
  std::atomic<bool> has_failed_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;
};

/// The bytes of the largest piece whose panels are not kept as they are sent elsewhere.
std::size_t largest_sent(std::span<const Piece> pieces) {
  std::size_t most = 0;
  for (const Piece& piece : pieces)
    if (piece.job->sends_others()) most = std::max(most, piece.packed_bytes());
  return most;
}

/// Packs what a reader has read, in rounds. It holds the threads of the pool during a round.
class Rounds {
 public:
  Rounds(std::span<const Piece> pieces, const ModelSource& source, PieceReader& reader, ThreadPool& pool,
         const RepackManner& manner)
      : pieces_(pieces), source_(source), reader_(reader), pool_(pool), manner_(manner), hashes_(pieces.size()) {
    workers_.reserve(to_size(pool.num_threads()));
    for (int i = 0; i < pool.num_threads(); ++i)
      workers_.push_back(
          {.converter = RowConverter(pieces), .panels = AlignedBuffer<std::uint8_t>(largest_sent(pieces))});
  }

  /// Packs pieces for one round, as long as some are read. The calling thread calls `on_piece`, if it is set, after
  /// each piece that it packs itself.
  void run_one(const std::function<void()>& on_piece) {
    const ThreadPool::Step step(pool_);
    const Clock::time_point begin = Clock::now();
    const auto is_over = [&] {
      const Clock::duration time = Clock::now() - begin;
      return error_.has_failed() || manner_.stop.stop_requested() || time > kRound ||
             (time > kSharedRound && step.is_wanted_by_others());
    };
    pool_.for_ranges(to_size(pool_.num_threads()), 1, [&](std::size_t, std::size_t, int worker) {
      do {
        const std::optional<PieceReader::Piece> read = reader_.try_take();
        if (!read) return;
        pack(pieces_[read->index], read->bytes, workers_[to_size(worker)]);
        hashes_[read->index] = hash_of(read->bytes);
        reader_.give_back(*read);
        if (worker == 0 && on_piece) on_piece();
      } while (!is_over());
    });
  }

  std::uint64_t done_bytes() const { return done_; }
  std::optional<Error> error() { return error_.take(); }
  ContentHash hash() const { return hash_of(std::as_bytes(std::span(hashes_))); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kRound = std::chrono::milliseconds(50);        // until progress is told
  static constexpr auto kSharedRound = std::chrono::milliseconds(10);  // where other engines share the pool

  /// The tools of a thread that packs.
  struct Worker {
    RowConverter converter;
    AlignedBuffer<std::uint8_t> panels;  // the panels of a piece that are not kept as they are sent elsewhere
  };

  void pack(const Piece& piece, std::span<const std::byte> bytes, Worker& worker) {
    if (manner_.pages == FilePages::kDropped) source_.drop(piece.offset(), piece.bytes());
    const RepackJob& job = *piece.job;
    const Tensor& tensor = piece.tensor();
    if (job.type != tensor.type) {
      const Result<std::span<const std::byte>> converted = worker.converter.convert(tensor, bytes, job.type);
      if (!converted)
        return error_.set(
            {fmt::format("{}: tensor {}: {}", source_.name(), quote(job.tensor->name), converted.error().message)});
      bytes = *converted;
    }
    const auto rows = static_cast<std::int64_t>(piece.row_of(piece.end) - piece.row_of(piece.begin));
    const Tensor source{.type = job.type, .rows = rows, .cols = tensor.cols, .data = bytes};
    const std::int64_t count = piece.end - piece.begin;
    std::uint8_t* panels = job.panels + piece.packed_offset();
    if (job.panels != nullptr) pack_panels(source, 0, count, panels, job.order);
    if (job.sends_others()) pack_panels(source, 0, count, panels = worker.panels.data());
    if (job.send) {
      const Result<void> sent = job.send(piece.packed_offset(), {panels, piece.packed_bytes()});
      if (!sent) return error_.set(sent.error());
    }
    done_.fetch_add(piece.bytes(), std::memory_order_relaxed);
  }

  const std::span<const Piece> pieces_;
  const ModelSource& source_;
  PieceReader& reader_;
  ThreadPool& pool_;
  const RepackManner& manner_;
  std::vector<Worker> workers_;  // [threads]
  std::vector<ContentHash> hashes_;
  FirstError error_;
  std::atomic<std::uint64_t> done_ = 0;
};

}  // namespace

Result<ContentHash> repack(std::vector<RepackJob> jobs, const ModelSource& source, ThreadPool& pool,
                           const RepackProgress& progress, const RepackManner& manner) {
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
  const std::size_t num_threads = to_size(pool.num_threads());
  PieceReader reader(source, ranges, manner.beside_others ? std::max(kMostBuffersAhead, num_threads) : num_threads,
                     manner.beside_others ? PieceReader::Mode::kAhead : PieceReader::Mode::kOnDemand);
  Rounds rounds(pieces, source, reader, pool, manner);
  const auto tell = [&] {
    if (progress) progress(rounds.done_bytes(), total);
  };
  while (reader.wait()) {
    OCTAVO_TRY_VOID(check_stop(manner.stop, "loading"));
    rounds.run_one(manner.beside_others ? std::function<void()>() : tell);
    if (std::optional<Error> error = rounds.error()) return std::unexpected(std::move(*error));
    tell();
  }
  if (std::optional<Error> error = reader.error()) return std::unexpected(std::move(*error));
  if (progress) progress(total, total);
  return rounds.hash();
}

}  // namespace octavo

#include "cpu/piece_reader.h"

#include <algorithm>
#include <utility>

#include "base/started_thread.h"

namespace octavo {
namespace {

// How far ahead of the current piece the file is prefetched: the disk always has some megabytes to read.
constexpr std::size_t kAheadBytes = std::size_t{16} << 20;

}  // namespace

PieceReader::PieceReader(const ModelSource& source, std::span<const Range> ranges, std::size_t num_buffers, Mode mode)
    : source_(source), ranges_(ranges), mode_(mode) {
  if (ranges.empty()) return;
  const std::size_t largest = std::ranges::max(ranges, {}, &Range::bytes).bytes;
  buffers_.reserve(num_buffers);
  read_.reserve(num_buffers);  // so that no thread allocates
  for (std::size_t i = 0; i < num_buffers; ++i) {
    buffers_.emplace_back(largest);
    free_.push_back(i);
  }
  source.prefetch(ranges.front().offset, kAheadBytes);
  if (mode == Mode::kAhead)
    thread_ = start_thread([this](const std::stop_token& stop) { run(stop); },
                           [this](Error error) { fail_with(std::move(error)); });
}

void PieceReader::fail_with(Error error) {
  const std::scoped_lock lock(mutex_);
  if (!error_) error_ = std::move(error);
  changed_.notify_all();
}

/// Reads a piece; nothing where that fails.
std::optional<PieceReader::Piece> PieceReader::read(std::size_t index, std::size_t buffer) {
  const Range& range = ranges_[index];
  source_.prefetch(range.offset + kAheadBytes, range.bytes);
  const std::span<std::byte> bytes = buffers_[buffer].span().first(range.bytes);
  if (Result<void> done = source_.read(range.offset, bytes); !done) {
    fail_with(std::move(done.error()));
    return std::nullopt;
  }
  return Piece{.index = index, .buffer = buffer, .bytes = bytes};
}

void PieceReader::run(const std::stop_token& stop) {
  for (std::size_t i = 0; i < ranges_.size() && !stop.stop_requested(); ++i) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return !free_.empty(); })) return;
    const std::size_t buffer = free_.back();
    free_.pop_back();
    lock.unlock();
    const std::optional<Piece> piece = read(i, buffer);
    if (!piece) return;
    lock.lock();
    read_.push_back(*piece);
    changed_.notify_all();
  }
}

std::optional<PieceReader::Piece> PieceReader::read_next() {
  std::unique_lock lock(mutex_);
  if (num_taken_ == ranges_.size() || error_ || free_.empty()) return std::nullopt;
  const std::size_t index = num_taken_++, buffer = free_.back();
  free_.pop_back();
  lock.unlock();
  return read(index, buffer);
}

std::optional<PieceReader::Piece> PieceReader::try_take() {
  if (mode_ == Mode::kOnDemand) return read_next();
  const std::scoped_lock lock(mutex_);
  if (read_.empty()) return std::nullopt;
  const Piece piece = read_.front();
  read_.erase(read_.begin());
  ++num_taken_;
  return piece;
}

void PieceReader::give_back(const Piece& piece) {
  const std::scoped_lock lock(mutex_);
  free_.push_back(piece.buffer);
  changed_.notify_all();
}

bool PieceReader::wait() {
  std::unique_lock lock(mutex_);
  const auto has_ended = [this] { return error_ || num_taken_ == ranges_.size(); };
  if (mode_ == Mode::kOnDemand) return !has_ended();
  changed_.wait(lock, [&] { return !read_.empty() || has_ended(); });
  return !read_.empty();
}

std::optional<Error> PieceReader::error() const {
  const std::scoped_lock lock(mutex_);
  return error_;
}

}  // namespace octavo

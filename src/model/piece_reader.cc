#include "model/piece_reader.h"

#include <algorithm>

namespace octavo {
namespace {

// The distance ahead of the piece at work at which the file is asked for: the disk always has some megabytes to read.
constexpr std::size_t kAheadBytes = std::size_t{16} << 20;

}  // namespace

PieceReader::PieceReader(const ModelSource& source, std::span<const Range> ranges, std::size_t num_buffers)
    : source_(source), ranges_(ranges) {
  if (ranges.empty()) return;
  const std::size_t largest = std::ranges::max(ranges, {}, &Range::bytes).bytes;
  buffers_.reserve(num_buffers);
  read_.reserve(num_buffers);  // the thread asks for no memory
  for (std::size_t i = 0; i < std::min(num_buffers, ranges.size()); ++i) {
    buffers_.emplace_back(largest);
    free_.push_back(i);
  }
  source.prefetch(ranges.front().offset, kAheadBytes);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void PieceReader::run(const std::stop_token& stop) {
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return !free_.empty(); })) return;
    const std::size_t buffer = free_.back();
    free_.pop_back();
    lock.unlock();
    const Range& range = ranges_[i];
    source_.prefetch(range.offset + kAheadBytes, range.bytes);
    const std::span<std::byte> bytes = buffers_[buffer].span().first(range.bytes);
    Result<void> done = source_.read(range.offset, bytes);
    lock.lock();
    if (done) {
      read_.push_back({.index = i, .buffer = buffer, .bytes = bytes});
    } else {
      error_ = std::move(done.error());
    }
    changed_.notify_all();
    if (error_) return;
  }
}

std::optional<PieceReader::Piece> PieceReader::try_take() {
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
  changed_.wait(lock, [this] { return !read_.empty() || error_ || num_taken_ == ranges_.size(); });
  return !read_.empty();
}

std::optional<Error> PieceReader::error() const {
  const std::scoped_lock lock(mutex_);
  return error_;
}

}  // namespace octavo

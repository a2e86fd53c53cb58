// Reads pieces of a file for threads that use them. A piece is read by the thread that takes it, or ahead by a thread
// of its own, so that nobody waits for a disk while holding what others want.
//
// Owned by one load. Any thread may take pieces and give them back.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "source/model_source.h"

namespace octavo {

class PieceReader {
 public:
  struct Range {
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
  };
  /// A piece that was read. Its buffer belongs to the holder until it is given back.
  struct Piece {
    std::size_t index = 0;  // the index of its range
    std::size_t buffer = 0;
    std::span<const std::byte> bytes = {};
  };

  /// kAhead takes a third more time where all processors pack: the reading thread takes some of theirs.
  enum class Mode : std::uint8_t { kOnDemand, kAhead };

  /// Reads the ranges in order; ahead as far as `num_buffers` allow. There must be at least as many buffers as threads
  /// that take pieces. References must outlive it.
  PieceReader(const ModelSource& source, std::span<const Range> ranges, std::size_t num_buffers, Mode mode);

  /// The next piece: on demand it is read now, else it is one that was read, if there is any. Nothing, too, where
  /// reading fails.
  std::optional<Piece> try_take();
  void give_back(const Piece& piece);
  /// Waits until a piece can be taken. False: none is left, or none can be read.
  bool wait();
  /// The error that ended reading before the last range, if there was one.
  std::optional<Error> error() const;

 private:
  void run(const std::stop_token& stop);
  std::optional<Piece> read(std::size_t index, std::size_t buffer);
  std::optional<Piece> read_next();
  void fail_with(Error error);

  const ModelSource& source_;
  const std::span<const Range> ranges_;
  const Mode mode_;
  std::vector<AlignedBuffer<std::byte>> buffers_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;  // for all members below
  std::vector<std::size_t> free_;        // indices of buffers
  std::vector<Piece> read_;              // earliest first
  std::size_t num_taken_ = 0;            // pieces taken so far
  std::optional<Error> error_;
  std::jthread thread_;  // last, so that it is joined first
};

}  // namespace octavo

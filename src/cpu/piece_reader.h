// Reads pieces of a file for those that use them: whoever takes one reads it, or a thread of its own does so ahead, so
// that nobody waits for a disk while he holds what others want.
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
  /// A piece that was read; its buffer is the holder's until it is given back.
  struct Piece {
    std::size_t index = 0;  // of its range
    std::size_t buffer = 0;
    std::span<const std::byte> bytes = {};
  };

  /// Ahead takes a third of the time more where all processors pack: the thread takes some of theirs.
  enum class Mode : std::uint8_t { kOnDemand, kAhead };

  /// Reads the ranges in their order, ahead as far as `num_buffers` go, which must be as many as threads take pieces at
  /// least. References must outlive it.
  PieceReader(const ModelSource& source, std::span<const Range> ranges, std::size_t num_buffers, Mode mode);

  /// The next piece, read on demand; or one that has been read, if there is one. None: also if it cannot be read.
  std::optional<Piece> try_take();
  void give_back(const Piece& piece);
  /// Waits until a piece can be taken. False: none is left, or none can be read.
  bool wait();
  /// Why reading ended before the last range, if it did.
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
  std::condition_variable_any changed_;  // of all below
  std::vector<std::size_t> free_;        // buffers
  std::vector<Piece> read_;              // the earliest first
  std::size_t num_taken_ = 0;            // pieces, so far
  std::optional<Error> error_;
  std::jthread thread_;  // joined first
};

}  // namespace octavo

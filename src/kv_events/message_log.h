// The last batches that were published, for subscribers that have missed some.
//
// Owned by the publisher; its thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "kv_events/zmq_socket.h"

namespace octavo {

class MessageLog {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

  /// Keeps at most so many batches, of at most kMaxBytes but for the last one.
  explicit MessageLog(std::size_t most) : most_(most) {}

  /// Keeps a batch, which has the number next_number().
  void add(SharedText batch);
  /// The number of the next batch: batches count from 0.
  std::uint64_t next_number() const { return next_number_; }
  /// The number of the oldest batch that is kept; next_number(): none is.
  std::uint64_t first_number() const { return next_number_ - batches_.size(); }
  std::size_t num_bytes() const { return num_bytes_; }
  /// A batch that is kept.
  const SharedText& batch(std::uint64_t number) const { return batches_[number - first_number()]; }

 private:
  const std::size_t most_;
  std::deque<SharedText> batches_;
  std::size_t num_bytes_ = 0;
  std::uint64_t next_number_ = 0;
};

/// A number in 8 bytes, the highest first.
std::string number_frame(std::uint64_t number);
/// The number in such a frame; none: it is no such frame.
std::optional<std::uint64_t> number_of_frame(std::string_view frame);

/// The number behind the last batch of a replay.
inline constexpr std::uint64_t kEndOfReplay = ~std::uint64_t{0};

}  // namespace octavo

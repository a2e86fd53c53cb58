// The bound of a queue, and of one owner's part of the queue.
//
// A plain value. The engine has one bound for requests and one for tokens (EngineOptions::max_queued,
// max_queued_tokens). A sender of several requests at once can ask beforehand whether the requests could ever wait
// together in the same queue.
#pragma once

#include <cstdint>

namespace octavo {

struct QueueBound {
  /// One owner may hold at most this many times as much as is left: the first owner four fifths of the queue, a second
  /// one four fifths of the rest, and so on.
  static constexpr std::int64_t kOwnerFactor = 4;

  static constexpr std::int64_t kMost = std::int64_t{1} << 50;

  std::int64_t most = 0;  // at most kMost; 0: no bound

  constexpr bool has_room(std::int64_t held, std::int64_t amount) const { return most == 0 || amount <= most - held; }
  /// Whether an owner who holds `held_by_owner` of the `held` of all may have `amount` more. The rest counts with the
  /// place that is asked for, so that the last place of a short queue can be taken.
  constexpr bool is_fair(std::int64_t held, std::int64_t held_by_owner, std::int64_t amount) const {
    return most == 0 || held_by_owner + amount <= kOwnerFactor * (most - held);
  }
};

}  // namespace octavo

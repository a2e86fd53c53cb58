// A bound of what may wait, and of one owner's part of it.
//
// A plain value. The engine bounds requests with one and tokens with another (EngineOptions::max_queued,
// max_queued_tokens). A sender of several requests at once can ask beforehand whether they could ever wait together
// in the same queue.
#pragma once

#include <cstdint>

namespace octavo {

struct QueueBound {
  /// One owner may hold at most this many times as much as is left: alone four fifths, a second one four fifths of the
  /// rest, and so on.
  static constexpr std::int64_t kOwnerFactor = 4;

  static constexpr std::int64_t kMost = std::int64_t{1} << 50;

  std::int64_t most = 0;  // at most kMost; 0: no bound

  constexpr bool has_room(std::int64_t held, std::int64_t amount) const { return most == 0 || amount <= most - held; }
  /// `held` by all, of which `held_by_owner` by the one that asks for `amount` more. The rest counts with the place
  /// that is asked for, so that the last place of a short queue can be taken.
  constexpr bool is_fair(std::int64_t held, std::int64_t held_by_owner, std::int64_t amount) const {
    return most == 0 || held_by_owner + amount <= kOwnerFactor * (most - held);
  }
};

}  // namespace octavo

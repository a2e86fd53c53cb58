// Which clients use a loaded model, and until when each of them wants it in memory: a client says so for itself, and
// takes the model from nobody else.
//
// Owned by a ModelSlot; the I/O thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace octavo::server {

class ModelUses {
 public:
  using Clock = std::chrono::steady_clock;

  /// One client's.
  struct Use {
    int num_requests = 0;                                      // under way
    Clock::time_point last = {};                               // when the last one was
    std::optional<std::chrono::milliseconds> keep_alive = {};  // after that; none: the client did not say
  };

  /// A request of the client begins. The use stays where it is until end().
  Use& begin(const std::string& client, Clock::time_point now);
  static void end(Use& use, Clock::time_point now) noexcept;
  /// The client wants the model no longer than its requests last.
  void release(const std::string& client);
  /// The model is loaded anew.
  void clear();

  /// Nobody has used it, or said anything about it.
  bool empty() const { return uses_.empty(); }
  /// Until when it is wanted, but for one client if that is named; time_point::max(): for ever. `kept`: how long after
  /// the last request of a client that did not say, and the most that one may say. Requests that run count as if they
  /// ended now.
  Clock::time_point wanted_until(Clock::time_point now, std::chrono::milliseconds kept,
                                 const std::string* but_for = nullptr) const;

 private:
  Use& of(const std::string& client);
  void forget_oldest(const Use& but_for) noexcept;

  std::map<std::string, Use> uses_;
  /// Clients that are no longer known one by one, as there were too many: when the last of those that did not say used
  /// it, until when the others want it, and when the last of these used it.
  std::optional<Clock::time_point> last_of_others_;
  Clock::time_point others_until_ = Clock::time_point::min();
  Clock::time_point last_that_said_ = Clock::time_point::min();
};

}  // namespace octavo::server

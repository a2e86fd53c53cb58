// Which clients use a loaded model, and until when each of them wants it in memory: a client decides for itself alone,
// and cannot take the model from another.
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

  /// The use by one client.
  struct Use {
    int num_requests = 0;                                      // running now
    Clock::time_point last = {};                               // when the last one was running
    std::optional<std::chrono::milliseconds> keep_alive = {};  // after the last request; none: the client did not say
  };

  /// Begins a request of the client. The result does not move until end().
  Use& begin(const std::string& client, Clock::time_point now);
  static void end(Use& use, Clock::time_point now) noexcept;
  /// Notes that the client wants the model no longer than its requests run.
  void release(const std::string& client);
  /// Forgets all clients, as the model is loaded anew.
  void clear();

  /// Whether nobody has used the model, or said anything about it.
  bool empty() const { return uses_.empty(); }
  /// Until when clients other than `but_for` (unless null) want the model; time_point::max(): for ever. `kept`: how
  /// long it stays after the last request of a client that did not say, and the most that a client may say. Running
  /// requests count as if they ended now.
  Clock::time_point wanted_until(Clock::time_point now, std::chrono::milliseconds kept,
                                 const std::string* but_for = nullptr) const;

 private:
  Use& of(const std::string& client);
  void forget_oldest(const Use& but_for) noexcept;

  std::map<std::string, Use> uses_;
  /// The rest of clients that are no longer known one by one, as there were too many: when the last of those that
  /// did not say used the model; until when the others want it, and when the last of these used it.
  std::optional<Clock::time_point> last_of_others_;
  Clock::time_point others_until_ = Clock::time_point::min();
  Clock::time_point last_that_said_ = Clock::time_point::min();
};

}  // namespace octavo::server

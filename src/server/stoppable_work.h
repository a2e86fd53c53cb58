// Work on the threads of bodies for requests that are no completions: counting or listing tokens, showing prompts. It
// is asked to stop when the client hangs up, when the request's deadline is over, and a moment after the server was
// told to stop.
//
// Owned by the Service; the I/O thread.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <stop_token>

#include "api/call/api_error.h"
#include "server/exchange.h"

namespace octavo::server {

class StoppableWork {
 public:
  /// How long work may go on that nobody waits for any more, or that runs when the server is told to stop: some clients
  /// close their side of a connection after a request, and read on.
  static constexpr std::chrono::milliseconds kGrace{500};

  /// The work for one request, as long as it runs. Whoever ends it notifies the connection's wake().
  class Part {
   public:
    Part(StoppableWork& all, Exchange& exchange, Clock::time_point now);
    ~Part();
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    std::stop_token stop() const { return stop_.get_token(); }
    /// Why the work was stopped; none: it was not.
    const std::optional<ApiError>& error() const { return error_; }

   private:
    friend class StoppableWork;
    void end(ApiError error);

    StoppableWork& all_;
    HttpConnection& connection_;
    std::stop_source stop_ = {};
    std::optional<Clock::time_point> hung_up_ = {};
    std::optional<Clock::time_point> deadline_ = {};
    std::optional<ApiError> error_ = {};
  };

  void begin_drain(Clock::time_point now) { drain_begin_ = now; }
  /// Called several times a second.
  void tick(Clock::time_point now);

 private:
  std::set<Part*> parts_;
  std::optional<Clock::time_point> drain_begin_ = {};
};

}  // namespace octavo::server

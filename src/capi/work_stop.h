// A stop of work: closing its handle ends the loads that it was given to, and the calls of the threads that have it.
// Any thread.
#pragma once

#include <stop_token>
#include <utility>

#include "capi/handles.h"
#include "capi/last_error.h"

namespace octavo::capi {

class WorkStop final : public Handled {
 public:
  std::stop_token token() const { return source_.get_token(); }
  void close() override { source_.request_stop(); }

  /// Gives a stop to the calls that the calling thread makes from now on; an empty token takes it away.
  static void give_to_thread(std::stop_token stop) noexcept;
  static const std::stop_token& of_thread() noexcept;

 private:
  std::stop_source source_;
};

/// A stop that is asked for where the model's stop is, or the calling thread's. The object stays where it is.
class StopOfCall {
 public:
  explicit StopOfCall(const std::stop_token& of_model);
  StopOfCall(const StopOfCall&) = delete;
  StopOfCall& operator=(const StopOfCall&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  /// The error of work that may have been stopped: OCTAVO_STOPPED where a stop was asked for.
  CallError tell(ApiError error) const { return tell(CallError::of(std::move(error))); }
  CallError tell(const Error& error) const { return tell(CallError::of(error)); }

 private:
  CallError tell(CallError error) const;

  struct Ask {
    std::stop_source source;
    void operator()() noexcept { source.request_stop(); }
  };

  std::stop_source source_;
  std::stop_callback<Ask> of_model_, of_thread_;
};

}  // namespace octavo::capi

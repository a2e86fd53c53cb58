// The work on a request's texts before the engine computes anything: the bytes that become tokens are counted and
// bounded, and a stop reaches what is under way.
//
//     std::stop_source stop;
//     octavo::RequestWork work(stop.get_token());
//     auto tokens = engine->text()->tokenize(text, {.work = &work});  // on another thread: stop.request_stop()
//
// One thread works for a request at a time; any thread may ask for the stop.
#pragma once

#include <cstdint>
#include <limits>
#include <stop_token>
#include <string>
#include <utility>

#include "octavo/result.h"

namespace octavo {

class RequestWork {
 public:
  static constexpr std::uint64_t kAnyNumber = std::numeric_limits<std::uint64_t>::max();

  /// `most_bytes`: the limit on the bytes of texts that become tokens. A text counts each time that it does.
  explicit RequestWork(std::stop_token stop = {}, std::uint64_t most_bytes = kAnyNumber)
      : stop_(std::move(stop)), most_bytes_(most_bytes) {}

  /// Counts a text that is about to become tokens. Errors: a stop was asked for (kStopped); the texts have more bytes
  /// than the limit.
  Result<void> add_text(std::uint64_t bytes) {
    if (is_stopped()) return std::unexpected(stopped());
    text_bytes_ += bytes;
    if (text_bytes_ <= most_bytes_) return {};
    return std::unexpected(Error{.message = "found " + std::to_string(text_bytes_) +
                                            " bytes of text to be made tokens, where a text counts each time that it "
                                            "is read, expected at most " +
                                            std::to_string(most_bytes_) + " in a request"});
  }
  /// Whether a stop was asked for. Long work asks this many times a second, and then ends.
  bool is_stopped() const { return stop_.stop_requested(); }
  Error stopped() const { return {.message = "the work on the request was stopped", .kind = ErrorKind::kStopped}; }

  std::uint64_t text_bytes() const { return text_bytes_; }

 private:
  const std::stop_token stop_;
  const std::uint64_t most_bytes_;
  std::uint64_t text_bytes_ = 0;
};

}  // namespace octavo

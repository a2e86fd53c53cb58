// The answer to one call, in the form of the API that it came by. One thread at a time: the I/O thread, or another one
// for what takes long.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "api/call/api_error.h"
#include "octavo/request_event.h"

namespace octavo {

/// The most numbers that the I/O thread writes at once; longer answers are left to other threads.
inline constexpr std::size_t kMostNumbersHere = std::size_t{1} << 13;
/// The most bytes of a whole answer that the I/O thread joins; larger ones are left to other threads.
inline constexpr std::size_t kMostBytesHere = std::size_t{1} << 20;

class AnswerWriter {
 public:
  AnswerWriter() = default;
  virtual ~AnswerWriter() = default;
  AnswerWriter(const AnswerWriter&) = delete;
  AnswerWriter& operator=(const AnswerWriter&) = delete;

  /// Streamed calls: the first bytes, before there is an event.
  virtual std::string begin() { return {}; }
  /// Streamed calls: the bytes to send now; empty if there is nothing to say yet. Other calls: always empty, as the
  /// event is kept. Events of progress go to progress() instead.
  virtual std::string on_event(const RequestEvent& event) = 0;
  /// Whether on_event() would write more than kMostNumbersHere numbers for this event.
  virtual bool is_long(const RequestEvent& /*event*/) const { return false; }
  /// Streamed calls that ask for it: an event that says how far a prompt is computed; empty after an error.
  virtual std::string progress(std::size_t prompt_index, const PromptProgress& progress) const = 0;
  /// Streamed calls: bytes that say only that the server is alive. `text` is for people who read the stream.
  virtual std::string heartbeat(std::string_view text) const {
    return fmt::format(": {}\n\n", text);  // a comment in every reader of server-sent events
  }
  /// Streamed calls: events to come may still say that there is no answer, so that not even its status is sent.
  virtual bool may_be_refused() const { return false; }
  /// Asks on_event() to leave to work() what may take long, in calls that are not streamed.
  virtual void leave_work() {}
  /// How many numbers and characters are left to be written; done() is false meanwhile.
  virtual std::size_t work_left() const { return 0; }
  /// Writes a piece of what is left, a few milliseconds of work.
  virtual void work() {}
  /// The bytes of the answer that are held until it ends.
  virtual std::size_t held_bytes() const = 0;
  /// Whether all choices of all prompts have ended.
  virtual bool done() const = 0;
  /// Why the call cannot be answered, or null: a choice ended as kFailed, kNotFinite, kCancelled or kDeadline. A call
  /// that is not streamed is answered with it; of a streamed one on_event() has given the error event.
  virtual const ApiError* error() const = 0;
  /// Streamed calls that the server gives up: the error event, which is the end of the stream.
  virtual std::string fail(const ApiError& error) = 0;
  /// Called after done(). Streamed calls: the last bytes; other calls: the whole JSON body.
  virtual std::string finish() = 0;
};

}  // namespace octavo

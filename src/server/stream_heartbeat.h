// The heartbeat of a stream while its client waits for tokens: a comment now and then, so that neither a proxy nor a
// person takes it for dead, and how far its prompts have come, if the client asked for that.
//
// A StreamHeartbeat belongs to one streamed call; the I/O thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "api/call/answer_writer.h"
#include "api/call/completion.h"

namespace octavo::server {

class StreamHeartbeat {
 public:
  using Clock = std::chrono::steady_clock;
  struct Intervals {
    std::chrono::milliseconds comment;   // a stream is silent no longer than this; 0: as long as it may be
    std::chrono::milliseconds progress;  // between two reports of progress, where something has changed
  };

  /// `call` outlives it, and so does `progress`, how far each of its prompts has come: of one that waits, no tokens.
  StreamHeartbeat(const CompletionCall& call, std::span<const PromptProgress> progress, const Intervals& intervals,
                  Clock::time_point now);

  /// take() may have something.
  bool is_due(Clock::time_point now) const { return now >= next_comment_ || now >= next_progress_; }
  /// The bytes to send now; empty if it is not time for any.
  std::string take(Clock::time_point now, AnswerWriter& writer);
  /// Reports the rest of a prompt's progress, before an event of its answer.
  std::string before_event(std::size_t prompt, AnswerWriter& writer);
  /// Bytes were sent.
  void sent(Clock::time_point now);

 private:
  /// The tokens that the client knows of; -1: none.
  struct Told {
    int computed = -1, encoded = 0;
    friend bool operator==(const Told&, const Told&) = default;
  };

  std::string report(std::size_t prompt, AnswerWriter& writer);
  /// The state of the prompts, for people.
  std::string state() const;

  const CompletionCall& call_;
  Intervals intervals_;
  std::span<const PromptProgress> progress_;  // [prompt]
  std::vector<Told> told_;                    // [prompt]
  Clock::time_point next_comment_ = Clock::time_point::max(), next_progress_ = Clock::time_point::max();
};

}  // namespace octavo::server

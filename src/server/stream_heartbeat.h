// The heartbeat of a stream while its client waits for tokens: a comment now and then, so that neither a proxy nor a
// person takes it for dead; and the progress of its prompts, if the client asked for it.
//
// Belongs to one streamed call; the I/O thread.
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
    std::chrono::milliseconds comment;   // the longest silence of a stream; 0: no limit
    std::chrono::milliseconds progress;  // between two reports of progress, where something has changed
  };

  /// `call` must outlive it, and so must `progress`: how far each of its prompts has come; one that waits has no
  /// tokens.
  StreamHeartbeat(const CompletionCall& call, std::span<const PromptProgress> progress, const Intervals& intervals,
                  Clock::time_point now);

  /// Whether take() may have something.
  bool is_due(Clock::time_point now) const { return now >= next_comment_ || now >= next_progress_; }
  /// The bytes to send now; empty if nothing is due.
  std::string take(Clock::time_point now, AnswerWriter& writer);
  /// The rest of a prompt's progress, sent before an event of its answer.
  std::string before_event(std::size_t prompt, AnswerWriter& writer);
  /// Notes that bytes were sent.
  void sent(Clock::time_point now);

 private:
  /// The tokens that the client was told of; -1: none.
  struct Told {
    int computed = -1, encoded = 0;
    friend bool operator==(const Told&, const Told&) = default;
  };

  std::string report(std::size_t prompt, AnswerWriter& writer);
  /// The state of the prompts, as a text for people.
  std::string state() const;

  const CompletionCall& call_;
  Intervals intervals_;
  std::span<const PromptProgress> progress_;  // [prompts]
  std::vector<Told> told_;                    // [prompts]
  Clock::time_point next_comment_ = Clock::time_point::max(), next_progress_ = Clock::time_point::max();
};

}  // namespace octavo::server

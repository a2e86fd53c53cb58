// Signs of life of a stream while its client waits for tokens, so that neither a proxy nor a person takes it for dead.
// They are a comment now and then, and if the client asked for it how far its prompts have come.
//
// A PromptBoard is shared with the engine's callbacks, which write on it. LifeSigns belong to one streamed call; the
// I/O thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/answer_writer.h"
#include "api/completion.h"

namespace octavo::server {

/// The progress of each prompt of a call. Any thread.
class PromptBoard {
 public:
  explicit PromptBoard(std::size_t num_prompts) : progress_(num_prompts) {}

  void set(std::size_t prompt, const PromptProgress& progress) {
    const std::lock_guard lock(mutex_);
    progress_[prompt] = progress;
  }
  /// Of a prompt that waits: of no tokens.
  PromptProgress get(std::size_t prompt) const {
    const std::lock_guard lock(mutex_);
    return progress_[prompt];
  }

 private:
  mutable std::mutex mutex_;
  std::vector<PromptProgress> progress_;
};

class LifeSigns {
 public:
  using Clock = std::chrono::steady_clock;
  struct Intervals {
    std::chrono::milliseconds comment;   // a stream is silent no longer than this; 0: as long as it may be
    std::chrono::milliseconds progress;  // between two reports of progress, where something has changed
  };

  /// `call` outlives it. `board`: of the call's prompts.
  LifeSigns(const CompletionCall& call, std::shared_ptr<PromptBoard> board, const Intervals& intervals,
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
  std::string report(std::size_t prompt, AnswerWriter& writer);
  /// The state of the prompts, for people.
  std::string state() const;

  const CompletionCall& call_;
  Intervals intervals_;
  std::shared_ptr<PromptBoard> board_;
  std::vector<int> told_;  // [prompt] computed tokens that the client knows of; -1: none
  Clock::time_point next_comment_ = Clock::time_point::max(), next_progress_ = Clock::time_point::max();
};

}  // namespace octavo::server

// How far the answers to a call are, for the access log, the metrics and the lists of running answers.
//
// Belongs to one call; the I/O thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "api/call/completion.h"
#include "api/llama/llama_slots.h"
#include "server/event_queue.h"
#include "server/exchange.h"
#include "server/model_metrics.h"

namespace octavo::server {

inline double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

class CallProgress {
 public:
  /// The requests of the call are complete. `guesses`: the engine drafts, unless a request wants no drafts.
  CallProgress(const CompletionCall& call, bool guesses);

  /// How far each prompt has come; one that waits has no tokens yet.
  std::span<const PromptProgress> prompts() const { return prompts_; }
  void note_prompt(const RequestEvent& event) { prompts_[event.prompt_index] = *event.progress; }
  /// Counts a token or an end.
  void note_answer(const EventQueue::Item& item, Exchange& exchange, ModelMetrics& metrics);
  /// Appends the choices of the first `num_prompts` prompts that have not ended.
  void append_running(const std::string& model, const ModelInfo& info, std::size_t num_prompts,
                      std::vector<RunningAnswer>& running) const;

 private:
  /// A choice that is being made.
  struct Choice {
    Clock::time_point last_token = {};
    int num_tokens = 0;
    bool has_ended = false;
  };

  void note_end(const RequestEvent& event, AccessRecord& record);

  std::size_t choices_of_prompt_;
  std::uint32_t first_choice_ = 0;
  bool are_drafted_ = false;
  std::vector<Choice> choices_;          // [prompts][choices]
  std::vector<PromptProgress> prompts_;  // [prompts]
  std::vector<int> num_tokens_;          // [prompts]
  std::vector<bool> counted_;            // [prompts]; the prompt's tokens are in the record
};

}  // namespace octavo::server

// How far the answers of a call are: what the access log, the metrics and the lists of running answers are told.
//
// Belongs to one call; the I/O thread.
#pragma once

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

class CallProgress {
 public:
  /// The requests of the call are whole. `guesses`: the engine guesses tokens, unless a request wants none.
  CallProgress(const CompletionCall& call, bool guesses);

  /// How far each prompt has come; of one that waits, no tokens.
  std::span<const PromptProgress> prompts() const { return prompts_; }
  void note_prompt(const RequestEvent& event) { prompts_[event.prompt_index] = *event.progress; }
  /// Notes a token or an end.
  void note_answer(const EventQueue::Item& item, Exchange& exchange, ModelMetrics& metrics);
  /// The choices of the first `num_prompts` that have not ended.
  void append_running(const std::string& model, const ModelInfo& info, std::size_t num_prompts,
                      std::vector<RunningAnswer>& running) const;

 private:
  /// One choice while it is made.
  struct Choice {
    Clock::time_point last_token = {};
    int num_tokens = 0;
    bool has_ended = false;
  };

  void note_end(const RequestEvent& event, AccessRecord& record);

  std::size_t choices_of_prompt_;
  std::uint32_t first_choice_ = 0;
  bool are_drafted_ = false;
  std::vector<Choice> choices_;          // [prompt][choice]
  std::vector<PromptProgress> prompts_;  // [prompt]
  std::vector<int> num_tokens_;          // [prompt]
  std::vector<bool> counted_;            // [prompt]: its tokens are in the record
};

}  // namespace octavo::server

#include "server/call_progress.h"

#include <algorithm>

#include "api/answers/openai_finish.h"
#include "base/to_size.h"

namespace octavo::server {
namespace {

/// Adds to a count of the record, which is -1 while nothing was counted.
void add(std::int64_t& count, std::int64_t more) { count = std::max<std::int64_t>(count, 0) + more; }

}  // namespace

CallProgress::CallProgress(const CompletionCall& call, bool guesses)
    : choices_of_prompt_(to_size(call.n)),
      choices_(call.requests.size() * choices_of_prompt_),
      prompts_(call.requests.size()),
      counted_(call.requests.size()) {
  for (const Request& request : call.requests) num_tokens_.push_back(static_cast<int>(request.tokens.size()));
  if (call.requests.empty()) return;
  first_choice_ = call.requests.front().first_choice;
  are_drafted_ = guesses && call.requests.front().max_drafts > 0;
}

void CallProgress::append_running(const std::string& model, const ModelInfo& info, std::size_t num_prompts,
                                  std::vector<RunningAnswer>& running) const {
  for (std::size_t i = 0; i < num_prompts * choices_of_prompt_; ++i) {
    if (choices_[i].has_ended) continue;
    const std::size_t prompt = i / choices_of_prompt_;
    running.push_back({.model = model,
                       .device = info.device,
                       .is_drafted = are_drafted_,
                       .max_context = info.max_context,
                       .prompt = prompts_[prompt],
                       .prompt_tokens = num_tokens_[prompt],
                       .generated_tokens = choices_[i].num_tokens});
  }
}

void CallProgress::note_answer(const EventQueue::Item& item, Exchange& exchange, ModelMetrics& metrics) {
  AccessRecord& record = exchange.record;
  const RequestEvent& event = item.event;
  Choice& choice = choices_[event.prompt_index * choices_of_prompt_ + (event.choice - first_choice_)];
  if (event.token >= 0) {
    if (choice.last_token == Clock::time_point{}) {
      const double seconds = seconds_between(exchange.begin, item.at);
      metrics.observe_first_token(seconds);
      if (record.time_to_first_token_s < 0) record.time_to_first_token_s = seconds;
    } else {
      metrics.observe_between_tokens(seconds_between(choice.last_token, item.at));
    }
    choice.last_token = item.at;
    ++choice.num_tokens;
  }
  if (event.finish == FinishReason::kNone) return;
  choice.has_ended = true;
  metrics.observe_finished(event.finish, event.stats);
  note_end(event, record);
}

void CallProgress::note_end(const RequestEvent& event, AccessRecord& record) {
  record.finish_reason = finish_reason_name(event.finish);
  add(record.generated_tokens, event.stats.generated_tokens);
  if (counted_[event.prompt_index]) return;
  counted_[event.prompt_index] = true;
  add(record.prompt_tokens, event.stats.prompt_tokens);
  add(record.cached_tokens, event.stats.cached_tokens);
  if (event.stats.stored_tokens > 0) add(record.stored_tokens, event.stats.stored_tokens);
  if (record.diverged_at < 0) record.diverged_at = event.stats.diverged_at;
}

}  // namespace octavo::server

#include "api/openai/openai_usage.h"

#include <fmt/format.h>

#include <iterator>

namespace octavo {

void OpenAiUsage::add(const RequestStats& stats, bool is_first_choice) {
  generated_tokens_ += stats.generated_tokens;
  reasoning_tokens_ += stats.reasoning_tokens;
  accepted_ += stats.accepted_prediction_tokens;
  rejected_ += stats.drafted_prediction_tokens - stats.accepted_prediction_tokens;
  if (!is_first_choice) return;
  prompt_tokens_ += stats.prompt_tokens;
  cached_tokens_ += stats.cached_tokens;
  if (num_prompts_ == 1) diverged_at_ = stats.diverged_at;
}

void OpenAiUsage::append(std::string& out) const {
  fmt::format_to(std::back_inserter(out),
                 "\"usage\":{{\"prompt_tokens\":{},\"completion_tokens\":{},\"total_tokens\":{},"
                 "\"prompt_tokens_details\":{{\"cached_tokens\":{}",
                 prompt_tokens_, generated_tokens_, prompt_tokens_ + generated_tokens_, cached_tokens_);
  if (diverged_at_ >= 0) fmt::format_to(std::back_inserter(out), ",\"diverged_at\":{}", diverged_at_);
  out += '}';
  if (shows_reasoning_ || shows_prediction_) {
    out += ",\"completion_tokens_details\":{";
    if (shows_reasoning_) fmt::format_to(std::back_inserter(out), "\"reasoning_tokens\":{}", reasoning_tokens_);
    if (shows_reasoning_ && shows_prediction_) out += ',';
    if (shows_prediction_)
      fmt::format_to(std::back_inserter(out), "\"accepted_prediction_tokens\":{},\"rejected_prediction_tokens\":{}",
                     accepted_, rejected_);
    out += '}';
  }
  out += '}';
}

}  // namespace octavo

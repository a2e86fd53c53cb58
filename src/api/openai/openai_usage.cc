#include "api/openai/openai_usage.h"

namespace octavo {

void OpenAiUsage::add(const RequestStats& stats, bool is_first_choice) {
  generated_tokens_ += stats.generated_tokens;
  reasoning_tokens_ += stats.reasoning_tokens;
  accepted_ += stats.accepted_prediction_tokens;
  rejected_ += stats.drafted_prediction_tokens - stats.accepted_prediction_tokens;
  if (!is_first_choice) return;
  prompt_tokens_ += stats.prompt_tokens;
  cached_tokens_ += stats.cached_tokens;
  stored_tokens_ += stats.stored_tokens;
  if (num_prompts_ == 1) diverged_at_ = stats.diverged_at;
}

void OpenAiUsage::write(JsonWriter json) const {
  json.key("usage").begin_object().fields("prompt_tokens", prompt_tokens_, "completion_tokens", generated_tokens_,
                                          "total_tokens", prompt_tokens_ + generated_tokens_);
  json.key("prompt_tokens_details").begin_object().fields("cached_tokens", cached_tokens_);
  if (stored_tokens_ > 0) json.fields("stored_tokens", stored_tokens_);
  if (image_tokens_ > 0) json.fields("image_tokens", image_tokens_);
  if (diverged_at_ >= 0) json.fields("diverged_at", diverged_at_);
  json.end_object();
  if (shows_reasoning_ || shows_prediction_) {
    json.key("completion_tokens_details").begin_object();
    if (shows_reasoning_) json.fields("reasoning_tokens", reasoning_tokens_);
    if (shows_prediction_)
      json.fields("accepted_prediction_tokens", accepted_, "rejected_prediction_tokens", rejected_);
    json.end_object();
  }
  json.end_object();
}

}  // namespace octavo

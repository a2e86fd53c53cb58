// The `usage` of an answer of OpenAI's API: the tokens of all prompts and choices of a call together.
//
// A value; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "api/call/completion.h"
#include "json/json_writer.h"
#include "octavo/request.h"

namespace octavo {

class OpenAiUsage {
 public:
  /// `shows_reasoning`: the tokens of reasoning are told; `shows_prediction`: so are the predicted tokens that were
  /// right, and those that were wrong.
  OpenAiUsage(bool shows_reasoning, bool shows_prediction, std::span<const CallPrompt> prompts)
      : shows_reasoning_(shows_reasoning), shows_prediction_(shows_prediction), num_prompts_(prompts.size()) {
    for (const CallPrompt& prompt : prompts) image_tokens_ += prompt.num_image_tokens;
  }

  /// Adds a choice that has ended. A prompt is counted once, with its first choice, though all of them report it.
  void add(const RequestStats& stats, bool is_first_choice);
  /// Writes the member `usage`.
  void write(JsonWriter json) const;

 private:
  bool shows_reasoning_, shows_prediction_;
  std::size_t num_prompts_;
  std::int64_t prompt_tokens_ = 0, cached_tokens_ = 0, stored_tokens_ = 0, generated_tokens_ = 0, reasoning_tokens_ = 0;
  std::int64_t accepted_ = 0, rejected_ = 0;  // the tokens of the prediction that were right, and wrong
  std::int64_t image_tokens_ = 0;             // the tokens of pictures in all prompts
  int diverged_at_ = -1;                      // set where there is only one prompt
};

}  // namespace octavo

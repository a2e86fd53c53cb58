// An event of a request that owns its texts, for readers who keep it beyond the engine's callback: a stream that is
// pulled, a queue between threads, an answer that is written later. It is made once from a TokenEvent or a
// PromptProgress, and moved from then on.
//
//     engine->submit(std::move(request), [&](const octavo::TokenEvent& event) { kept.emplace_back(event); });
//
// A value without ties to the engine; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "octavo/request.h"

namespace octavo {

/// A token of one choice, and the choice's end where `finish` is set; or, where `progress` is set, the progress of a
/// prompt and nothing else. Fields that a TokenEvent has too mean the same here.
struct RequestEvent {
  RequestEvent() = default;
  explicit RequestEvent(const TokenEvent& event, std::size_t index = 0)
      : prompt_index(index),
        choice(event.choice),
        token(event.token),
        logprob(event.logprob),
        top_logprobs(event.top_logprobs.begin(), event.top_logprobs.end()),
        text(event.text),
        bytes(event.bytes),
        reasoning(event.reasoning),
        is_reasoning(event.is_reasoning),
        is_text(event.is_text),
        is_resumed(event.is_resumed),
        other_bytes(event.other_bytes),
        finish(event.finish),
        stats(event.stats) {}
  explicit RequestEvent(const PromptProgress& told, std::size_t index = 0) : prompt_index(index), progress(told) {}

  std::size_t prompt_index = 0;                 // the number of the prompt in a call of several prompts
  std::optional<PromptProgress> progress = {};  // none: the event is a token or an end
  std::uint32_t choice = 0;
  TokenId token = -1;
  float logprob = 0;
  std::vector<TokenLogprob> top_logprobs = {};
  std::string text = {};
  std::string bytes = {};
  std::string reasoning = {};
  bool is_reasoning = false;
  bool is_text = true;
  bool is_resumed = false;
  std::size_t other_bytes = 0;
  FinishReason finish = FinishReason::kNone;
  RequestStats stats = {};  // set together with `finish`
};

}  // namespace octavo

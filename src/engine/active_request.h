// A request from submit() to its last event: its sequence, and what turns drawn tokens into events.
//
// Owned by the engine; only the thread that drives the engine may touch it.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/sequence.h"
#include "octavo/engine.h"
#include "tokenizer/tokenizer.h"

namespace octavo {

struct ActiveRequest {
  using Clock = std::chrono::steady_clock;

  /// `previous` is the prompt's last token, if the tokenizer knows it.
  ActiveRequest(const Tokenizer& tokenizer, std::optional<TokenId> previous) : decoder(tokenizer, previous) {}

  Sequence sequence;
  SamplingParams sampling;
  int max_generated = 0;                          // tokens
  FinishReason at_limit = FinishReason::kLength;  // why the answer ends there
  bool ignore_eos = false;
  std::vector<TokenId> stop_tokens;
  std::function<void(int, std::span<const float>)> on_prompt_logits;
  TokenCallback on_event;
  bool finished = false;  // its last event is out; it is kept until the end of the step

  StreamDecoder decoder;
  std::string text, bytes;  // what the current event shows
  Clock::time_point submitted;
  std::optional<Clock::time_point> first_token;

  int num_generated() const { return sequence.num_tokens() - sequence.prompt_tokens; }
  bool stops_at(TokenId token) const { return std::ranges::find(stop_tokens, token) != stop_tokens.end(); }
};

}  // namespace octavo

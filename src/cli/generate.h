// One request from submit to its last event, for the commands that make answers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/context.h"
#include "octavo/engine.h"

namespace octavo::cli {

struct Answer {
  std::string text;
  std::string reasoning;  // that was split off
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;  // of each token
  FinishReason finish = FinishReason::kNone;
  RequestStats stats;
  bool interrupted = false;    // by Ctrl-C
  bool output_closed = false;  // on_text gave false
};

/// Error: the system had no memory for the request, or its numbers are not finite.
Result<void> check_not_failed(FinishReason finish, const RequestStats& stats = {});

/// Runs `request` to its end and gives the answers of its choices. `on_text` gets each piece of text with the choice it
/// belongs to, counted from 0; false stops the request, as Ctrl-C does. `on_reasoning`: the same of reasoning that is
/// split off; null: nobody. Errors: what submit() refuses, no memory.
using ShowPiece = std::function<bool(std::size_t choice, std::string_view text)>;
Result<std::vector<Answer>> generate_choices(Engine& engine, Request request, const ShowPiece& on_text,
                                             const ShowPiece& on_reasoning = nullptr);
/// Runs a request of one choice. `on_reasoning` gets reasoning that the request has split off; null: nobody.
Result<Answer> generate(Engine& engine, Request request, const std::function<bool(std::string_view)>& on_text,
                        const std::function<bool(std::string_view)>& on_reasoning = nullptr);

/// The speed of an answer: tokens/s after the first token, and the bytes of weights and KV read in that time.
struct Speed {
  double tokens_per_s = 0;  // 0: fewer than two tokens
  double gb_per_s = 0;      // 10^9 bytes
};
Speed speed_of(const Answer& answer, const ModelInfo& info);

/// "25 + 120 tokens, first after 0.21 s, 184.2 tokens/s, 18.1 GB/s, 31 of 40 drafted": 31 of the answer's tokens were
/// drafted, and 40 in all.
std::string speed_line(const Answer& answer, const ModelInfo& info);

}  // namespace octavo::cli

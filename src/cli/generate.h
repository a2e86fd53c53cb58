// Runs one request from submit to its last event, for commands that make answers.
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
  std::string reasoning;  // the reasoning, if it was split off
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;  // one for each token
  FinishReason finish = FinishReason::kNone;
  RequestStats stats;
  bool interrupted = false;    // Ctrl-C stopped it
  bool output_closed = false;  // on_text returned false
};

/// Error: the system had no memory for the request, or its numbers are not finite.
Result<void> check_not_failed(FinishReason finish, const RequestStats& stats = {});

/// Runs `request` to its end and gives the answers of its choices. `on_text` gets each piece of text with the number of
/// its choice, from 0; false stops the request, as Ctrl-C does. `on_reasoning` gets reasoning that is split off in the
/// same way; it may be null. Errors: what submit() refuses; no memory.
using ShowPiece = std::function<bool(std::size_t choice, std::string_view text)>;
Result<std::vector<Answer>> generate_choices(Engine& engine, Request request, const ShowPiece& on_text,
                                             const ShowPiece& on_reasoning = nullptr);
/// Runs a request with one choice. `on_reasoning` gets reasoning that is split off; it may be null.
Result<Answer> generate(Engine& engine, Request request, const std::function<bool(std::string_view)>& on_text,
                        const std::function<bool(std::string_view)>& on_reasoning = nullptr);

/// The speed of an answer: tokens/s after the first token, and the bytes of weights, keys and values that were read in
/// that time.
struct Speed {
  double tokens_per_s = 0;  // 0: there are fewer than two tokens
  double gb_per_s = 0;      // in 10^9 bytes
};
Speed speed_of(const Answer& answer, const ModelInfo& info);

/// A line such as "25 + 120 tokens, first after 0.21 s, 184.2 tokens/s, 18.1 GB/s, 31 of 40 drafted": 40 tokens were
/// drafted, and 31 of them are in the answer.
std::string speed_line(const Answer& answer, const ModelInfo& info);

}  // namespace octavo::cli

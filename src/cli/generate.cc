#include "cli/generate.h"

#include <algorithm>

#include "base/to_size.h"
#include "cli/terminal/interrupt.h"

namespace octavo::cli {

Result<void> check_not_failed(FinishReason finish, const RequestStats& stats) {
  if (finish == FinishReason::kConstraint) return fail("the answer cannot be held to its constraint: {}", stats.error);
  if (finish == FinishReason::kFailed && !stats.error.empty()) return fail("{}", stats.error);
  if (finish == FinishReason::kFailed)
    return fail(
        "out of memory: the system had none left for the request, which has ended (or the model's numbers for it are "
        "not finite)");
  if (finish == FinishReason::kNotFinite) return fail("the model's numbers for the request are not finite");
  return {};
}

Result<std::vector<Answer>> generate_choices(Engine& engine, Request request, const ShowPiece& on_text,
                                             const ShowPiece& on_reasoning) {
  const std::uint32_t first_choice = request.first_choice;
  std::vector<Answer> answers(to_size(std::max(request.num_choices, 1)));
  std::size_t num_left = answers.size();
  bool interrupted = false, output_closed = false;
  const InterruptGuard guard;
  OCTAVO_TRY(const RequestId id, engine.submit(std::move(request), [&](const TokenEvent& event) {
    const std::size_t choice = event.choice - first_choice;
    Answer& answer = answers[choice];
    if (event.token >= 0) {
      answer.tokens.push_back(event.token);
      answer.logprobs.push_back(event.logprob);
    }
    answer.reasoning += event.reasoning;
    if (on_reasoning && !output_closed && !event.reasoning.empty() && !on_reasoning(choice, event.reasoning))
      output_closed = true;
    answer.text += event.text;
    if (!output_closed && !on_text(choice, event.text)) output_closed = true;
    if (event.finish == FinishReason::kNone) return;
    answer.finish = event.finish;
    answer.stats = event.stats;
    --num_left;
  }));
  while (num_left > 0 && engine.step()) {
    interrupted = guard.interrupted() && num_left > 0;
    if (interrupted || output_closed) engine.cancel(id);  // its last events come at once
  }
  OCTAVO_CHECK(num_left == 0, "the engine ran out of work before the request's end");
  for (Answer& answer : answers) {
    OCTAVO_TRY_VOID(check_not_failed(answer.finish, answer.stats));
    answer.interrupted = interrupted && answer.finish == FinishReason::kCancelled;
    answer.output_closed = output_closed;
  }
  return answers;
}

Result<Answer> generate(Engine& engine, Request request, const std::function<bool(std::string_view)>& on_text,
                        const std::function<bool(std::string_view)>& on_reasoning) {
  const auto show = [&](std::size_t, std::string_view text) { return on_text(text); };
  const auto show_reasoning = [&](std::size_t, std::string_view text) { return !on_reasoning || on_reasoning(text); };
  OCTAVO_TRY(std::vector<Answer> answers, generate_choices(engine, std::move(request), show, show_reasoning));
  return std::move(answers.front());
}

Speed speed_of(const Answer& answer, const ModelInfo& info) {
  const RequestStats& stats = answer.stats;
  const double seconds = stats.total_s - stats.time_to_first_token_s;
  const int after_first = stats.generated_tokens - 1;
  if (after_first < 1 || seconds <= 0) return {};
  // Each token after the first reads all weights once, and keys and values of all tokens before it, unless the step of
  // another token has verified it.
  const double mean_depth = stats.prompt_tokens + stats.generated_tokens / 2.0;
  const double bytes_per_token =
      static_cast<double>(info.weight_bytes_per_token) + static_cast<double>(info.kv_bytes_per_token) * mean_depth;
  const int num_steps = std::max(1, after_first - stats.accepted_draft_tokens);
  return {.tokens_per_s = after_first / seconds, .gb_per_s = num_steps * bytes_per_token / seconds / 1e9};
}

std::string speed_line(const Answer& answer, const ModelInfo& info) {
  const RequestStats& stats = answer.stats;
  std::string line = fmt::format("{} + {} tokens", stats.prompt_tokens, stats.generated_tokens);
  if (stats.generated_tokens > 0) line += fmt::format(", first after {:.2f} s", stats.time_to_first_token_s);
  const Speed speed = speed_of(answer, info);
  if (speed.tokens_per_s > 0) line += fmt::format(", {:.1f} tokens/s, {:.1f} GB/s", speed.tokens_per_s, speed.gb_per_s);
  if (stats.drafted_tokens > 0)
    line += fmt::format(", {} of {} drafted", stats.accepted_draft_tokens, stats.drafted_tokens);
  return line;
}

}  // namespace octavo::cli

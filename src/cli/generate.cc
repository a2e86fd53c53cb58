#include "cli/generate.h"

#include "cli/interrupt.h"

namespace octavo::cli {

Result<Answer> generate(Engine& engine, Request request, const std::function<bool(std::string_view)>& on_text) {
  Answer answer;
  const InterruptGuard guard;
  OCTAVO_TRY(const RequestId id, engine.submit(std::move(request), [&](const TokenEvent& event) {
    if (event.token >= 0) {
      answer.tokens.push_back(event.token);
      answer.logprobs.push_back(event.logprob);
    }
    answer.text += event.text;
    if (!answer.output_closed && !on_text(event.text)) answer.output_closed = true;
    if (event.finish == FinishReason::kNone) return;
    answer.finish = event.finish;
    answer.stats = event.stats;
  }));
  while (answer.finish == FinishReason::kNone && engine.step()) {
    answer.interrupted = guard.interrupted() && answer.finish == FinishReason::kNone;
    if (answer.interrupted || answer.output_closed) engine.cancel(id);  // its last event comes at once
  }
  OCTAVO_CHECK(answer.finish != FinishReason::kNone, "the engine ran out of work before the request's end");
  return answer;
}

Speed speed_of(const Answer& answer, const ModelInfo& info) {
  const RequestStats& stats = answer.stats;
  const double seconds = stats.total_s - stats.time_to_first_token_s;
  const int after_first = stats.generated_tokens - 1;
  if (after_first < 1 || seconds <= 0) return {};
  // Each token after the first reads all weights once and the KV of every token before it.
  const double mean_depth = stats.prompt_tokens + stats.generated_tokens / 2.0;
  const double bytes_per_token =
      static_cast<double>(info.weight_bytes_per_token) + static_cast<double>(info.kv_bytes_per_token) * mean_depth;
  return {.tokens_per_s = after_first / seconds, .gb_per_s = after_first * bytes_per_token / seconds / 1e9};
}

std::string speed_line(const Answer& answer, const ModelInfo& info) {
  const RequestStats& stats = answer.stats;
  std::string line = fmt::format("{} + {} tokens", stats.prompt_tokens, stats.generated_tokens);
  if (stats.generated_tokens > 0) line += fmt::format(", first after {:.2f} s", stats.time_to_first_token_s);
  const Speed speed = speed_of(answer, info);
  if (speed.tokens_per_s > 0) line += fmt::format(", {:.1f} tokens/s, {:.1f} GB/s", speed.tokens_per_s, speed.gb_per_s);
  return line;
}

}  // namespace octavo::cli

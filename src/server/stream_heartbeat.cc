#include "server/stream_heartbeat.h"

#include <fmt/format.h>

#include "base/to_size.h"

namespace octavo::server {

StreamHeartbeat::StreamHeartbeat(const CompletionCall& call, std::span<const PromptProgress> progress,
                                 const Intervals& intervals, Clock::time_point now)
    : call_(call), intervals_(intervals), progress_(progress), told_(call.prompts.size()) {
  sent(now);
  if (call.return_progress) next_progress_ = now;
}

void StreamHeartbeat::sent(Clock::time_point now) {
  if (intervals_.comment.count() > 0) next_comment_ = now + intervals_.comment;
}

std::string StreamHeartbeat::take(Clock::time_point now, AnswerWriter& writer) {
  std::string out;
  if (now >= next_progress_) {
    next_progress_ = now + intervals_.progress;
    for (std::size_t i = 0; i < told_.size(); ++i) out += report(i, writer);
  }
  if (out.empty() && now >= next_comment_) out = writer.heartbeat(state());
  return out;
}

std::string StreamHeartbeat::before_event(std::size_t prompt, AnswerWriter& writer) {
  return call_.return_progress ? report(prompt, writer) : std::string();
}

std::string StreamHeartbeat::report(std::size_t prompt, AnswerWriter& writer) {
  const auto num_tokens = static_cast<int>(call_.prompts[prompt].num_tokens);
  Told& told = told_[prompt];
  if (told.computed == num_tokens) return {};
  const PromptProgress& progress = progress_[prompt];
  const Told now{.computed = progress.computed_tokens, .encoded = progress.encoded_tokens};
  if (progress.prompt_tokens == 0 || told == now) return {};
  told = now;
  return writer.progress(prompt, progress);
}

std::string StreamHeartbeat::state() const {
  std::size_t total = 0, computed = 0, encoded = 0;
  bool begun = false;
  for (std::size_t i = 0; i < told_.size(); ++i) {
    const PromptProgress& progress = progress_[i];
    total += call_.prompts[i].num_tokens;
    computed += to_size(progress.computed_tokens);
    encoded += to_size(progress.encoded_tokens);
    begun |= progress.prompt_tokens > 0;
  }
  if (!begun || computed >= total) return "waiting";
  if (encoded > 0) return fmt::format("looking at pictures, {} of {} tokens", computed + encoded, total);
  return fmt::format("reading the prompt, {} of {} tokens", computed, total);
}

}  // namespace octavo::server

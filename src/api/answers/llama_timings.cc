#include "api/answers/llama_timings.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace octavo {
namespace {

/// Writes the milliseconds and the rate of `count` tokens, under names that begin with `name`.
void write_times(std::string_view name, std::int64_t count, double seconds, JsonWriter json) {
  const auto tokens = static_cast<double>(count);
  const double ms = seconds * 1e3, per_token = count > 0 ? ms / tokens : 0, rate = ms > 0 ? tokens * 1e3 / ms : 0;
  json.raw(fmt::format(R"("{0}_n":{1},"{0}_ms":{2:.3f},"{0}_per_token_ms":{3:.3f},"{0}_per_second":{4:.3f})", name,
                       count, ms, per_token, rate));
}

}  // namespace

void LlamaTimings::add(const RequestStats& stats, bool is_first_choice) {
  generated_tokens_ += stats.generated_tokens;
  drafted_tokens_ += stats.drafted_tokens;
  accepted_tokens_ += stats.accepted_draft_tokens;
  generated_s_ = std::max(generated_s_, stats.total_s - stats.time_to_first_token_s);
  prompt_s_ = std::max(prompt_s_, stats.time_to_first_token_s - stats.queued_s);
  if (!is_first_choice) return;
  prompt_tokens_ += stats.prompt_tokens;
  cached_tokens_ += stats.cached_tokens;
}

void LlamaTimings::write(JsonWriter json) const {
  json.key("timings").begin_object().fields("cache_n", cached_tokens_);
  write_times("prompt", prompt_tokens_ - cached_tokens_, prompt_s_, json);
  write_times("predicted", generated_tokens_, generated_s_, json);
  if (drafted_tokens_ > 0)  // llama.cpp too leaves these members out of an answer without drafts
    json.fields("draft_n", drafted_tokens_, "draft_n_accepted", accepted_tokens_);
  json.end_object();
}

}  // namespace octavo

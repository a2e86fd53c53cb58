#include "engine/active_request.h"

#include <algorithm>

namespace octavo {

RequestStats ActiveRequest::stats_of(const Choice& choice) const {
  const Choice::Clock::time_point now = Choice::Clock::now();
  const double total = seconds(now - submitted);
  const double queued = choice.first_step ? std::max(0.0, seconds(*choice.first_step - submitted)) : total;
  const double prefill = seconds(choice.in_prefill), decode = seconds(choice.in_decode);
  return {.prompt_tokens = choice.sequence.prompt_tokens,
          .cached_tokens = choice.sequence.cached_tokens,
          .generated_tokens = choice.num_generated(),
          .preemptions = choice.sequence.num_preemptions,
          .time_to_first_token_s = choice.first_token ? seconds(*choice.first_token - submitted) : 0,
          .total_s = total,
          .queued_s = queued,
          .prefill_s = prefill,
          .decode_s = decode,
          .stalled_s = std::max(0.0, total - queued - prefill - decode)};
}

}  // namespace octavo

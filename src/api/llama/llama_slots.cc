#include "api/llama/llama_slots.h"

#include <algorithm>
#include <boost/json/object.hpp>

namespace octavo {
namespace {

namespace json = boost::json;

json::object place(std::size_t id, const FreePlace& like, bool is_processing, int threads) {
  return {{"id", id},
          {"n_ctx", like.max_context},
          {"speculative", like.is_drafted},
          {"is_processing", is_processing},
          {"device", like.device},
          {"threads", threads}};
}

}  // namespace

json::array llama_slots(std::span<const RunningAnswer> running, std::size_t num_places, const FreePlace& free,
                        int threads) {
  json::array slots;
  for (const RunningAnswer& answer : running) {
    json::object slot = place(
        slots.size(), {.device = answer.device, .max_context = answer.max_context, .is_drafted = answer.is_drafted},
        true, threads);
    slot["model"] = answer.model;
    slot["n_prompt_tokens"] = answer.prompt_tokens;
    slot["n_prompt_tokens_processed"] = std::max(answer.prompt.computed_tokens - answer.prompt.cached_tokens, 0);
    slot["n_prompt_tokens_cache"] = answer.prompt.cached_tokens;
    slot["next_token"] = {{{"has_next_token", true}, {"n_decoded", answer.generated_tokens}}};
    slots.push_back(std::move(slot));
  }
  while (slots.size() < num_places) slots.push_back(place(slots.size(), free, false, threads));
  return slots;
}

}  // namespace octavo

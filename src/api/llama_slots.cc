#include "api/llama_slots.h"

#include <algorithm>
#include <boost/json/object.hpp>

namespace octavo {
namespace {

namespace json = boost::json;

json::object place(std::size_t id, int max_context, bool is_drafted, bool is_processing) {
  return {{"id", id}, {"n_ctx", max_context}, {"speculative", is_drafted}, {"is_processing", is_processing}};
}

}  // namespace

json::array llama_slots(std::span<const RunningAnswer> running, std::size_t num_places, const FreePlace& free) {
  json::array slots;
  for (const RunningAnswer& answer : running) {
    json::object slot = place(slots.size(), answer.max_context, answer.is_drafted, true);
    slot["model"] = answer.model;
    slot["n_prompt_tokens"] = answer.prompt_tokens;
    slot["n_prompt_tokens_processed"] = std::max(answer.prompt.computed_tokens - answer.prompt.cached_tokens, 0);
    slot["n_prompt_tokens_cache"] = answer.prompt.cached_tokens;
    slot["next_token"] = {{{"has_next_token", true}, {"n_decoded", answer.generated_tokens}}};
    slots.push_back(std::move(slot));
  }
  while (slots.size() < num_places) slots.push_back(place(slots.size(), free.max_context, free.is_drafted, false));
  return slots;
}

}  // namespace octavo

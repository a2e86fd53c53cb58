// Features that clients may ask for and do not get. A request that needs one of these is refused: an answer without the
// feature would look as if it had been made with it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>

#include "server/openai_request.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

struct Unsupported {
  std::string_view name;
  std::string_view what;
  double neutral = 0;  // the number that asks for nothing
};

constexpr std::array kUnsupported = {
    Unsupported{"suffix", "text behind the answer of a chat"},
    Unsupported{"audio", "audio answers"},
    Unsupported{"prediction", "predicted outputs"},
    Unsupported{"web_search_options", "web search"},
    Unsupported{"chat_template", "a chat template in the request"},
    Unsupported{"documents", "documents beside the messages"},
    Unsupported{"prompt_logprobs", "this form of the prompt's log-probabilities (echo with logprobs has them)"},
    Unsupported{"truncate_prompt_tokens", "cutting the prompt"},
    Unsupported{"use_beam_search", "beam search"},
    Unsupported{"length_penalty", "beam search", 1},
    Unsupported{"include_stop_str_in_output", "showing the stop text"},
    Unsupported{"logits_processors", "logits processors"},
    Unsupported{"guided_decoding", "this form of structured output"},
    Unsupported{"structural_tag", "structural tags"},
    Unsupported{"regex", "this name of guided_regex"},
    Unsupported{"ebnf", "this name of guided_grammar"},
    Unsupported{"mirostat_mode", "this sampler"},
    Unsupported{"tfs_z", "this sampler", 1},
    Unsupported{"top_a", "this sampler"},
    Unsupported{"epsilon_cutoff", "this sampler"},
    Unsupported{"eta_cutoff", "this sampler"},
    Unsupported{"prompt_embeds", "prompts of embeddings"},
    Unsupported{"return_tokens_as_token_ids", "ids in place of texts (return_token_ids has them beside)"},
};

bool asks_for_nothing(const json::value& value, double neutral) {
  if (const bool* flag = value.if_bool()) return !*flag;
  if (const json::string* text = value.if_string()) return text->empty();
  if (const json::array* array = value.if_array()) return array->empty();
  if (const json::object* object = value.if_object()) return object->empty();
  return value.is_number() && value.to_number<double>() == neutral;
}

// With as many candidates as answers, best_of chooses nothing.
void refuse_best_of(JsonFields& fields) {
  const auto best_of = fields.integer("best_of", 1, kMaxChoices);
  if (!best_of) return;
  const json::value* n = fields.find("n");
  if (*best_of == (n == nullptr ? 1 : as_integer(*n).value_or(1))) return;
  fields.refuse(unsupported("best_of", "best_of: found " + std::to_string(*best_of) +
                                           ", expected the value of n: this server does not rank answers"));
}

void refuse_modalities(JsonFields& fields) {
  const json::value* modalities = fields.find("modalities");
  if (modalities == nullptr) return;
  const json::array* array = modalities->if_array();
  const auto is_text = [](const json::value& value) { return value.is_string() && value.get_string() == "text"; };
  if (array != nullptr && std::ranges::all_of(*array, is_text)) return;
  fields.refuse(unsupported("modalities", "modalities: expected [\"text\"]: this server has no other output"));
}

}  // namespace

void refuse_unsupported(JsonFields& fields) {
  for (const Unsupported& feature : kUnsupported) {
    const json::value* value = fields.find(feature.name);
    if (value == nullptr || asks_for_nothing(*value, feature.neutral)) continue;
    fields.refuse(unsupported(std::string(feature.name), std::string(feature.name) + ": this server does not support " +
                                                             std::string(feature.what)));
  }
  if (!fields.boolean("add_generation_prompt", true) && !fields.boolean("continue_final_message", false)) {
    fields.refuse(unsupported(
        "add_generation_prompt",
        "add_generation_prompt: found false without continue_final_message, expected true: an answer begins as the "
        "assistant's, or goes on with its last message"));
  }
  for (const std::string_view name : {"skip_special_tokens", "add_special_tokens"})
    if (!fields.boolean(name, true))
      fields.refuse(unsupported(std::string(name), fmt::format("{}: found false, expected true", name)));
  refuse_tools(fields, "functions", "function_call");
  refuse_best_of(fields);
  refuse_modalities(fields);
}

}  // namespace octavo::server

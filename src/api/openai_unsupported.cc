// Features that clients may ask for and do not get. A request that needs one of these is refused: an answer without the
// feature would look as if it had been made with it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>

#include "api/openai_request.h"

namespace octavo {
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
    Unsupported{"web_search_options", "web search"},
    Unsupported{"chat_template", "a chat template in the request"},
    Unsupported{"documents", "documents beside the messages"},
    Unsupported{"prompt_logprobs", "this form of the prompt's log-probabilities (echo with logprobs has them)"},
    Unsupported{"truncate_prompt_tokens", "cutting the prompt", -1},
    Unsupported{"use_beam_search", "beam search"},
    Unsupported{"include_stop_str_in_output", "showing the stop text"},
    Unsupported{"logits_processors", "logits processors"},
    Unsupported{"guided_decoding", "this form of structured output"},
    Unsupported{"structural_tag", "structural tags"},
    Unsupported{"regex", "this name of guided_regex"},
    Unsupported{"ebnf", "this name of guided_grammar"},
    Unsupported{"prompt_embeds", "prompts of embeddings"},
    Unsupported{"image_data", "images"},
    Unsupported{"lora", "adapters"},
    Unsupported{"return_tokens_as_token_ids", "ids in place of texts (return_token_ids has them beside)"},
};

struct Ignored {
  std::string_view name;
  std::string_view why;
  double neutral = 0;
};

constexpr std::string_view kNoSampler = "there is no such sampler here";
constexpr std::array kIgnored = {
    Ignored{"prediction", "answers are not drafted from it"},
    Ignored{"length_penalty", "it is about beam search alone", 1},
    Ignored{"mirostat_mode", kNoSampler},
    Ignored{"tfs_z", kNoSampler, 1},
    Ignored{"top_a", kNoSampler},
    Ignored{"epsilon_cutoff", kNoSampler},
    Ignored{"eta_cutoff", kNoSampler},
};

bool asks_for_nothing(const json::value& value, double neutral) {
  if (const bool* flag = value.if_bool()) return !*flag;
  if (const json::string* text = value.if_string()) return text->empty();
  if (const json::array* array = value.if_array()) return array->empty();
  if (const json::object* object = value.if_object()) return object->empty();
  return value.is_number() && value.to_number<double>() == neutral;
}

/// With as many candidates as answers, best_of chooses nothing.
void warn_of_best_of(JsonFields& fields, std::vector<std::string>& warnings) {
  const auto best_of = fields.integer("best_of", 1, kMaxChoices);
  if (!best_of) return;
  const json::value* n = fields.find("n");
  const std::int64_t num_answers = n == nullptr ? 1 : as_integer(*n).value_or(1);
  if (*best_of != num_answers)
    warnings.push_back(fmt::format("best_of: found {} beside an n of {}: it is ignored: answers are not ranked here",
                                   *best_of, num_answers));
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
  if (!fields.boolean("skip_special_tokens", true))
    fields.refuse(unsupported("skip_special_tokens", "skip_special_tokens: found false, expected true"));
  refuse_tools(fields, "functions", "function_call");
  refuse_modalities(fields);
}

void warn_of_ignored(JsonFields& fields, std::vector<std::string>& warnings) {
  for (const Ignored& field : kIgnored) {
    const json::value* value = fields.find(field.name);
    if (value != nullptr && !asks_for_nothing(*value, field.neutral))
      warnings.push_back(fmt::format("{}: it is ignored: {}", field.name, field.why));
  }
  warn_of_best_of(fields, warnings);
}

}  // namespace octavo

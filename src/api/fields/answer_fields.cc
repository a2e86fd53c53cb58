#include "api/fields/answer_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>

#include "api/call/completion.h"
#include "api/fields/constraint_fields.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::int64_t kLeastNoLimit = -2;  // what llama.cpp and ollama mean by it: until the context is full

void take_limit(FieldReader& reader, const ApiField& field, bool may_be_none) {
  AnswerLength& length = reader.request.length;
  const JsonCursor given = reader.at(field.path);
  const auto asked = reader.take(given.integer_from(kLeastNoLimit));
  if (!asked) return;
  if (*asked == 0 && !may_be_none)
    reader.refuse(given.error("found the number 0, expected at least 1, or -1 for no limit"));
  if (*asked < 0) {
    length.otherwise = 0;
  } else if (!length.asked || *asked < *length.asked) {
    length.asked = asked;
    length.field = field.path;
  }
}

void take_progress(FieldReader& reader, const ApiField& field) {
  const bool is_asked = reader.take(reader.at(field.path).boolean()).value_or(false);
  reader.request.form.return_progress = reader.request.form.stream && is_asked;
}

void take_include_usage(FieldReader& reader, const ApiField& field) {
  const bool is_asked = reader.take(reader.at(field.path).boolean()).value_or(false);
  reader.request.form.include_usage = reader.request.form.stream && is_asked;
}

void take_continuous_usage(FieldReader& reader, const ApiField& field) {
  const bool is_asked = reader.take(reader.at(field.path).boolean()).value_or(false);
  reader.request.form.continuous_usage = reader.request.form.include_usage && is_asked;
}

void take_reasoning_format(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto format = reader.take(given.string());
  if (!format) return;
  const bool is_split = *format == "auto" || *format == "deepseek";
  if (!is_split && *format != "none") reader.refuse(given.wrong_value("\"auto\", \"deepseek\" or \"none\""));
  reader.request.settings.reasoning.mode = is_split ? ReasoningMode::kSplit : ReasoningMode::kLeftIn;
}

void take_include_reasoning(FieldReader& reader, const ApiField& field) {
  ShownReasoning& shown = reader.request.form.reasoning;
  const auto asked = reader.take(reader.at(field.path).boolean());
  if (!asked) return;
  shown.is_shown = shown.has_both_names = *asked;
}

/// Takes best_of, which has no effect where there are as many candidates as answers.
void take_best_of(FieldReader& reader, const ApiField& field) {
  const auto best_of = reader.take(reader.at(field.path).integer(1, kMaxChoices));
  const int num_answers = reader.request.settings.num_choices;
  if (best_of && *best_of != num_answers)
    reader.request.warnings.push_back(fmt::format(
        "best_of: found {} beside an n of {}: it is ignored: answers are not ranked here", *best_of, num_answers));
}

void take_modalities(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given()) return;
  const json::array* array = given.if_array();
  const auto is_text = [](const json::value& value) { return value.is_string() && value.get_string() == "text"; };
  if (array == nullptr || !std::ranges::all_of(*array, is_text))
    reader.refuse(given.error("expected [\"text\"]: this server has no other output", "unsupported_parameter"));
}

void take_skip_special_tokens(FieldReader& reader, const ApiField& field) {
  const auto skips = reader.take(reader.at(field.path).boolean());
  if (skips) reader.request.settings.shows_control_tokens = !*skips;
}

constexpr ApiField kModelRows[] = {field::model()};

constexpr ApiField kStreamRows[] = {
    field::stream(),
    field::boolean("return_progress", "false", "a stream says how far the prompt has come, as in llama.cpp",
                   take_progress),
    field::object("stream_options", "", "what a stream has beside the answer; without `stream` no effect",
                  check_object),
    field::boolean("stream_options.include_usage", "false", "a last chunk has `usage`, and no choices",
                   take_include_usage),
    field::boolean("stream_options.continuous_usage_stats", "false",
                   "beside `include_usage`, as in vLLM: each chunk has the tokens of its choice so far",
                   take_continuous_usage),
    field::boolean(
        "return_token_ids", "false",
        "the answer has `prompt_token_ids`, and in `token_ids` all that were generated, with those of a stop text",
        into<&ApiRequest::form, &AnswerForm::return_token_ids>),
    field::boolean(
        "skip_special_tokens", "true",
        "false: the text has that of control tokens as well, but not of one that ends the answer, as in vLLM",
        take_skip_special_tokens),
    field::boolean("logprobs_after_mask", "false",
                   "log-probabilities of constrained tokens are those among the allowed ones",
                   into<&ApiRequest::settings, &Request::logprobs_after_mask>),
    field::cache_salt(),
};

constexpr ApiField kReasoningRows[] = {
    field::string("reasoning_format", "the server's",
                  "`auto` and `deepseek`: reasoning stands apart from the content; `none`: it is left there",
                  take_reasoning_format),
    field::budget("reasoning_budget", "the most tokens of reasoning, which is then closed; -1: any number"),
    field::budget("reasoning_budget_tokens", "llama.cpp's name of `reasoning_budget`"),
    field::budget("thinking_budget_tokens", "another name of `reasoning_budget`"),
    field::budget("thinking_token_budget", "vLLM's name of `reasoning_budget`"),
    field::boolean("include_reasoning", "true", "reasoning is shown", take_include_reasoning),
};

constexpr ApiField kHintRows[] = {
    field::hint("user", "a name of whoever asks"),
    field::hint("metadata", "notes of the client's"),
    field::hint("store", "chats and completions are not stored"),
    field::hint("service_tier", "there is one tier"),
    field::hint("safety_identifier", "a name of whoever asks"),
    field::hint("prompt_cache_key", "prompts are found cached without it"),
};

constexpr std::string_view kNoSampler = "there is no such sampler here";

constexpr ApiField kUnsupportedRows[] = {
    field::refused("audio", "this server does not support audio answers"),
    field::refused("web_search_options", "this server does not support web search"),
    field::refused("chat_template",
                   "a model's reasoning, its calls of tools and its ends are known by the template that it was loaded "
                   "with, which octavo serve --chat-template names"),
    field::refused("truncate_prompt_tokens", "this server does not support cutting the prompt", -1),
    field::refused("use_beam_search", "this server does not support beam search"),
    field::refused("include_stop_str_in_output", "this server does not support showing the stop text"),
    field::refused("logits_processors", "this server does not support logits processors"),
    field::refused("prompt_embeds", "this server does not support prompts of embeddings"),
    field::refused("lora", "this server does not support adapters"),
    field::refused(
        field::array("modalities", "[\"text\"]", "this server has no other output than text", take_modalities)),
    field::ignored("length_penalty", "it is about beam search alone", 1),
    field::ignored("tfs_z", kNoSampler, 1),
    field::ignored("top_a", kNoSampler),
    field::ignored("epsilon_cutoff", kNoSampler),
    field::ignored("eta_cutoff", kNoSampler),
    field::ignored(field::integer("best_of", 1, kMaxChoices, "", "answers are not ranked here", take_best_of)),
};

}  // namespace

namespace field {

void take_model(FieldReader& reader, const ApiField& field) {
  const ServedModel& model = reader.context.model;
  const auto name = reader.take(reader.at(field.path).string());
  if (!name || model.answers_to(*name)) return;  // no name means the only model
  reader.refuse(model_not_served(*name, model));
}

void refuse_switch(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (reader.take(given.boolean()).value_or(false)) reader.refuse(given.error(field.text, "unsupported_parameter"));
}

void take_logprobs(FieldReader& reader, const ApiField& field) {
  const auto asked = reader.take(reader.at(field.path).boolean());
  if (asked && *asked) reader.request.form.num_logprobs = 0;
}

void take_top_logprobs(FieldReader& reader, const ApiField& field) {
  int& num_logprobs = reader.request.form.num_logprobs;
  const auto top = reader.take(reader.at(field.path).integer(0, kMaxTopLogprobs));
  if (!top) return;
  const bool is_silent = !reader.at("logprobs").is_given();
  if (num_logprobs >= 0 || (is_silent && *top > 0)) {
    num_logprobs = static_cast<int>(*top);
  } else if (!is_silent && *top > 0) {
    reader.request.warnings.push_back(
        fmt::format("top_logprobs: found {} beside logprobs false: none are given", *top));
  }
}

void take_cache_salt(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto salt = reader.take(given.string());
  if (!salt) return;
  if (salt->empty()) reader.refuse(given.error("found an empty string, expected at least one character"));
  if (salt->size() > kMaxSaltBytes)
    reader.refuse(given.error(fmt::format("found {} bytes, expected at most {}", salt->size(), kMaxSaltBytes)));
  if (!reader.failed()) reader.request.cache_salt = *salt;
}

void take_length(FieldReader& reader, const ApiField& field) { take_limit(reader, field, false); }
void take_length_or_none(FieldReader& reader, const ApiField& field) { take_limit(reader, field, true); }

void take_budget(FieldReader& reader, const ApiField& field) {
  AskedBudget& budget = reader.request.reasoning_budget;
  const JsonCursor given = reader.at(field.path);
  const auto asked =
      reader.take(given.integer(static_cast<std::int64_t>(field.min), static_cast<std::int64_t>(field.max)));
  if (!asked) return;
  if (budget.tokens && *budget.tokens != *asked)
    return reader.refuse(given.error(fmt::format("found {} beside {} {}, expected one of them: they are the same",
                                                 *asked, budget.field, *budget.tokens)));
  budget = {.tokens = static_cast<int>(*asked), .field = field.path};
}

}  // namespace field

const FieldTable kModelFields = kModelRows;
const FieldTable kStreamFields = kStreamRows;
const FieldTable kReasoningFields = kReasoningRows;
const FieldTable kHintFields = kHintRows;
const FieldTable kUnsupportedFields = kUnsupportedRows;

}  // namespace octavo

#include "api/llama_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "api/answer_length.h"
#include "api/json_fields.h"
#include "api/openai_request.h"
#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxFiles = 256;

ApiResult<void> check_fills_gaps(const Engine& engine) {
  if (engine.info().fills_gaps) return {};
  return std::unexpected(
      ApiError{.status = 501,
               .message = fmt::format("{} fills no gaps: its vocabulary has no tokens for what stands before one, "
                                      "behind it, and in it",
                                      engine.info().name),
               .code = "unsupported_model"});
}

/// The prompt of a gap with those of its files that have room beside the answer. Where the answer's limit leaves not
/// even the gap its room, that is cut as any other.
Result<InfillPrompt> fitting_prompt(const InfillText& text, std::int64_t max_tokens, const Engine& engine) {
  const std::int64_t context = engine.info().max_context;
  auto prompt = engine.infill_prompt(text, to_size(std::max<std::int64_t>(1, context - max_tokens)));
  if (prompt || prompt.error().kind != ErrorKind::kContextOverflow) return prompt;
  prompt = engine.infill_prompt({.prefix = text.prefix, .suffix = text.suffix}, to_size(context - 1));
  if (prompt) prompt->files_left_out = static_cast<int>(text.files.size());
  return prompt;
}

/// Puts the prompt of a gap in the place of `prompt`.
ApiResult<CompletionBody> with_gap(CompletionBody made, const InfillText& text, const Engine& engine,
                                   const std::string& param) {
  JsonFields fields(made.body);
  if (fields.boolean("echo", false)) fields.refuse(unsupported("echo", "echo: the prompt of a gap is not repeated"));
  const int context = engine.info().max_context;
  const AnswerLength length = read_length(fields, ZeroTokens::kNothing, 0);
  if (fields.failed()) return std::unexpected(*fields.error());
  const auto prompt = fitting_prompt(text, std::min<std::int64_t>(length.asked.value_or(1), context), engine);
  if (!prompt) return std::unexpected(not_tokenized(prompt.error(), context, param, param));
  made.body["prompt"] = json::array(prompt->tokens.begin(), prompt->tokens.end());
  if (prompt->files_left_out > 0)
    made.warnings.push_back(fmt::format("input_extra: the first {} of {} files are left out for want of room",
                                        prompt->files_left_out, text.files.size()));
  return made;
}

ApiResult<std::vector<InfillText::File>> read_files(const json::object& body) {
  const JsonCursor extra = JsonCursor(body)["input_extra"];
  const std::string expected = fmt::format("an array of at most {} files", kMaxFiles);
  OCTAVO_TRY(const json::array* given, to_api_result(extra.array(expected)));
  std::vector<InfillText::File> files;
  if (given == nullptr) return files;
  if (given->size() > kMaxFiles) return refused(extra.wrong_type(expected));
  for (std::size_t i = 0; i < given->size(); ++i) {
    const JsonCursor file = extra[i];
    OCTAVO_TRY_VOID(to_api_result(file.needed_object("a file (an object)")));
    OCTAVO_TRY(const auto name, to_api_result(file["filename"].string()));
    OCTAVO_TRY(const auto text, to_api_result(file["text"].string()));
    if (!text) return refused(file["text"].wrong_value("a string", "missing_required_parameter"));
    files.push_back({.name = std::string(name.value_or("tmp")), .text = std::string(*text)});
  }
  return files;
}

/// llama.cpp has a sampler of that name for gaps, and its editors' extensions ask for it.
void leave_out_infill_sampler(CompletionBody& made) {
  json::value* samplers = made.body.if_contains("samplers");
  if (samplers == nullptr || !samplers->is_array()) return;
  json::array kept;
  for (const json::value& name : samplers->get_array())
    if (name != "infill") kept.push_back(name);
  if (kept.size() == samplers->get_array().size()) return;
  made.warnings.emplace_back("samplers: infill is left out: this server has no sampler of that name");
  *samplers = std::move(kept);
}

/// Alternatives beside each token; there any number can be had.
std::int64_t read_n_probs(JsonFields& fields, std::vector<std::string>& warnings) {
  const std::int64_t asked = fields.integer_from("n_probs", 0).value_or(0);
  if (asked > 0 && fields.boolean("post_sampling_probs", false))
    fields.refuse(unsupported("post_sampling_probs",
                              "post_sampling_probs: n_probs are those of the model's own "
                              "distribution here"));
  if (asked > kMaxTopLogprobs) warnings.push_back(fmt::format("n_probs: found {}, cut to {}", asked, kMaxTopLogprobs));
  return std::min<std::int64_t>(asked, kMaxTopLogprobs);
}

}  // namespace

ApiResult<CompletionBody> completion_of_llama(const json::object& body) {
  CompletionBody made{.body = body};
  JsonFields fields(body);
  const std::int64_t num_probs = read_n_probs(fields, made.warnings);
  for (const std::string_view name : {"return_tokens", "echo"})
    if (fields.boolean(name, false))
      fields.refuse(unsupported(std::string(name), fmt::format("{}: /v1/completions has it, as return_token_ids and "
                                                               "echo",
                                                               name)));
  if (fields.integer("n", 1, 1, kMaxChoices) > 1)
    fields.refuse(unsupported("n", "n: one answer is given here; /v1/completions has more"));
  const json::value* prompt = fields.find("prompt");
  const json::array* several = prompt == nullptr ? nullptr : prompt->if_array();
  if (several != nullptr && !several->empty() && !several->front().is_number())
    fields.refuse(unsupported("prompt", "prompt: one is answered here; /v1/completions takes several"));
  if (fields.failed()) return std::unexpected(*fields.error());
  made.body.erase("logprobs");
  if (num_probs > 0) made.body["logprobs"] = num_probs;
  return made;
}

ApiResult<CompletionBody> completion_of_infill(const json::object& body, const Engine& engine) {
  OCTAVO_TRY_VOID(check_fills_gaps(engine));
  JsonFields fields(body);
  const auto prefix = fields.string("input_prefix"), suffix = fields.string("input_suffix");
  const std::string_view behind_prefix = fields.string("prompt").value_or("");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (!prefix) return std::unexpected(missing_field("input_prefix", "a string"));
  if (!suffix) return std::unexpected(missing_field("input_suffix", "a string"));
  InfillText text{.prefix = std::string(*prefix) + std::string(behind_prefix), .suffix = std::string(*suffix)};
  OCTAVO_TRY(text.files, read_files(body));
  OCTAVO_TRY(CompletionBody made, completion_of_llama(body));
  for (const std::string_view name : {"input_prefix", "input_suffix", "input_extra"}) made.body.erase(name);
  leave_out_infill_sampler(made);
  return with_gap(std::move(made), text, engine, "input_prefix");
}

bool has_suffix(const json::object& body) {
  const json::value* suffix = JsonFields(body).find("suffix");
  return suffix != nullptr && !(suffix->is_string() && suffix->get_string().empty());
}

ApiResult<CompletionBody> completion_of_suffix(const json::object& body, const Engine& engine) {
  JsonFields fields(body);
  const auto prompt = fields.string("prompt"), suffix = fields.string("suffix");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (!prompt) return std::unexpected(missing_field("prompt", "a string"));
  OCTAVO_TRY_VOID(check_fills_gaps(engine));
  CompletionBody without{.body = body};
  without.body.erase("suffix");
  return with_gap(std::move(without), {.prefix = std::string(*prompt), .suffix = std::string(*suffix)}, engine,
                  "prompt");
}

}  // namespace octavo

// The texts to be continued: the prompts of a completion. openai_conversation.cc has those of a chat.
#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <utility>

#include "api/json_fields.h"
#include "api/openai_request.h"
#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kPromptForms =
    "a string, an array of strings, an array of token ids, or an array of arrays of token ids";

ApiResult<RawPrompt> from_text(const json::string& text, const std::string& name, const Engine& engine,
                               bool add_special) {
  const int context = engine.info().max_context;
  auto tokens =
      engine.tokenize(text, {.add_special = add_special, .parse_special = true, .max_tokens = to_size(context)});
  if (!tokens) return std::unexpected(not_tokenized(tokens.error(), context, "prompt", name));
  if (tokens->empty()) {
    return std::unexpected(invalid_value("prompt", name + ": found an empty text, expected at least one token"));
  }
  return RawPrompt{.tokens = std::move(*tokens), .text = std::string_view(text)};
}

ApiResult<RawPrompt> from_ids(const json::array& ids, const std::string& name, int num_tokens) {
  RawPrompt prompt;
  prompt.tokens.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = as_integer(ids[i]);
    if (!id || *id < 0 || *id >= num_tokens) {
      ApiError error =
          invalid_type(fmt::format("{}[{}]", name, i), fmt::format("a token id from 0 to {}", num_tokens - 1), ids[i]);
      error.param = "prompt";
      return std::unexpected(std::move(error));
    }
    prompt.tokens.push_back(static_cast<TokenId>(*id));
  }
  if (prompt.tokens.empty()) {
    return std::unexpected(invalid_value("prompt", name + ": found no token ids, expected at least one"));
  }
  return prompt;
}

/// Before any of them is tokenized.
ApiResult<void> check_number(std::size_t num_prompts, int n) {
  const auto num_answers = static_cast<std::uint64_t>(num_prompts) * static_cast<std::uint64_t>(n);
  if (num_answers <= static_cast<std::uint64_t>(kMaxAnswersOfCall)) return {};
  return std::unexpected(
      invalid_value("prompt", fmt::format("prompt: found {} prompts with an n of {}, expected at most {} answers",
                                          num_prompts, n, kMaxAnswersOfCall)));
}

}  // namespace

ApiError missing_field(const std::string& name, std::string_view expected) {
  return {.status = 400,
          .message = fmt::format("{}: found none, expected {}", name, expected),
          .param = name,
          .code = "missing_required_parameter"};
}

ApiError context_overflow(int context, const std::string& param, std::string_view found) {
  return {.status = 400,
          .message = fmt::format("This model's maximum context length is {} tokens. However, your {} resulted in {}. "
                                 "Please reduce the length of the {}.",
                                 context, param, found, param),
          .param = param,
          .code = "context_length_exceeded"};
}

ApiError not_tokenized(const Error& error, int context, const std::string& param, const std::string& name) {
  if (error.kind == ErrorKind::kContextOverflow)
    return context_overflow(context, param, fmt::format("more than {} tokens", context));
  return invalid_value(param, name + ": " + error.message);
}

ApiResult<std::vector<RawPrompt>> read_prompts(const json::object& body, int n, const Engine& engine) {
  const json::value* value = body.if_contains("prompt");
  if (value == nullptr || value->is_null()) return std::unexpected(missing_field("prompt", kPromptForms));
  JsonFields fields(body);
  const bool add_special = fields.boolean("add_special_tokens", true);
  if (fields.failed()) return std::unexpected(*fields.error());
  std::vector<RawPrompt> prompts;
  if (const json::string* text = value->if_string()) {
    OCTAVO_TRY(prompts.emplace_back(), from_text(*text, "prompt", engine, add_special));
    return prompts;
  }
  const json::array* array = value->if_array();
  if (array == nullptr) return std::unexpected(invalid_type("prompt", kPromptForms, *value));
  if (array->empty())
    return std::unexpected(invalid_value("prompt", "prompt: found an empty array, expected a prompt"));
  const int num_tokens = engine.info().num_tokens;
  if (array->front().is_number()) {
    OCTAVO_TRY(prompts.emplace_back(), from_ids(*array, "prompt", num_tokens));
    return prompts;
  }
  OCTAVO_TRY_VOID(check_number(array->size(), n));
  for (std::size_t i = 0; i < array->size(); ++i) {
    const std::string name = fmt::format("prompt[{}]", i);
    const json::value& element = (*array)[i];
    if (const json::string* text = element.if_string()) {
      OCTAVO_TRY(prompts.emplace_back(), from_text(*text, name, engine, add_special));
    } else if (const json::array* ids = element.if_array()) {
      OCTAVO_TRY(prompts.emplace_back(), from_ids(*ids, name, num_tokens));
    } else {
      return std::unexpected(invalid_type(name, "a string or an array of token ids", element));
    }
  }
  return prompts;
}

}  // namespace octavo

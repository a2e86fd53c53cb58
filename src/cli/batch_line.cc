#include "cli/batch_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <limits>
#include <utility>

#include "api/answer_length.h"
#include "api/json_fields.h"
#include "api/json_writer.h"
#include "api/openai_chat.h"
#include "api/openai_completion.h"
#include "base/error.h"
#include "base/utf8.h"
#include "json/json_document.h"

namespace octavo::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxIdBytes = 512;
constexpr JsonLimits kLimits{.max_memory_bytes = 8 * kMaxBatchLineBytes};
constexpr std::string_view kChatUrl = "/v1/chat/completions", kCompletionUrl = "/v1/completions";

struct Parts {
  bool is_chat = false;
  json::object body = {};
};

/// custom_id, which leaves `object`; error: no string, or too long.
ApiResult<std::optional<std::string>> take_id(json::object& object) {
  JsonFields fields(object);
  const auto id = fields.string("custom_id");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (id && id->size() > kMaxIdBytes)
    return std::unexpected(invalid_value(
        "custom_id", fmt::format("custom_id: found {} bytes, expected at most {}", id->size(), kMaxIdBytes)));
  std::optional<std::string> taken;
  if (id) taken.emplace(*id);
  object.erase("custom_id");
  return taken;
}

/// The call of OpenAI's form.
ApiResult<Parts> read_envelope(json::object& object) {
  JsonFields fields(object);
  const auto method = fields.string("method");
  const auto url = fields.string("url");
  const json::object* body = fields.object("body");
  if (fields.failed()) return std::unexpected(*fields.error());
  if (method && *method != "POST")
    return std::unexpected(invalid_value(
        "method", fmt::format("method: found {}, expected \"POST\"", describe_json(json::value(*method)))));
  if (!url || (*url != kChatUrl && *url != kCompletionUrl))
    return std::unexpected(invalid_value(
        "url", fmt::format("url: found {}, expected {} or {}",
                           url ? describe_json(json::value(*url)) : std::string("none"), kChatUrl, kCompletionUrl)));
  if (body == nullptr)
    return std::unexpected(invalid_value("body", "body: found none, expected an object with the request"));
  const bool is_chat = *url == kChatUrl;
  return Parts{.is_chat = is_chat, .body = std::move(object["body"].as_object())};
}

ApiResult<Parts> read_parts(json::object& object) {
  if (object.contains("body") || object.contains("url") || object.contains("method")) return read_envelope(object);
  const bool is_chat = object.contains("messages");
  if (!is_chat && !object.contains("prompt"))
    return std::unexpected(invalid_value("messages", "found neither messages nor a prompt, expected one"));
  return Parts{.is_chat = is_chat, .body = std::move(object)};
}

bool is_given(const json::object& body, std::string_view name) {
  const json::value* value = body.if_contains(name);
  return value != nullptr && !value->is_null();
}

ApiResult<CompletionCall> parse_body(Parts parts, std::uint64_t line, const BatchDefaults& defaults,
                                     const Engine& engine, const ServedModel& model) {
  json::object& body = parts.body;
  if (const json::value* stream = body.if_contains("stream"); stream != nullptr && *stream == true)
    return std::unexpected(unsupported("stream", "stream: found true, expected none: answers come whole"));
  if (defaults.seed && !is_given(body, "seed")) body["seed"] = *defaults.seed + line;
  if (defaults.max_tokens > 0 &&
      std::ranges::none_of(kLengthNames, [&](std::string_view name) { return is_given(body, name); }))
    body["max_tokens"] = defaults.max_tokens;
  return parts.is_chat ? parse_chat_completion(body, engine, model) : parse_completion(body, engine, model);
}

/// {"id":...,"line":...,"custom_id":...,
std::string begin_of(std::uint64_t line, const std::optional<std::string>& custom_id) {
  std::string text = fmt::format(R"({{"id":"batch-req-{}","line":{},"custom_id":)", line, line);
  if (custom_id) {
    append_json_string(text, to_valid_utf8(*custom_id));
  } else {
    text += "null";
  }
  return text + ',';
}

}  // namespace

BatchCall parse_batch_line(std::string_view text, std::uint64_t line, const BatchDefaults& defaults,
                           const Engine& engine, const ServedModel& model) {
  auto object = parse_json_object(text, kLimits);
  if (!object) return {.call = std::unexpected(to_api_error(std::move(object.error())))};
  auto id = take_id(*object);
  if (!id) return {.call = std::unexpected(std::move(id.error()))};
  auto parts = read_parts(*object);
  if (!parts) return {.custom_id = std::move(*id), .call = std::unexpected(std::move(parts.error()))};
  return {.custom_id = std::move(*id), .call = parse_body(std::move(*parts), line, defaults, engine, model)};
}

std::string batch_answer(std::uint64_t line, const std::optional<std::string>& custom_id, std::string_view body) {
  return begin_of(line, custom_id) +
         fmt::format("\"response\":{{\"status_code\":200,\"body\":{}}},\"error\":null}}\n", body);
}

std::string batch_error(std::uint64_t line, const std::optional<std::string>& custom_id, const ApiError& error) {
  std::string text = begin_of(line, custom_id);
  text += fmt::format("\"response\":{{\"status_code\":{},\"body\":{}}},\"error\":{{", error.status, error_body(error));
  append_json_field(text, "code", error.code.empty() ? "invalid_request" : error.code);
  text += ',';
  append_json_field(text, "message", to_valid_utf8(fmt::format("line {}: {}", line, error.message)));
  return text + "}}\n";
}

std::optional<std::uint64_t> line_of_answer(std::string_view text) {
  // An answer may be larger than what is taken as a line of requests.
  const auto object = parse_json_object(text, {.max_memory_bytes = std::size_t{1} << 30});
  if (!object || !object->contains("response")) return std::nullopt;
  JsonFields fields(*object);
  const auto line = fields.integer("line", 1, std::numeric_limits<std::int64_t>::max());
  if (!line) return std::nullopt;
  return static_cast<std::uint64_t>(*line);
}

}  // namespace octavo::cli

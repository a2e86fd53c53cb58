#include "cli/batch/batch_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <limits>
#include <utility>

#include "api/call/answer_length.h"
#include "api/call/api_error.h"
#include "api/openai/openai_chat.h"
#include "api/openai/openai_completion.h"
#include "base/error.h"
#include "base/utf8.h"
#include "json/json_cursor.h"
#include "json/json_document.h"
#include "json/json_writer.h"

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

/// Takes custom_id out of `object`. Error: it is no string, or too long.
ApiResult<std::optional<std::string>> take_id(json::object& object) {
  const JsonCursor given = JsonCursor(object)["custom_id"];
  OCTAVO_TRY(const auto id, to_api_result(given.string()));
  if (id && id->size() > kMaxIdBytes)
    return refused(given.error(fmt::format("found {} bytes, expected at most {}", id->size(), kMaxIdBytes)));
  std::optional<std::string> taken;
  if (id) taken.emplace(*id);
  object.erase("custom_id");
  return taken;
}

/// Reads a line in OpenAI's form.
ApiResult<Parts> read_envelope(json::object& object) {
  const JsonCursor given(object);
  OCTAVO_TRY(const auto method, to_api_result(given["method"].string()));
  OCTAVO_TRY(const auto url, to_api_result(given["url"].string()));
  if (method && *method != "POST") return refused(given["method"].wrong_value("\"POST\""));
  if (!url || (*url != kChatUrl && *url != kCompletionUrl))
    return refused(given["url"].wrong_value(fmt::format("{} or {}", kChatUrl, kCompletionUrl)));
  OCTAVO_TRY_VOID(to_api_result(given["body"].needed_object("an object with the request")));
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
                                     const ModelText& words, const ServedModel& model) {
  json::object& body = parts.body;
  if (const json::value* stream = body.if_contains("stream"); stream != nullptr && *stream == true)
    return std::unexpected(unsupported("stream", "stream: found true, expected none: answers come whole"));
  if (defaults.seed && !is_given(body, "seed")) body["seed"] = *defaults.seed + line;
  if (defaults.max_tokens > 0 &&
      std::ranges::none_of(kLengthNames, [&](std::string_view name) { return is_given(body, name); }))
    body["max_tokens"] = defaults.max_tokens;
  return parts.is_chat ? parse_chat_completion(body, words, model) : parse_completion(body, words, model);
}

/// Begins {"id":...,"line":...,"custom_id":...,"response":{"status_code":...,"body":...}; the error comes behind it.
JsonWriter begin_answer(std::uint64_t line, const std::optional<std::string>& custom_id, int status,
                        std::string_view body, std::string& out) {
  JsonWriter json(out);
  json.begin_object().fields("id", fmt::format("batch-req-{}", line), "line", line, "custom_id",
                             custom_id ? std::optional(to_valid_utf8(*custom_id)) : std::nullopt);
  json.key("response").object("status_code", status, "body", JsonText{body});
  return json;
}

}  // namespace

BatchCall parse_batch_line(std::string_view text, std::uint64_t line, const BatchDefaults& defaults,
                           const ModelText& words, const ServedModel& model) {
  auto object = parse_json_object(text, kLimits);
  if (!object) return {.call = std::unexpected(to_api_error(std::move(object.error())))};
  auto id = take_id(*object);
  if (!id) return {.call = std::unexpected(std::move(id.error()))};
  auto parts = read_parts(*object);
  if (!parts) return {.custom_id = std::move(*id), .call = std::unexpected(std::move(parts.error()))};
  return {.custom_id = std::move(*id), .call = parse_body(std::move(*parts), line, defaults, words, model)};
}

std::string batch_answer(std::uint64_t line, const std::optional<std::string>& custom_id, std::string_view body) {
  std::string out;
  begin_answer(line, custom_id, 200, body, out).fields("error", nullptr).end_object();
  return out + '\n';
}

std::string batch_error(std::uint64_t line, const std::optional<std::string>& custom_id, const ApiError& error) {
  std::string out;
  begin_answer(line, custom_id, error.status, error_body(error), out)
      .key("error")
      .object("code", error.code.empty() ? "invalid_request" : error.code, "message",
              to_valid_utf8(fmt::format("line {}: {}", line, error.message)))
      .end_object();
  return out + '\n';
}

std::optional<std::uint64_t> line_of_answer(std::string_view text) {
  // An answer may be larger than a line of requests may be.
  const auto object = parse_json_object(text, {.max_memory_bytes = std::size_t{1} << 30});
  if (!object || !object->contains("response")) return std::nullopt;
  const auto line = JsonCursor(*object)["line"].integer(1, std::numeric_limits<std::int64_t>::max());
  if (!line || !*line) return std::nullopt;
  return static_cast<std::uint64_t>(**line);
}

}  // namespace octavo::cli

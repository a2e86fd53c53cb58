// A request of `octavo run --batch` and its answer, each a line of JSON.
//
// A line is OpenAI's batch format, {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {...}},
// or the body alone with a custom_id in it. The body is what the server takes. Each line is answered by one:
// {"id": "batch-req-7", "line": 7, "custom_id": "a", "response": {"status_code": 200, "body": {...}}, "error": null}.
// Free functions without state; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/call/completion.h"

namespace octavo::cli {

inline constexpr std::size_t kMaxBatchLineBytes = std::size_t{16} << 20;

/// The settings of lines that do not give them, besides the model's sampling.
struct BatchDefaults {
  int max_tokens = 0;                      // 0: the server's default
  int reasoning_budget = -1;               // for chats; -1: any number of tokens
  bool closes_objects = true;              // see ConstraintSource
  std::optional<std::uint64_t> seed = {};  // the line's number is added to it; nothing: a random one for each line
};

struct BatchCall {
  std::optional<std::string> custom_id = {};
  ApiResult<CompletionCall> call;  // or the error of the line
};

/// Reads the request in line `line`.
BatchCall parse_batch_line(std::string_view text, std::uint64_t line, const BatchDefaults& defaults,
                           const ModelText& words, const ServedModel& model);

/// The line of an answer whose JSON is `body`, with its line break.
std::string batch_answer(std::uint64_t line, const std::optional<std::string>& custom_id, std::string_view body);
/// The line of a request that failed, with its line break.
std::string batch_error(std::uint64_t line, const std::optional<std::string>& custom_id, const ApiError& error);

/// The number of the line that was answered; nothing: `text` is no such answer.
std::optional<std::uint64_t> line_of_answer(std::string_view text);

}  // namespace octavo::cli

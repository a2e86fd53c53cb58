#include "api/call/answer_length.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/call/context_full.h"
#include "base/error.h"

namespace octavo {
namespace {

/// Request::max_tokens: -1 for none at all, 0 for as many as there is room for.
ApiResult<int> max_tokens_after(std::size_t prompt_tokens, const AnswerLength& length, int context,
                                const std::string& param) {
  const bool generates = length.asked != 0;
  const std::int64_t room = std::int64_t{context} - static_cast<std::int64_t>(prompt_tokens);
  if (room < (generates ? 1 : 0))
    return std::unexpected(
        context_overflow({.prompt_tokens = static_cast<std::int64_t>(prompt_tokens), .context = context}, param));
  if (!generates) return -1;
  return static_cast<int>(std::min(length.asked.value_or(length.otherwise), room));
}

}  // namespace

ApiResult<void> set_length(Request& request, std::size_t prompt_tokens, const AnswerLength& length, int context,
                           const std::string& param) {
  if (length.asked == 0 && request.num_choices > 1)
    return std::unexpected(
        invalid_value("n", fmt::format("n: found {}, expected 1 where {} is 0", request.num_choices, length.field)));
  OCTAVO_TRY(request.max_tokens, max_tokens_after(prompt_tokens, length, context, param));
  const int room = context - static_cast<int>(prompt_tokens);
  const int most = request.max_tokens == 0 ? room : std::max(0, request.max_tokens);
  if (request.min_tokens <= most) return {};
  return std::unexpected(invalid_value(
      "min_tokens",
      fmt::format("min_tokens: found {}, expected at most {}, where the answer ends", request.min_tokens, most)));
}

std::optional<std::string> cut_warning(const AnswerLength& length, int max_tokens, int context) {
  if (!length.asked || *length.asked <= std::max(0, max_tokens)) return std::nullopt;
  return fmt::format("{}: found {}, cut to {}: the context of {} tokens has no more room behind the prompt",
                     length.field, *length.asked, max_tokens, context);
}

}  // namespace octavo

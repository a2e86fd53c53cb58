// The parts that a completion's and a chat's JSON are read by; completion.h has the two entrances.
//
// Free functions without state; they run on any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "octavo/engine.h"
#include "server/api_error.h"
#include "server/completion.h"
#include "server/json_fields.h"

namespace octavo::server {

inline constexpr int kMaxAnswersOfCall = 1024;  // prompts times n
inline constexpr std::size_t kMaxStopTexts = 16;
inline constexpr std::size_t kMaxStopBytes = 1024;  // of one stop text
inline constexpr std::size_t kMaxStopTokens = 1024;
inline constexpr std::size_t kMaxLogitBias = 1024;
inline constexpr double kMaxDeadlineS = 86400;

/// Refuses a `model` that is not the one that is served.
void check_model(JsonFields& fields, const ServedModel& model);

/// Fields that OpenAI, vLLM or llama.cpp know and that ask for what Octavo cannot do: refused, unless their value asks
/// for nothing.
void refuse_unsupported(JsonFields& fields);

/// How tokens are drawn and where an answer ends: all of a Request but its prompt and max_tokens.
void read_sampling(JsonFields& fields, const ModelInfo& info, const ServedModel& model, Request& request);

/// One prompt of /v1/completions.
struct RawPrompt {
  std::vector<TokenId> tokens;
  std::optional<std::string> text;  // if it was given as text
};
/// `prompt` in each of its four forms: a text, ids, or an array of one of these. Texts are tokenized.
ApiResult<std::vector<RawPrompt>> read_prompts(const boost::json::object& body, const Engine& engine);

/// `messages`, with parts of text joined by line breaks.
ApiResult<std::vector<ChatMessage>> read_messages(const boost::json::object& body);

}  // namespace octavo::server

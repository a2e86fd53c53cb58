// The APIs by which completions are asked for: how each reads a body, writes an answer, and tells an error. All make
// the same CompletionCall.
//
// Free functions without state; parse_call() runs on a worker thread (it tokenizes), the others on the I/O thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/answer_writer.h"
#include "api/api_error.h"
#include "api/completion.h"
#include "api/response_store.h"
#include "octavo/engine.h"

namespace octavo {

enum class ChatApi : std::uint8_t {
  kOpenAiCompletion,  // /v1/completions
  kOpenAiChat,        // /v1/chat/completions
  kMessages,          // Anthropic's /v1/messages
  kResponses,         // OpenAI's /v1/responses
  kOllamaChat,        // /api/chat
  kOllamaGenerate,    // /api/generate
  kLlamaCompletion,   // llama.cpp's /completion
  kLlamaInfill,       // llama.cpp's /infill
};

/// `responses`: those that a call of kResponses may go on with, and where its own will be kept.
ApiResult<CompletionCall> parse_call(ChatApi api, boost::json::object body, const Engine& engine,
                                     const ServedModel& model, const OwnResponses& responses);

/// `call` outlives the writer, `engine` the last event that it is given. `id` is 16 hexadecimal digits that no other
/// call has; `created`, seconds since 1970.
std::unique_ptr<AnswerWriter> make_writer(ChatApi api, const CompletionCall& call, const Engine& engine,
                                          const ServedModel& model, std::string_view id, std::int64_t created);

}  // namespace octavo

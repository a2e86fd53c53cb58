#include "api/chat_api.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "api/image_placeholder.h"
#include "api/llama_answer.h"
#include "api/llama_request.h"
#include "api/messages_answer.h"
#include "api/messages_request.h"
#include "api/ollama_answer.h"
#include "api/ollama_request.h"
#include "api/openai_request.h"
#include "api/prepare.h"
#include "api/responses_answer.h"
#include "api/responses_request.h"
#include "base/error.h"

namespace octavo {
namespace {

ApiResult<ApiRequest> read(ChatApi api, const boost::json::object& body, const ApiContext& context) {
  switch (api) {
    case ChatApi::kOpenAiCompletion: return read_openai_completion(body, context);
    case ChatApi::kMessages: return read_messages(body, context);
    case ChatApi::kOllamaChat: return read_ollama_chat(body, context);
    case ChatApi::kOllamaGenerate: return read_ollama_generate(body, context);
    case ChatApi::kLlamaCompletion: return read_llama_completion(body, context);
    case ChatApi::kLlamaInfill: return read_llama_infill(body, context);
    case ChatApi::kOpenAiChat:
    case ChatApi::kResponses: break;
  }
  return read_openai_chat(body, context);
}

ApiResult<CompletionCall> parse(ChatApi api, const boost::json::object& body, const ApiContext& context) {
  if (api == ChatApi::kResponses) return parse_response_call(body, context);
  OCTAVO_TRY(ApiRequest request, read(api, body, context));
  return prepare(std::move(request), context.engine, context.model);
}

}  // namespace

ApiResult<CompletionCall> parse_call(ChatApi api, boost::json::object body, const Engine& engine,
                                     const ServedModel& model, const OwnResponses& responses) {
  const std::size_t num_images = model.image_placeholder.empty() ? 0 : replace_images(body, model.image_placeholder);
  OCTAVO_TRY(CompletionCall call, parse(api, body, {.engine = engine, .model = model, .responses = &responses}));
  if (num_images > 0)
    call.warnings.push_back(
        fmt::format("{} of the request's images are replaced by the text '{}': the model reads text", num_images,
                    model.image_placeholder));
  return call;
}

std::unique_ptr<AnswerWriter> make_writer(ChatApi api, const CompletionCall& call, const Engine& engine,
                                          const ServedModel& model, std::string_view id, std::int64_t created) {
  switch (api) {
    case ChatApi::kMessages: return std::make_unique<MessagesAnswer>(call, "msg_" + std::string(id), model.id);
    case ChatApi::kResponses: return std::make_unique<ResponsesAnswer>(call, engine, model.id, created);
    case ChatApi::kLlamaCompletion:
    case ChatApi::kLlamaInfill: return std::make_unique<LlamaAnswer>(call, std::string(id), model.id, engine);
    case ChatApi::kOllamaChat:
    case ChatApi::kOllamaGenerate:
      return std::make_unique<OllamaAnswer>(call, std::string(id), model.id, engine, api == ChatApi::kOllamaChat);
    default: break;
  }
  const std::string_view prefix = call.is_chat ? "chatcmpl-" : "cmpl-";
  return std::make_unique<CompletionResponse>(call, engine, model, std::string(prefix) + std::string(id), created);
}

}  // namespace octavo

#include "api/openai/openai_chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <utility>

#include "api/call/history_parts.h"
#include "api/call/template_names.h"
#include "api/call/tool_fields.h"
#include "api/fields/answer_fields.h"
#include "api/fields/constraint_fields.h"
#include "api/fields/conversation_fields.h"
#include "api/fields/draft_fields.h"
#include "api/fields/openai_messages.h"
#include "api/fields/resume_fields.h"
#include "api/fields/sampling_fields.h"
#include "api/prepare/prepare.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

void take_messages(FieldReader& reader, const ApiField& field) {
  auto history = history_of(reader);
  if (!history) return;
  auto messages = read_openai_messages(reader.at(field.path), *history);
  if (!messages) return reader.refuse(std::move(messages.error()));
  for (std::string& warning : history->warnings()) reader.request.warnings.push_back(std::move(warning));
  conversation_in(reader).messages = std::move(*messages);
}

void take_generation_prompt(FieldReader& reader, const ApiField& field) {
  const auto asked = reader.take(reader.at(field.path).boolean());
  if (asked) conversation_in(reader).options.add_generation_prompt = *asked;
}

void take_continuation(FieldReader& reader, const ApiField& field) {
  ChatTemplateOptions& options = conversation_in(reader).options;
  const JsonCursor given = reader.at(field.path);
  options.continue_final_message = reader.take(given.boolean()).value_or(false);
  if (options.continue_final_message && options.add_generation_prompt)
    reader.refuse(given.error(
        "found true beside add_generation_prompt true, expected one of them: set add_generation_prompt to false to go "
        "on with the last message"));
}

/// Takes the documents that a template for retrieval quotes. They are refused where the template has no place for them,
/// which would drop them without a word.
void take_documents(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const json::array* documents = reader.take(given.array("an array of documents (objects)"));
  if (documents == nullptr || documents->empty()) return;
  for (std::size_t i = 0; i < documents->size(); ++i)
    if (!(*documents)[i].is_object()) return reader.refuse(given[i].wrong_type("a document (an object)"));
  if (!reader.context.words.info().chat_template.contains("documents"))
    return reader.refuse(given.error("the model's chat template has no place for documents", "unsupported_parameter"));
  set_template_name(conversation_in(reader).options.names, field.path, template_value(*given.value()));
}

constexpr ApiField kToolRows[] = {
    field::array("functions", "", "OpenAI's first form of tools; the answer has that form, and one call at most",
                 field::take_functions),
    field::string_or_object("function_call", "\"auto\"", "the choice among `functions`", field::take_function_call),
    field::array("tools", "", "functions and custom tools that the answer may call", field::take_tools),
    field::string_or_object("tool_choice", "\"auto\"", "`auto`, `none`, `required`, or a tool by its name in an object",
                            field::take_tool_choice),
};

/// The fields of tools where a conversation is not answered: tools are only described.
constexpr ApiField kDescribedToolRows[] = {
    field::array("functions", "", "OpenAI's first form of tools", field::take_functions),
    field::array("tools", "", "functions and custom tools, as the template describes them",
                 field::take_described_tools),
};

constexpr ApiField kConversationRows[] = {
    field::needed(field::array(
        "messages", "", "what was said: objects with a role and content, and with calls of tools", take_messages)),
    field::boolean("add_generation_prompt", "true",
                   "the answer is a new message; false goes with `continue_final_message`", take_generation_prompt),
    field::boolean("continue_final_message", "false", "the answer goes on with the last message, as in vLLM",
                   take_continuation),
    field::array(
        "documents", "",
        "texts for the answer, objects such as `{\"title\": ..., \"text\": ...}`, which the chat template finds "
        "as `documents`; a 400 where it has no place for them",
        take_documents),
    field::effort("reasoning_effort"),
    field::kwargs(),
};

constexpr std::string_view kLimit = "the most tokens of the answer; -1 and -2: until the context is full";
constexpr ApiField kChatRows[] = {
    field::length("max_tokens", "the server's, else until the context is full", kLimit),
    field::length("max_completion_tokens", "as `max_tokens`",
                  "OpenAI's newer name of `max_tokens`; the smallest counts"),
    field::length("n_predict", "as `max_tokens`", "llama.cpp's name of `max_tokens`"),
    field::logprobs(),
    field::top_logprobs(),
    field::tokens_as_ids(),
    field::parallel_tool_calls(),
    field::refused(field::boolean("echo", "false", "a chat's messages are not echoed", field::refuse_switch)),
    field::refused("prompt_logprobs", "/v1/completions has them, of the text that /apply-template makes of a chat"),
    field::refused("suffix", "this server does not support text behind the answer of a chat"),
    field::refused("image_data", "pictures stand in the messages of a chat"),
};

ApiResult<ApiRequest> read_chat(const json::object& body, const ApiContext& context, ApiFields fields) {
  OCTAVO_TRY(ApiRequest request, read_request(chat_request_of(context.model, "messages"), body, context, fields));
  const JsonCursor given(body);
  std::get<Conversation>(request.prompt).options.describe_tools =
      !is_none(given["tool_choice"]) && !(request.tools.are_functions && is_none(given["function_call"]));
  return request;
}

}  // namespace

ApiFields openai_chat_fields() {
  static const std::array tables = {kModelFields,
                                    kStreamFields,
                                    kSamplingFields,
                                    kChoiceFields,
                                    kUnsupportedFields,
                                    kDraftFields,
                                    kResumeFields,
                                    kFormatFields,
                                    kConstraintFields,
                                    kGrammarFields,
                                    kReasoningFields,
                                    kThinkingFields,
                                    kThinkingObjectFields,
                                    kReasoningObjectFields,
                                    FieldTable(kChatRows),
                                    FieldTable(kToolRows),
                                    FieldTable(kConversationRows),
                                    kMessagePartFields,
                                    kToolPartFields,
                                    kFunctionPartFields,
                                    kPictureFields,
                                    kHintFields};
  return tables;
}

ApiResult<ApiRequest> read_openai_chat(const json::object& body, const ApiContext& context) {
  OCTAVO_TRY(ApiRequest request, read_chat(body, context, openai_chat_fields()));
  const ChatTemplateOptions& options = std::get<Conversation>(request.prompt).options;
  if (!options.add_generation_prompt && !options.continue_final_message)
    return std::unexpected(
        unsupported("add_generation_prompt",
                    "add_generation_prompt: found false without continue_final_message, expected true: an answer "
                    "begins as the assistant's, or goes on with its last message"));
  return request;
}

ApiFields openai_conversation_fields() {
  static const std::array tables = {kModelFields,
                                    kThinkingFields,
                                    kThinkingObjectFields,
                                    kReasoningObjectFields,
                                    FieldTable(kDescribedToolRows),
                                    FieldTable(kConversationRows),
                                    kMessagePartFields,
                                    kFunctionPartFields,
                                    kPictureFields};
  return tables;
}

ApiResult<ApiRequest> read_openai_conversation(const json::object& body, const ApiContext& context) {
  return read_chat(body, context, openai_conversation_fields());
}

ApiResult<CompletionCall> parse_chat_completion(const json::object& body, const ModelText& words,
                                                const ServedModel& model) {
  OCTAVO_TRY(ApiRequest request, read_openai_chat(body, {.words = words, .model = model}));
  return prepare(std::move(request), words, model);
}

}  // namespace octavo

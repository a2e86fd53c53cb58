#include "api/messages/messages_request.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "api/call/completion.h"
#include "api/call/history_parts.h"
#include "api/call/template_names.h"
#include "api/call/tool_fields.h"
#include "api/fields/answer_fields.h"
#include "api/fields/constraint_fields.h"
#include "api/fields/conversation_fields.h"
#include "api/fields/draft_fields.h"
#include "api/fields/response_format.h"
#include "api/fields/resume_fields.h"
#include "api/fields/sampling_fields.h"
#include "api/messages/messages_blocks.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

ApiResult<std::string_view> text_of(const JsonCursor& given) { return to_api_result(given.needed_string()); }

/// The type of a content block, a tool, or another object with a `type`.
ApiResult<std::string_view> type_of(const JsonCursor& typed) {
  OCTAVO_TRY_VOID(to_api_result(typed.needed_object("an object")));
  return text_of(typed["type"]);
}

/// Whether a tool is hidden until a result names it. A client's placeholder for all such tools is named by none.
ApiResult<bool> is_deferred(const JsonCursor& tool, const HistoryReader::Names& named) {
  OCTAVO_TRY(const auto asked, to_api_result(tool["defer_loading"].boolean()));
  const json::string* name = tool["name"].if_string();
  return asked.value_or(false) && name != nullptr && !named.contains(std::string_view(*name));
}

/// Reads the tools, except those that Anthropic's servers would run or that only its models know.
ApiResult<void> read_tools(const JsonCursor& offered, ApiRequest& request) {
  OCTAVO_TRY(const json::array* given, to_api_result(offered.array("an array of tools")));
  if (given == nullptr) return {};
  request.tools.are_given = true;
  for (std::size_t i = 0; i < given->size(); ++i) {
    const JsonCursor tool = offered[i];
    OCTAVO_TRY_VOID(to_api_result(tool.needed_object("a tool (an object)")));
    OCTAVO_TRY(const auto type, to_api_result(tool["type"].string()));
    if (type && *type != "custom") {
      request.warnings.push_back(
          fmt::format("{}: a tool of the type {} is left out: this server knows the client's own alone", tool.path(),
                      describe_json(json::value(*type))));
      continue;
    }
    OCTAVO_TRY(AskedTool read, read_function(tool, "input_schema"));
    OCTAVO_TRY(const bool waits, is_deferred(tool, request.tools.named));
    if (waits) continue;
    TemplateDict function{{"name", read.name}};
    for (const auto& [name, own] : {std::pair{"description", "description"}, std::pair{"parameters", "input_schema"},
                                    std::pair{"strict", "strict"}})
      if (const json::value* value = tool[own].value()) function.emplace_back(name, template_value(*value));
    read.described = described_as_function(std::move(function));
    request.tools.tools.push_back(std::move(read));
  }
  if (!request.tools.tools.empty()) request.tools.choice.mode = ToolChoice::Mode::kAuto;
  return {};
}

ApiResult<void> read_tool_choice(const JsonCursor& choice, AskedTools& tools) {
  if (!choice.is_given()) return {};
  OCTAVO_TRY(const std::string_view type, type_of(choice));
  OCTAVO_TRY(const auto is_single, to_api_result(choice["disable_parallel_tool_use"].boolean()));
  OCTAVO_TRY_VOID(to_api_result(choice["name"].string()));
  tools.is_single = is_single.value_or(false);
  if (type == "auto") return {};
  if (type == "none") {
    tools.choice.mode = ToolChoice::Mode::kNone;
    return {};
  }
  if (type != "any" && type != "tool")
    return refused(choice["type"].error(fmt::format("found '{}', expected auto, any, tool or none", type)));
  if (tools.tools.empty())
    return refused(choice["type"].error(fmt::format("found '{}' without tools, expected none or auto", type)));
  tools.choice.mode = ToolChoice::Mode::kRequired;
  if (type == "any") return {};
  OCTAVO_TRY(const std::string_view name, text_of(choice["name"]));
  return choose_tool(tools, name, choice["name"]);
}

/// Takes the messages. Where the last one is the assistant's, the answer continues it.
void take_messages(FieldReader& reader, const ApiField& field) {
  auto history = history_of(reader);
  if (!history) return;
  auto messages = read_block_messages(reader.at("system"), reader.at(field.path), *history);
  if (!messages) return reader.refuse(std::move(messages.error()));
  Conversation& made = conversation_in(reader);
  made.messages = std::move(*messages);
  const ChatMessage& last = made.messages.back();
  made.options.continue_final_message = last.role == "assistant" && last.tool_calls.empty();
  made.options.add_generation_prompt = !made.options.continue_final_message;
  reader.request.tools.named = history->named_tools();
  for (std::string& warning : history->warnings()) reader.request.warnings.push_back(std::move(warning));
}

/// Takes the tools. One that must be called is shown, even if it should be hidden until a result names it.
void take_tools(FieldReader& reader, const ApiField& field) {
  if (const json::string* chosen = reader.at("tool_choice.name").if_string())
    reader.request.tools.named.emplace(std::string_view(*chosen));
  reader.keep(read_tools(reader.at(field.path), reader.request));
}

void take_tool_choice(FieldReader& reader, const ApiField& field) {
  const JsonCursor choice = reader.at(field.path);
  reader.keep(read_tool_choice(choice, reader.request.tools));
  const json::value* type = choice.is_given() ? choice["type"].value() : nullptr;
  conversation_in(reader).options.describe_tools = type == nullptr || *type != "none";
}

/// Takes the form that the answer must have.
void take_format(FieldReader& reader, const ApiField& field) {
  read_format(reader, reader.at(field.path), {.schema_member = "schema", .is_strict = true});
}

void take_needed_length(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!given.is_given()) return reader.refuse(given.wrong_value("the most tokens of the answer"));
  field::take_length(reader, field);
}

constexpr ApiField kConversationRows[] = {
    field::model(),
    field::needed(field::array(
        "messages", "",
        "what was said: objects with a role and content, a text or blocks of `text`, `thinking`, `tool_use`, "
        "`tool_result` and others",
        take_messages)),
    field::string_or_array("system", "", "the system's text, or blocks of text, in front of the messages"),
    field::array("tools", "", "the client's own tools: a `name`, a `description` and an `input_schema`", take_tools),
    field::object("tool_choice", "{\"type\": \"auto\"}",
                  "`auto`, `any`, `tool` with a name, or `none`; and `disable_parallel_tool_use`", take_tool_choice),
    field::object("output_config", "", "how hard to think, and the answer's form"),
    field::effort("output_config.effort"),
    field::kwargs(),
};

constexpr std::string_view kRoles[] = {"user", "assistant", "system"};
constexpr std::string_view kChoices[] = {"auto", "any", "tool", "none"};

constexpr ApiField kPartRows[] = {
    field::needed(field::one_of("messages[].role", kRoles, "", "who says it")),
    field::string_or_array("messages[].content", "", "a text, or blocks; the newest message must have it"),
    field::needed(field::string("messages[].content[].type", "", "what the block has: any kind")),
    field::string("messages[].content[].text", "", "the text of a block of text"),
    field::object("messages[].content[].source", "",
                  "the picture of a block `image`, for a model that sees: the type `base64` and its `data`, or `url` "
                  "and its `url`"),
    field::string_or_array("messages[].content[].thinking", "", "the assistant's thinking"),
    field::string("messages[].content[].id", "", "the name of a call, for its result"),
    field::string("messages[].content[].name", "", "the tool that is called"),
    field::any("messages[].content[].input", "", "the arguments of a call: an object, or a text of any form"),
    field::string("messages[].content[].tool_use_id", "", "the call whose result the block has"),
    field::string_or_array("messages[].content[].content", "", "a result: a text, or blocks"),
    field::needed(field::string("system[].type", "", "a block of text")),
    field::needed(field::string("system[].text", "", "its text")),
    field::string("tools[].type", "custom", "tools of other types are left out, with a warning"),
    field::string("tools[].name", "", "a word of 1 to 256 bytes without brackets and quotes"),
    field::string("tools[].description", "", "what it does, for the model"),
    field::object("tools[].input_schema", "any object", "the JSON schema of its arguments"),
    field::boolean("tools[].strict", "false", "calls keep the schema exactly"),
    field::boolean("tools[].defer_loading", "false", "the model sees the tool once a `tool_reference` names it"),
    field::needed(field::one_of("tool_choice.type", kChoices, "", "whether a tool is called, and which")),
    field::string("tool_choice.name", "", "the tool that is called"),
    field::boolean("tool_choice.disable_parallel_tool_use", "false", "an answer has one call at most"),
    field::hint("metadata", "notes of the client's, such as `user_id`"),
    field::hint("service_tier", "there is one tier"),
};

constexpr std::string_view kLimit = "the most tokens of the answer; -1 and -2: until the context is full";
constexpr ApiField kLengthRows[] = {field::needed(field::length("max_tokens", "", kLimit, take_needed_length))};
constexpr ApiField kCountedLengthRows[] = {field::length("max_tokens", "none", "it changes no count")};

constexpr ApiField kAnswerRows[] = {
    field::temperature("temperature"),
    field::top_p("top_p"),
    field::top_k("top_k"),
    field::stop("stop_sequences", FieldForm::kStrings),
    field::stream(),
    field::tagged_events(),
    field::object("output_config.format", "", "the type `json_schema` and a `schema`, which the answer keeps strictly",
                  take_format),
    field::object("output_format", "", "an earlier name of `output_config.format`", take_format),
    field::cache_salt(),
    field::speculation(),
    field::seed("seed"),
    field::min_p("min_p"),
    field::repetition_penalty("repetition_penalty"),
};

/// All fields, those of the answer's length first.
auto fields_with(FieldTable lengths) {
  return std::array{lengths,        FieldTable(kAnswerRows),       kFormatFields,         kConstraintFields,
                    kGrammarFields, FieldTable(kConversationRows), kThinkingObjectFields, kThinkingFields,
                    kEffortFields,  kReasoningObjectFields,        FieldTable(kPartRows), kPictureFields,
                    kResumeFields};
}

ApiResult<ApiRequest> read(const json::object& body, const ApiContext& context, ApiFields fields) {
  return read_request(chat_request_of(context.model, "messages"), body, context, fields);
}

}  // namespace

ApiFields messages_fields() {
  static const auto tables = fields_with(kLengthRows);
  return tables;
}

ApiResult<ApiRequest> read_messages(const json::object& body, const ApiContext& context) {
  return read(body, context, messages_fields());
}

ApiFields counted_messages_fields() {
  static const auto tables = fields_with(kCountedLengthRows);
  return tables;
}

ApiResult<ApiRequest> read_counted_messages(const json::object& body, const ApiContext& context) {
  return read(body, context, counted_messages_fields());
}

}  // namespace octavo

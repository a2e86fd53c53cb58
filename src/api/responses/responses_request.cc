#include "api/responses/responses_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <memory>
#include <utility>

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
#include "api/prepare/prepare.h"
#include "api/responses/responses_items.h"
#include "api/responses/responses_tools.h"
#include "api/responses/stored_items.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/random_bytes.h"
#include "json/json_cursor.h"
#include "json/json_writer.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxMetadata = 16, kMaxMetadataKey = 64, kMaxMetadataValue = 512;  // OpenAI's bounds
constexpr std::size_t kIdBytes = 16;

std::string new_id() {
  std::array<unsigned char, kIdBytes> bytes{};
  fill_random(bytes);
  return std::string(kResponsePrefix) + hex_digits(std::as_bytes(std::span(bytes)));
}

constexpr std::string_view kAskedLogprobs = "message.output_text.logprobs";

/// Takes `include`. Log-probabilities are asked for by a name in it, or by a number of alternatives elsewhere.
void take_include(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const json::array* named = reader.take(given.array("an array"));
  for (std::size_t i = 0; named != nullptr && i < named->size() && !reader.failed(); ++i)
    if (reader.take(given[i].needed_string()) == kAskedLogprobs) reader.request.form.num_logprobs = 0;
}

void take_top_logprobs(FieldReader& reader, const ApiField& field) {
  const auto top = reader.take(reader.at(field.path).integer(0, kMaxTopLogprobs));
  int& num_logprobs = reader.request.form.num_logprobs;
  if (top && (*top > 0 || num_logprobs == 0)) num_logprobs = static_cast<int>(*top);
}

void take_metadata(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const json::object* metadata = reader.take(given.object());
  if (metadata == nullptr) return;
  const bool is_right =
      metadata->size() <= kMaxMetadata && std::ranges::all_of(*metadata, [](const json::key_value_pair& pair) {
        return pair.key().size() <= kMaxMetadataKey && pair.value().is_string() &&
               pair.value().get_string().size() <= kMaxMetadataValue;
      });
  if (!is_right)
    reader.refuse(given.error(fmt::format("expected at most {} names of at most {} bytes with strings of at most {}",
                                          kMaxMetadata, kMaxMetadataKey, kMaxMetadataValue)));
}

void take_format(FieldReader& reader, const ApiField& field) {
  read_format(reader, reader.at(field.path), {.schema_member = "schema"});
}

/// Takes nothing: tools and their choice are read after the items, which may have tools, too.
void leave_to_items(FieldReader&, const ApiField&) {}

void refuse_if_asked(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const json::array* array = given.if_array();
  if (given.is_given() && *given.value() != false && !(array != nullptr && array->empty()))
    reader.refuse(given.error(field.text, "unsupported_parameter"));
}

void take_context_management(FieldReader& reader, const ApiField& field) {
  if (reader.at(field.path).is_given())
    reader.request.warnings.push_back(fmt::format("{}: it is ignored: {}", field.path, field.text));
}

constexpr ApiField refused_row(std::string_view path, std::string_view why) {
  return field::refused(field::any(path, "", why, refuse_if_asked));
}

constexpr ApiField kConversationRows[] = {
    field::model(),
    field::needed(field::string_or_array(
        "input", "", "a text, or items: messages, calls and their outputs, reasoning, tools, references to items")),
    field::string("instructions", "", "the system's text", check_string),
    field::string("previous_response_id", "", "the response that this one goes on with", check_string),
    field::kwargs(),
    field::array("tools", "", "functions, custom tools and namespaces of them; others are left out, with a warning",
                 leave_to_items),
    field::string_or_object("tool_choice", "\"auto\"",
                            "`auto`, `none`, `required`, a tool in an object, or `allowed_tools`", leave_to_items),
    refused_row("conversation",
                "this server has no conversations with a name (previous_response_id goes on with a response)"),
    refused_row("prompt", "this server has no prompts that are stored"),
};

constexpr std::string_view kRoles[] = {"user", "assistant", "system", "developer"};
constexpr std::string_view kDetails[] = {"auto", "low", "high", "original"};

constexpr ApiField kPartRows[] = {
    field::string("input[].type", "`message` where there is a role, else `item_reference`", "the kind of item: any"),
    field::string("input[].id", "", "the item's name; of a reference, that of the item meant"),
    field::one_of("input[].role", kRoles, "", "who says a message"),
    field::string_or_array("input[].content", "", "of a message or reasoning: a text, or parts of one"),
    field::needed(field::string("input[].content[].type", "", "what the part has: any kind")),
    field::string("input[].content[].text", "", "a part's text"),
    field::string_or_object(
        "input[].content[].image_url", "",
        "of an `input_image`, for a model that sees: a data URL, base64, or an address that may be fetched from"),
    field::one_of("input[].content[].detail", kDetails, "auto",
                  "how many tokens a picture becomes: `low` at most 256, `high` as many as the model can use"),
    field::string("input[].content[].refusal", "", "an assistant's text, by another name"),
    field::string_or_array("input[].summary", "", "of reasoning without content: a text, or parts of one"),
    field::string("input[].call_id", "", "the name of a call, which its output has too"),
    field::string("input[].name", "", "the tool that is called"),
    field::string("input[].namespace", "", "the namespace of the tool"),
    field::any("input[].arguments", "", "the arguments of a function: a text, in JSON where the model wrote it whole"),
    field::string("input[].input", "", "the text for a custom tool"),
    field::any("input[].output", "",
               "of a call's output: a text, or parts as a message's; what is neither is shown as JSON"),
    field::any("input[].tools", "", "of `additional_tools`: tools as in `tools`"),
    field::string("tools[].type", "function",
                  "`function`, `custom` or `namespace`; others are left out, with a warning"),
    field::string("tools[].name", "", "a word of 1 to 256 bytes without brackets and quotes"),
    field::string("tools[].description", "", "what it does, for the model"),
    field::object("tools[].parameters", "any object", "the JSON schema of a function's arguments"),
    field::boolean("tools[].strict", "false", "calls keep the schema exactly"),
    field::object("tools[].format", "any text", "the form of a custom tool's text: `type`, `syntax`, `definition`"),
    field::array("tools[].tools", "", "the tools of a namespace"),
};

constexpr ApiField kAnswerRows[] = {
    field::stream(),
    field::tagged_events(),
    field::length("max_output_tokens", "the server's, else until the context is full",
                  "the most tokens of the answer; -1 and -2: until the context is full"),
    field::temperature("temperature"),
    field::top_p("top_p"),
    field::top_k("top_k"),
    field::min_p("min_p"),
    field::seed("seed"),
    field::repetition_penalty("repetition_penalty"),
    field::presence_penalty("presence_penalty"),
    field::frequency_penalty("frequency_penalty"),
    field::logit_bias("logit_bias"),
    field::stop("stop"),
    field::boolean("store", "true", "the response is kept, so that others can go on with it", check_boolean),
    field::strings("include", "",
                   "`message.output_text.logprobs` asks for log-probabilities; other names change nothing",
                   take_include),
    field::top_logprobs(take_top_logprobs),
    field::boolean("logprobs_after_mask", "false",
                   "log-probabilities of constrained tokens are those among the allowed ones",
                   into<&ApiRequest::settings, &Request::logprobs_after_mask>),
    field::budget("reasoning_budget", "the most tokens of reasoning, which is then closed; -1: any number"),
    field::parallel_tool_calls(),
    field::object("text.format", "{\"type\": \"text\"}",
                  "the form of the answer, as in `response_format`; `json_schema` has its `schema` in it", take_format),
    field::object("metadata", "", "at most 16 names with strings, which the response repeats", take_metadata),
    field::cache_salt(),
    field::speculation(),
    refused_row("background", "this server has no answers that are made while nobody waits"),
    field::ignored(
        field::any("context_management", "", "conversations are not made shorter here", take_context_management)),
    field::hint(field::integer("max_tool_calls", 0, field::kNoMax, "",
                               "the response repeats it: this server runs no tools", check_integer)),
    field::hint("prompt_cache_key", "the response repeats it: prompts are found cached without it"),
    field::hint("safety_identifier", "the response repeats it"),
    field::hint("user", "the response repeats it"),
};

/// The response's id: a new one, or the one that it had before it broke off. Error: that is none of a response.
ApiResult<std::string> id_of(const CompletionCall& call, const JsonCursor& given) {
  if (!call.resumption || call.resumption->id.empty()) return new_id();
  const std::string& id = call.resumption->id;
  const bool is_one = id.starts_with(kResponsePrefix) && id.size() == kResponsePrefix.size() + 2 * kIdBytes &&
                      id.find_first_not_of("0123456789abcdef", kResponsePrefix.size()) == std::string::npos;
  if (is_one) return id;
  return refused(given.wrong_value(fmt::format("{} and {} hexadecimal digits", kResponsePrefix, 2 * kIdBytes)));
}

/// A request, and what its response will keep of it.
struct ReadResponse {
  ApiRequest request = {};
  std::vector<ConversationItem> input = {};
  std::string previous_id = {};
};

ApiResult<ReadResponse> read_response(const json::object& body, const ApiContext& context, ApiFields fields) {
  ReadResponse read;
  OCTAVO_TRY(read.request, read_request(chat_request_of(context.model, "input"), body, context, fields));
  const JsonCursor given(body);
  OCTAVO_TRY(const auto previous_id, to_api_result(given["previous_response_id"].string()));
  OCTAVO_TRY(const auto instructions, to_api_result(given["instructions"].string()));
  read.previous_id = previous_id.value_or("");
  StoredItems stored(*context.responses);
  const FindItem find = [&](std::string_view id, const JsonCursor& named) { return stored.find(id, named); };
  const JsonCursor input = given["input"];
  OCTAVO_TRY(PictureReader pictures, PictureReader::create(given, context));
  HistoryReader history(std::move(pictures));
  OCTAVO_TRY(read.input, read_items(input, find, history));
  for (std::string& warning : history.warnings()) read.request.warnings.push_back(std::move(warning));
  OCTAVO_TRY(const auto items, stored.with_earlier(read.previous_id, read.input));
  const JsonCursor choice = given["tool_choice"];
  OCTAVO_TRY_VOID(read_response_tools(given["tools"], items, choice, read.request));
  auto& [messages, options] = std::get<Conversation>(read.request.prompt);
  options.describe_tools = !is_none(choice);
  OCTAVO_TRY(messages, messages_of_items(instructions.value_or(""), items, history.pictures()));
  if (messages.empty()) return refused(input.error("found no items, expected one at least"));
  return read;
}

std::vector<ResponseItem> items_with_ids(const std::vector<ConversationItem>& items, std::string_view response_id) {
  std::vector<ResponseItem> made;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].json != nullptr) {
      made.push_back({.id = std::string(items[i].value->at("id").as_string()), .json = items[i].json});
      continue;
    }
    json::object item = *items[i].value;
    if (!item.contains("id")) {
      const std::string_view type = item.at("type").as_string();
      const std::string_view kind = type == "message"            ? "msg"
                                    : type == "reasoning"        ? "rs"
                                    : type.starts_with("custom") ? "ctc"
                                                                 : "fc";
      item["id"] = response_item_id(kind, response_id, fmt::format("i{}", i));
    }
    made.push_back({.id = std::string(item.at("id").as_string()),
                    .json = std::make_shared<const std::string>(json::serialize(item))});
  }
  return made;
}

/// The members of the answer that repeat the request.
std::string echo_of(const json::object& body, std::string_view previous_id, const CompletionCall& call,
                    bool is_stored) {
  const auto given = [&body](std::string_view name, const json::value& otherwise) {
    const json::value* value = JsonCursor(body)[name].value();
    return value == nullptr ? otherwise : *value;
  };
  const SamplingParams& sampling = call.requests.front().sampling;
  std::string echo;
  JsonWriter writer(echo);
  const auto add = [&writer](std::string_view name, const json::value& value) {
    writer.fields(name, JsonText{json::serialize(value)});
  };
  for (const std::string_view name :
       {"instructions", "max_output_tokens", "max_tool_calls", "prompt_cache_key", "safety_identifier", "user"})
    add(name, given(name, nullptr));
  add("metadata", given("metadata", json::object()));
  add("parallel_tool_calls", given("parallel_tool_calls", true));
  add("previous_response_id", previous_id.empty() ? json::value(nullptr) : json::value(previous_id));
  add("reasoning", given("reasoning", {{"effort", nullptr}, {"summary", nullptr}}));
  add("store", is_stored);
  add("temperature", sampling.temperature);
  add("text", given("text", {{"format", {{"type", "text"}}}}));
  add("tool_choice", given("tool_choice", "auto"));
  add("tools", given("tools", json::array()));
  add("top_logprobs", std::max(0, call.num_logprobs));
  add("top_p", sampling.top_p);
  writer.fields("truncation", "disabled", "background", false, "service_tier", "default");
  return echo;
}

}  // namespace

std::string response_item_id(std::string_view kind, std::string_view response_id, std::string_view number) {
  if (response_id.starts_with(kResponsePrefix)) response_id.remove_prefix(kResponsePrefix.size());
  return fmt::format("{}_{}_{}", kind, response_id, number);
}

ApiFields responses_fields() {
  static const std::array tables = {
      FieldTable(kAnswerRows),       kFormatFields,          kConstraintFields, kGrammarFields,
      FieldTable(kConversationRows), kReasoningObjectFields, kThinkingFields,   kEffortFields,
      kThinkingObjectFields,         FieldTable(kPartRows),  kPictureFields,    kResumeFields};
  return tables;
}

ApiResult<ApiRequest> read_counted_response(const json::object& body, const ApiContext& context) {
  OCTAVO_TRY(ReadResponse read, read_response(body, context, responses_fields()));
  return std::move(read.request);
}

ApiResult<CompletionCall> parse_response_call(const json::object& body, const ApiContext& context) {
  OCTAVO_TRY(ReadResponse read, read_response(body, context, responses_fields()));
  OCTAVO_TRY(CompletionCall call, prepare(std::move(read.request), context.words, context.model));
  OCTAVO_TRY(const auto store, to_api_result(JsonCursor(body)["store"].boolean()));
  const bool is_kept = store.value_or(true) && context.responses->store->keeps_any();
  OCTAVO_TRY(std::string id, id_of(call, JsonCursor(body)["resume_from"]["id"]));
  ResponseCall made{
      .id = std::move(id), .previous_id = read.previous_id, .echo = echo_of(body, read.previous_id, call, is_kept)};
  if (is_kept) {
    made.input = items_with_ids(read.input, made.id);
    made.kept = *context.responses;
  }
  call.response = std::make_shared<const ResponseCall>(std::move(made));
  return call;
}

}  // namespace octavo

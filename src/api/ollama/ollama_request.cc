#include "api/ollama/ollama_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/call/completion.h"
#include "api/call/history_parts.h"
#include "api/call/template_names.h"
#include "api/call/tool_fields.h"
#include "api/fields/answer_fields.h"
#include "api/fields/constraint_fields.h"
#include "api/fields/conversation_fields.h"
#include "api/fields/draft_fields.h"
#include "api/fields/keep_alive.h"
#include "api/fields/openai_messages.h"
#include "api/fields/sampling_fields.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kLatest = ":latest";

void take_context_length(FieldReader& reader, const ApiField& field) {
  const int context = reader.context.words.info().max_context;
  const auto asked = reader.take(reader.at(field.path).integer_from(0));
  if (asked && *asked > context)
    reader.request.warnings.push_back(
        fmt::format("{}: found {}, but the context of this server has {} tokens; a prompt is never cut", field.path,
                    *asked, context));
}

/// Takes num_predict; 0 is no limit here.
void take_num_predict(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const auto asked = reader.take(given.integer_from(-2));
  if (!asked || *asked <= 0) return;
  reader.request.length.asked = asked;
  reader.request.length.field = field.path;
}

/// Takes the most drafted tokens. It comes after `speculation`, whose bound counts too.
void take_most_drafts(FieldReader& reader, const ApiField& field) {
  const auto most = reader.take(reader.at(field.path).integer_from(0));
  int& max_drafts = reader.request.settings.max_drafts;
  if (most) max_drafts = static_cast<int>(std::min<std::int64_t>(*most, max_drafts));
}

void refuse_images(FieldReader& reader, const JsonCursor& images) {
  const json::array* array = reader.take(images.array("an array of images"));
  if (array != nullptr && !array->empty())
    reader.refuse(images.error(
        fmt::format("found images ({}), expected none: this server reads text only; a model that sees does "
                    "so with --mmproj FILE",
                    array->size()),
        "unsupported_parameter"));
}

/// Refuses images beside a raw text or a gap: there is no message for them to be in.
void refuse_images_beside_text(FieldReader& reader, const JsonCursor& images) {
  const json::array* array = reader.take(images.array("an array of images"));
  if (array != nullptr && !array->empty())
    reader.refuse(images.error(fmt::format("found images ({}) beside raw or suffix, expected none", array->size()),
                               "unsupported_parameter"));
}

/// Puts the pictures before the message's text.
ApiResult<void> add_pictures(const JsonCursor& images, std::size_t count, PictureReader& pictures,
                             ChatMessage& message) {
  std::vector<ContentPart> parts;
  for (std::size_t i = 0; i < count; ++i) {
    OCTAVO_TRY(const std::string_view data, to_api_result(images[i].needed_string("base64")));
    OCTAVO_TRY(parts.emplace_back(), pictures.decode({.data = data, .place = images[i].path()}));
  }
  if (!message.content.empty()) parts.push_back({.text = std::exchange(message.content, {})});
  std::ranges::move(message.parts, std::back_inserter(parts));
  message.parts = std::move(parts);
  return {};
}

/// Adds the images beside a message's text: as pictures, or as notes where the model sees nothing.
ApiResult<void> add_images(const JsonCursor& images, PictureReader& pictures, ChatMessage& message) {
  OCTAVO_TRY(const json::array* array, to_api_result(images.array("an array of images")));
  if (array == nullptr || array->empty()) return {};
  if (pictures.sees()) return add_pictures(images, array->size(), pictures, message);
  if (!message.content.empty()) message.parts.push_back({.text = std::exchange(message.content, {})});
  message.parts.push_back({.text = unseen(array->size() == 1 ? "an image" : fmt::format("{} images", array->size()))});
  return {};
}

/// Takes the images of a body of /api/generate, whose message is made already.
void take_images(FieldReader& reader, const ApiField& field) {
  const JsonCursor images = reader.at(field.path);
  auto* conversation = std::get_if<Conversation>(&reader.request.prompt);
  if (!reader.context.words.info().vision.sees()) return refuse_images(reader, images);
  if (conversation == nullptr) return refuse_images_beside_text(reader, images);
  if (auto history = history_of(reader))
    reader.keep(add_images(images, history->pictures(), conversation->messages.back()));
}

/// Reads a call. Its arguments are an object; it has neither an id nor a type.
ApiResult<ToolCall> read_call(const JsonCursor& given, std::size_t index) {
  OCTAVO_TRY_VOID(to_api_result(given.needed_object("a call with a function")));
  const JsonCursor function = given["function"];
  OCTAVO_TRY_VOID(to_api_result(function.needed_object("a function (an object)")));
  OCTAVO_TRY(ToolCall call, read_called(function));
  call.id = fmt::format("call_{}", index);
  return call;
}

ApiResult<ChatMessage> read_message(FieldReader& reader, const JsonCursor& given, bool is_newest,
                                    HistoryReader& history) {
  OCTAVO_TRY_VOID(to_api_result(given.needed_object("a message (an object)")));
  if (is_newest && !history.pictures().sees()) refuse_images(reader, given["images"]);
  ChatMessage message;
  OCTAVO_TRY(message.role, read_role(given["role"]));
  OCTAVO_TRY_VOID(read_content(given["content"], is_newest, history, message));
  OCTAVO_TRY_VOID(add_images(given["images"], history.pictures(), message));
  OCTAVO_TRY_VOID(read_text(given["tool_name"], message.name));
  if (message.name.empty()) OCTAVO_TRY_VOID(read_text(given["name"], message.name));
  std::string thought;
  OCTAVO_TRY_VOID(read_text(given["thinking"], thought));
  if (!thought.empty()) message.reasoning = std::move(thought);
  if (message.role != "assistant") message.reasoning.clear();
  const JsonCursor calls = given["tool_calls"];
  OCTAVO_TRY(const std::size_t count, count_calls(calls, message.role));
  for (std::size_t i = 0; i < count; ++i) {
    OCTAVO_TRY(message.tool_calls.emplace_back(), read_call(calls[i], i));
  }
  return message;
}

void take_messages(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  const json::array* array = reader.take(given.array("an array of messages"));
  auto& messages = conversation_in(reader).messages;
  auto history = history_of(reader);
  if (!history) return;
  const std::size_t newest = array == nullptr ? 0 : newest_message(given, array->size());
  for (std::size_t i = 0; array != nullptr && i < array->size() && !reader.failed(); ++i) {
    auto message = read_message(reader, given[i], i == newest, *history);
    if (!message) return reader.refuse(std::move(message.error()));
    messages.push_back(std::move(*message));
  }
  for (std::string& warning : history->warnings()) reader.request.warnings.push_back(std::move(warning));
}

void refuse_template(FieldReader& reader, const ApiField& field) {
  const JsonCursor given = reader.at(field.path);
  if (!reader.take(given.string()).value_or("").empty())
    reader.refuse(given.error("this server takes none here", "unsupported_parameter"));
}

constexpr ApiField kCommonRows[] = {
    field::named_by_tag(),
    field::stream("true"),
    field::keep_alive(),
    field::cache_salt(),
    field::speculation(),
    field::min_p("min_p"),
    field::repetition_penalty("repetition_penalty"),
    field::logprobs(),
    field::top_logprobs(),
    field::object("options", "", "how the answer is drawn", check_object),
    field::temperature("options.temperature"),
    field::top_k("options.top_k"),
    field::top_p("options.top_p"),
    field::min_p("options.min_p"),
    field::typical_p("options.typical_p"),
    field::seed("seed"),
    field::seed("options.seed"),
    field::stop("options.stop"),
    field::repetition_penalty("options.repeat_penalty"),
    field::presence_penalty("options.presence_penalty"),
    field::frequency_penalty("options.frequency_penalty"),
    field::penalty_window("options.repeat_last_n"),
    field::mirostat("options.mirostat"),
    field::mirostat_tau("options.mirostat_tau"),
    field::mirostat_eta("options.mirostat_eta"),
    field::ignored("options.tfs_z", "there is no such sampler here", 1),
    field::integer("options.num_ctx", 0, field::kNoMax, "the server's",
                   "the context that is hoped for; beyond the server's a warning says so, and nothing else changes",
                   take_context_length),
    field::integer("options.num_predict", -2, field::kNoMax, "-1",
                   "the most tokens of the answer; 0, -1 and -2: until the context is full", take_num_predict),
    field::integer("options.draft_num_predict", 0, field::kNoMax, "16",
                   "the most tokens that are guessed ahead at a time; 0: none. The answer is the same",
                   take_most_drafts),
};

constexpr ApiField kChatRows[] = {
    field::array("messages", "none: the model is loaded",
                 "what was said: objects with a role and content, and with calls of tools", take_messages),
    field::array("tools", "", "functions that the answer may call", field::take_tools),
    field::kwargs(),
};

constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool", "function"};

constexpr ApiField kMessagePartRows[] = {
    field::needed(field::one_of("messages[].role", kRoles, "", "who says it")),
    field::string_or_array("messages[].content", "", "a text, or parts; the user's newest message must have it"),
    field::array("messages[].images", "",
                 "base64 of pictures, before the text, for a model that sees; another is told that there are some, "
                 "and in the user's newest message it is a 400"),
    field::string("messages[].thinking", "", "an assistant's thinking"),
    field::string("messages[].tool_name", "", "the function whose result the message of a tool has"),
    field::string("messages[].name", "", "a name for the template"),
    field::array("messages[].tool_calls", "", "an assistant's calls"),
    field::needed(field::object("messages[].tool_calls[].function", "", "the function that is called")),
    field::needed(field::string("messages[].tool_calls[].function.name", "", "its name")),
    field::any("messages[].tool_calls[].function.arguments", "", "an object, or a text of any form"),
};

constexpr ApiField kGenerateRows[] = {
    field::string("prompt", "none: the model is loaded", "what is asked, or with `raw` the text to go on with",
                  check_string),
    field::string("system", "", "the system's text", check_string),
    field::string("suffix", "", "the text behind the answer: the prompt is that of a gap", check_string),
    field::boolean("raw", "false", "the prompt is no message: no template is applied", check_boolean),
    field::array("images", "", "base64 of pictures, before the prompt, for a model that sees; else it is a 400",
                 take_images),
    field::refused(field::string("template", "", "this server takes none here", refuse_template)),
    field::refused("context", "send the conversation to /api/chat, its beginning is found cached"),
    field::kwargs(),
};

std::string_view text_at(const FieldReader& reader, std::string_view path) {
  const json::string* text = reader.at(path).if_string();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

/// Sets what a body of /api/generate continues: a message, a text, or a gap in a text.
void set_prompt(FieldReader& reader) {
  ApiRequest& request = reader.request;
  const std::string_view prompt = text_at(reader, "prompt"), suffix = text_at(reader, "suffix");
  const json::value* raw = reader.at("raw").value();
  if (!suffix.empty()) {
    request.prompt = Gap{.text = {.prefix = std::string(prompt), .suffix = std::string(suffix)}};
  } else if (raw != nullptr && *raw == true) {
    request.prompt = TextPrompts{.prompts = {prompt}};
  } else {
    Conversation& conversation = request.prompt.emplace<Conversation>();
    conversation.options.names = reader.context.model.policy.template_names;
    if (const std::string_view system = text_at(reader, "system"); !system.empty())
      conversation.messages.push_back({.role = "system", .content = std::string(system)});
    conversation.messages.push_back({.role = "user", .content = std::string(prompt)});
  }
}

}  // namespace

namespace field {

void take_named_model(FieldReader& reader, const ApiField& field) {
  const ServedModel& model = reader.context.model;
  const auto name = reader.take(reader.at(field.path).string());
  if (name && !model.answers_to(without_latest(*name))) reader.refuse(model_not_served(without_latest(*name), model));
}

void take_keep_alive(FieldReader& reader, const ApiField&) {
  const auto kept = keep_alive_of(reader.body);
  if (!kept) return reader.refuse(kept.error());
  reader.request.keep_alive = *kept;
}

}  // namespace field

std::string without_latest(std::string_view name) {
  return std::string(name.ends_with(kLatest) ? name.substr(0, name.size() - kLatest.size()) : name);
}

ApiFields ollama_chat_fields() {
  static const std::array tables = {FieldTable(kCommonRows), kFormatFields,
                                    kConstraintFields,       kGrammarFields,
                                    kThinkingFields,         kEffortFields,
                                    kThinkingObjectFields,   kReasoningObjectFields,
                                    FieldTable(kChatRows),   FieldTable(kMessagePartRows),
                                    kToolPartFields,         kPictureFields};
  return tables;
}

ApiResult<ApiRequest> read_ollama_chat(const json::object& body, const ApiContext& context) {
  ApiRequest asked = chat_request_of(context.model, "messages");
  asked.form.stream = true;
  OCTAVO_TRY(ApiRequest request, read_request(std::move(asked), body, context, ollama_chat_fields()));
  if (std::get<Conversation>(request.prompt).messages.empty()) request.prompt = NoPrompt();
  return request;
}

ApiFields ollama_generate_fields() {
  static const std::array tables = {FieldTable(kCommonRows), kFormatFields,          kConstraintFields,
                                    kGrammarFields,          kThinkingFields,        kEffortFields,
                                    kThinkingObjectFields,   kReasoningObjectFields, FieldTable(kGenerateRows),
                                    kPictureFields};
  return tables;
}

ApiResult<ApiRequest> read_ollama_generate(const json::object& body, const ApiContext& context) {
  ApiRequest request = request_of(context.model);
  request.form.stream = true;
  FieldReader reader(body, context, request);
  set_prompt(reader);
  reader.read(ollama_generate_fields());
  if (reader.failed()) return std::unexpected(*reader.error());
  if (text_at(reader, "prompt").empty()) request.prompt = NoPrompt();
  return request;
}

}  // namespace octavo

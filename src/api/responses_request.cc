#include "api/responses_request.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "api/chat_extensions.h"
#include "api/json_fields.h"
#include "api/own_field_names.h"
#include "api/responses_items.h"
#include "api/responses_tools.h"
#include "base/error.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxMetadata = 16, kMaxMetadataKey = 64, kMaxMetadataValue = 512;  // as OpenAI bounds them
constexpr std::size_t kIdBytes = 16;
constexpr std::string_view kIdPrefix = "resp_";

/// Fields that mean the same in a chat.
constexpr std::array<std::string_view, 12> kSameFields = {"model",
                                                          "stream",
                                                          "temperature",
                                                          "top_p",
                                                          "top_k",
                                                          "stop",
                                                          "presence_penalty",
                                                          "frequency_penalty",
                                                          "logit_bias",
                                                          "reasoning_budget",
                                                          "logprobs_after_mask",
                                                          "parallel_tool_calls"};

constexpr std::array<OwnFieldName, 6> kOwnNames = {{
    {.chat = "response_format.json_schema.schema", .own = "text.format.schema"},
    {.chat = "response_format", .own = "text.format"},
    {.chat = "messages", .own = "input"},
    {.chat = "max_tokens", .own = "max_output_tokens"},
    {.chat = "reasoning_effort", .own = "reasoning.effort"},
    {.chat = "chat_template_kwargs", .own = "reasoning"},
}};

/// Fields that ask for what the server does not do.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kUnsupported = {{
    {"background", "answers that are made while nobody waits"},
    {"conversation", "conversations with a name (previous_response_id goes on with a response)"},
    {"prompt", "prompts that are stored"},
}};

std::string new_id() {
  std::array<unsigned char, kIdBytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) throw std::runtime_error("no random bytes");
  std::string id(kIdPrefix);
  for (const unsigned char byte : bytes) fmt::format_to(std::back_inserter(id), "{:02x}", byte);
  return id;
}

/// The id of the response that the id of an item names; empty where it names none.
std::string response_of_item(std::string_view item_id) {
  const std::size_t begin = item_id.find('_') + 1, end = item_id.rfind('_');
  if (begin == 0 || end == std::string_view::npos || end <= begin) return {};
  return std::string(kIdPrefix) + std::string(item_id.substr(begin, end - begin));
}

/// The stored items that a request refers to. Each is read once, and counts as often as it is referred to.
class StoredItems {
 public:
  explicit StoredItems(const OwnResponses& responses) : responses_(responses), num_bytes_(responses.body_bytes) {}

  ConversationItem read(const ResponseItem& item) {
    const auto [known, is_new] = read_.try_emplace(item.json);
    if (is_new) known->second = std::make_shared<const json::object>(json::parse(*item.json).as_object());
    return {.value = known->second, .json = item.json};
  }

  ApiResult<ConversationItem> find(std::string_view id, const JsonCursor& named) {
    const ResponseItem* stored = stored_item(id);
    if (stored == nullptr) return std::unexpected(no_response(id, "input"));
    num_bytes_ += num_bytes_of(*stored);
    const std::uint64_t most = responses_.store->limits().max_request_bytes;
    if (num_bytes_ > most) return std::unexpected(refers_to_too_much(named.path(), num_bytes_, most));
    return read(*stored);
  }
  /// The responses of the conversation that the request goes on with.
  ApiResult<std::vector<ResponseStore::Response>> conversation(std::string_view previous_id) const {
    return responses_.store->conversation(responses_.owner, previous_id, num_bytes_);
  }

 private:
  struct Opened {
    ResponseStore::Response response;
    std::map<std::string_view, const ResponseItem*> items = {};  // by their ids
  };

  /// Null: there is none.
  const ResponseItem* stored_item(std::string_view id) {
    const auto [place, is_new] = opened_.try_emplace(response_of_item(id));
    Opened& opened = place->second;
    if (is_new) opened = open(place->first);
    const auto found = opened.items.find(id);
    return found == opened.items.end() ? nullptr : found->second;
  }
  Opened open(const std::string& id) const {
    Opened opened{.response = responses_.store->find(responses_.owner, id)};
    if (opened.response == nullptr) return opened;
    for (const std::vector<ResponseItem>* items : {&opened.response->output, &opened.response->input})
      for (const ResponseItem& item : *items) opened.items.try_emplace(item.id, &item);
    return opened;
  }

  const OwnResponses& responses_;
  std::map<std::string, Opened> opened_ = {};
  std::map<std::shared_ptr<const std::string>, std::shared_ptr<const json::object>> read_ = {};
  std::uint64_t num_bytes_;  // of the request's body and the items that were found
};

void refuse_what_is_not_done(JsonFields& fields) {
  for (const auto& [name, what] : kUnsupported) {
    const json::value* value = fields.find(name);
    const bool asks = value != nullptr && *value != false && !(value->is_array() && value->get_array().empty());
    if (asks) fields.refuse(unsupported(std::string(name), fmt::format("{}: this server has no {}", name, what)));
  }
}

/// Log-probabilities are asked for by a name in `include`, or by a number of alternatives.
void add_logprobs(JsonFields& fields, json::object& chat) {
  const std::int64_t top = fields.integer("top_logprobs", 0, kMaxTopLogprobs).value_or(0);
  const json::value* include = fields.find("include");
  const json::array* named = include == nullptr ? nullptr : include->if_array();
  if (include != nullptr && named == nullptr) return fields.refuse(invalid_type("include", "an array", *include));
  const bool is_named =
      named != nullptr && std::ranges::find(*named, json::value("message.output_text.logprobs")) != named->end();
  if (!is_named && top == 0) return;
  chat["logprobs"] = true;
  chat["top_logprobs"] = top;
}

void check_metadata(JsonFields& fields) {
  const json::object* metadata = fields.object("metadata");
  if (metadata == nullptr) return;
  const bool is_right =
      metadata->size() <= kMaxMetadata && std::ranges::all_of(*metadata, [](const json::key_value_pair& pair) {
        return pair.key().size() <= kMaxMetadataKey && pair.value().is_string() &&
               pair.value().get_string().size() <= kMaxMetadataValue;
      });
  if (!is_right)
    fields.refuse(
        invalid_value("metadata", fmt::format("metadata: expected at most {} names of at most {} bytes with strings of "
                                              "at most {}",
                                              kMaxMetadata, kMaxMetadataKey, kMaxMetadataValue)));
}

void add_reasoning(JsonFields& fields, json::object& chat) {
  json::object kwargs;
  if (const json::object* given = fields.object("chat_template_kwargs")) kwargs = *given;
  if (const auto effort = fields.take(fields["reasoning"]["effort"].string())) {
    chat["reasoning_effort"] = *effort;
    kwargs["enable_thinking"] = *effort != "none";
  }
  if (!kwargs.empty()) chat["chat_template_kwargs"] = std::move(kwargs);
}

void add_format(JsonFields& fields, json::object& chat) {
  const JsonCursor shape = fields["text"]["format"];
  const json::object* format = fields.take(shape.object());
  if (format == nullptr) return;
  const auto read = shape["type"].string();
  if (!read) return fields.refuse(read.error());
  const auto type = *read;
  if (type == "json_schema") {
    if (!format->contains("schema")) return fields.refuse(shape["schema"].wrong_value("a schema"));
    json::object schema;
    for (const std::string_view name : {"name", "schema", "strict"})
      if (const json::value* value = format->if_contains(name)) schema[name] = *value;
    chat["response_format"] = {{"type", "json_schema"}, {"json_schema", std::move(schema)}};
  } else if (type == "json_object") {
    chat["response_format"] = {{"type", "json_object"}};
  } else if (type != "text") {
    fields.refuse(shape["type"].wrong_value("text, json_schema or json_object"));
  }
}

/// The items of the conversation so far, and those of the body.
ApiResult<std::vector<ConversationItem>> all_items(std::string_view previous_id,
                                                   const std::vector<ConversationItem>& input, StoredItems& stored) {
  std::vector<ConversationItem> items;
  if (!previous_id.empty()) {
    OCTAVO_TRY(const auto earlier, stored.conversation(previous_id));
    for (const ResponseStore::Response& response : earlier)
      for (const std::vector<ResponseItem>* part : {&response->input, &response->output})
        for (const ResponseItem& item : *part) items.push_back(stored.read(item));
  }
  items.insert(items.end(), input.begin(), input.end());
  return items;
}

struct ReadBody {
  json::object chat = {};
  std::vector<ConversationItem> input = {};
  std::string previous_id = {};
  ResponseTools tools = {};
};

ApiResult<ReadBody> read_body(const json::object& body, const OwnResponses& responses) {
  ReadBody read;
  JsonFields fields(body);
  for (const std::string_view name : kSameFields)
    if (const json::value* value = fields.find(name)) read.chat[name] = *value;
  copy_chat_extensions(body, read.chat);
  refuse_what_is_not_done(fields);
  check_metadata(fields);
  if (const json::value* most = fields.find("max_output_tokens")) read.chat["max_tokens"] = *most;
  add_reasoning(fields, read.chat);
  add_format(fields, read.chat);
  add_logprobs(fields, read.chat);
  const std::string_view instructions = fields.string("instructions").value_or("");
  read.previous_id = fields.string("previous_response_id").value_or("");
  if (fields.failed()) return std::unexpected(*fields.error());
  OCTAVO_TRY(read.tools, add_response_tools(body, read.chat));
  if (fields.find("context_management") != nullptr)
    read.tools.warnings.emplace_back("context_management: it is ignored: conversations are not made shorter here");
  StoredItems stored(responses);
  const FindItem find = [&](std::string_view id, const JsonCursor& named) { return stored.find(id, named); };
  OCTAVO_TRY(read.input, read_items(fields["input"], find));
  OCTAVO_TRY(const auto items, all_items(read.previous_id, read.input, stored));
  json::array messages = messages_of_items(instructions, items);
  if (messages.empty()) return std::unexpected(invalid_value("input", "input: found no items, expected one at least"));
  read.chat["messages"] = std::move(messages);
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

/// A comma, the name and the value.
void append_member(std::string& out, std::string_view name, const json::value& value) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":{}", name, json::serialize(value));
}

std::string echo_of(const json::object& body, const ReadBody& read, const CompletionCall& call, bool is_stored) {
  const JsonFields fields(body);
  const auto given = [&fields](std::string_view name, const json::value& otherwise) {
    const json::value* value = fields.find(name);
    return value == nullptr ? otherwise : *value;
  };
  const SamplingParams& sampling = call.requests.front().sampling;
  std::string echo;
  for (const std::string_view name :
       {"instructions", "max_output_tokens", "max_tool_calls", "prompt_cache_key", "safety_identifier", "user"})
    append_member(echo, name, given(name, nullptr));
  append_member(echo, "metadata", given("metadata", json::object()));
  append_member(echo, "parallel_tool_calls", given("parallel_tool_calls", true));
  append_member(echo, "previous_response_id",
                read.previous_id.empty() ? json::value(nullptr) : json::value(read.previous_id));
  append_member(echo, "reasoning", given("reasoning", {{"effort", nullptr}, {"summary", nullptr}}));
  append_member(echo, "store", is_stored);
  append_member(echo, "temperature", sampling.temperature);
  append_member(echo, "text", given("text", {{"format", {{"type", "text"}}}}));
  append_member(echo, "tool_choice", given("tool_choice", "auto"));
  append_member(echo, "tools", given("tools", json::array()));
  append_member(echo, "top_logprobs", std::max(0, call.num_logprobs));
  append_member(echo, "top_p", sampling.top_p);
  echo += R"(,"truncation":"disabled","background":false,"service_tier":"default")";
  return echo;
}

}  // namespace

std::string response_item_id(std::string_view kind, std::string_view response_id, std::string_view number) {
  if (response_id.starts_with(kIdPrefix)) response_id.remove_prefix(kIdPrefix.size());
  return fmt::format("{}_{}_{}", kind, response_id, number);
}

ApiResult<json::object> chat_of_response(const json::object& body, const OwnResponses& responses) {
  OCTAVO_TRY(ReadBody read, read_body(body, responses));
  return std::move(read.chat);
}

ApiResult<CompletionCall> parse_response_call(const json::object& body, const Engine& engine, const ServedModel& model,
                                              const OwnResponses& responses) {
  JsonFields fields(body);
  const bool is_asked_to_keep = fields.boolean("store", true);
  if (fields.failed()) return std::unexpected(*fields.error());
  OCTAVO_TRY(ReadBody read, read_body(body, responses));
  ApiResult<CompletionCall> call = parse_chat_completion(read.chat, engine, model, std::move(read.tools.client_tools));
  if (!call) return std::unexpected(with_own_names(std::move(call.error()), kOwnNames));
  call->own_names = kOwnNames;
  call->warnings = with_own_names(std::move(call->warnings), kOwnNames);
  call->warnings.insert(call->warnings.begin(), read.tools.warnings.begin(), read.tools.warnings.end());
  const bool is_kept = is_asked_to_keep && responses.store->keeps_any();
  ResponseCall made{.id = new_id(), .previous_id = read.previous_id, .echo = echo_of(body, read, *call, is_kept)};
  if (is_kept) {
    made.input = items_with_ids(read.input, made.id);
    made.kept = responses;
  }
  call->response = std::make_shared<const ResponseCall>(std::move(made));
  return call;
}

}  // namespace octavo

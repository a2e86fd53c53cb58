#include "cli/conversation_file.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "api/json_fields.h"
#include "base/file_writing.h"
#include "base/to_size.h"
#include "base/utf8.h"
#include "json/json_document.h"

namespace octavo::cli {
namespace {

namespace json = boost::json;

constexpr std::string_view kMarkField = "octavo_conversation";
constexpr std::string_view kFirstBytes = R"({"octavo_conversation":)";
constexpr std::size_t kMaxAnswerTokens = std::size_t{1} << 20;
constexpr JsonLimits kLimits{
    .max_depth = 4, .max_members = 64, .max_table_members = 256, .max_memory_bytes = 8 * kMaxConversationBytes};

Result<std::vector<TokenId>> read_tokens(const json::value& value, const std::string& path) {
  const json::array* array = value.if_array();
  if (array == nullptr || array->size() > kMaxAnswerTokens)
    return fail("{}.tokens: found {}, expected an array of at most {} token ids", path, describe_json(value),
                kMaxAnswerTokens);
  std::vector<TokenId> tokens;
  tokens.reserve(array->size());
  for (const json::value& element : *array) {
    const auto id = as_integer(element);
    if (!id || *id < 0 || *id > std::numeric_limits<TokenId>::max())
      return fail("{}.tokens[{}]: found {}, expected a token id", path, tokens.size(), describe_json(element));
    tokens.push_back(static_cast<TokenId>(*id));
  }
  return tokens;
}

/// Takes a message as the next of `saved`. `expected`: its role.
Result<void> add_message(const json::value& value, std::string_view expected, const std::string& path,
                         SavedConversation& saved) {
  const json::object* object = value.if_object();
  if (object == nullptr) return fail("{}: found {}, expected a message", path, describe_json(value));
  JsonFields fields(*object, path);
  const auto role = fields.string("role");
  const auto content = fields.string("content");
  const auto reasoning = fields.string("reasoning_content");
  if (fields.failed()) return fail("{}", fields.error()->message);
  if (role != expected)
    return fail("{}.role: found {}, expected {}", path, role ? describe_json(json::value(*role)) : "none", expected);
  if (!content) return fail("{}.content: found none, expected a text", path);
  if (expected == "system") {
    saved.system = *content;
  } else if (expected == "user") {
    saved.turns.push_back({.question = std::string(*content)});
  } else {
    ChatTurn& turn = saved.turns.back();
    turn.is_answered = true;
    turn.answer = *content;
    turn.reasoning = reasoning.value_or("");
    if (const json::value* tokens = fields.find("tokens")) {
      OCTAVO_TRY(turn.drawn, read_tokens(*tokens, path));
    }
  }
  return {};
}

std::string_view without_first_space(std::string_view text) { return text.starts_with(' ') ? text.substr(1) : text; }

bool spells(const Engine& engine, const std::vector<TokenId>& tokens, const ChatTurn& turn) {
  const int num_tokens = engine.info().num_tokens;
  if (std::ranges::any_of(tokens, [num_tokens](TokenId token) { return token >= num_tokens; })) return false;
  const std::string spelled = to_valid_utf8(engine.detokenize(tokens));
  if (!turn.reasoning.empty()) return spelled.ends_with(turn.answer) && spelled.contains(turn.reasoning);
  return without_first_space(spelled) == without_first_space(turn.answer);
}

Result<std::string> read_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return fail("{}: is a directory, expected a file", path.string());
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("{}: cannot open: {}", path.string(), std::strerror(errno));
  std::string text(kMaxConversationBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return fail("{}: cannot read: {}", path.string(), std::strerror(errno));
  text.resize(to_size(file.gcount()));
  if (text.size() > kMaxConversationBytes)
    return fail("{}: found more than {} bytes, expected at most so many", path.string(), kMaxConversationBytes);
  return text;
}

/// Error: a file is there that has no conversation.
Result<void> check_replaceable(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return {};
  if (error) return fail("{}: cannot look at it: {}", path.string(), error.message());
  std::string begin(kFirstBytes.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  if (status.type() == std::filesystem::file_type::regular &&
      file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kFirstBytes)
    return {};
  return fail("{}: is there and has no saved conversation; name another file", path.string());
}

}  // namespace

Result<SavedConversation> parse_conversation(std::string_view text) {
  const auto object = parse_json_object(text, kLimits);
  if (!object) return fail("{}", object.error().message);
  JsonFields fields(*object);
  const auto version = fields.integer(kMarkField, 1, 1);
  if (fields.failed()) return fail("{}", fields.error()->message);
  if (!version) return fail("found no field {}, expected a saved conversation", kMarkField);
  const json::value* messages = fields.find("messages");
  const json::array* array = messages == nullptr ? nullptr : messages->if_array();
  if (array == nullptr || array->size() > kMaxConversationMessages)
    return fail("messages: found {}, expected an array of at most {} messages",
                messages == nullptr ? "none" : describe_json(*messages), kMaxConversationMessages);
  SavedConversation saved;
  std::string_view expected = "user";
  for (std::size_t i = 0; i < array->size(); ++i) {
    const json::object* message = (*array)[i].if_object();
    const json::value* role = message == nullptr ? nullptr : message->if_contains("role");
    const bool is_system = i == 0 && role != nullptr && *role == "system";
    OCTAVO_TRY_VOID(add_message((*array)[i], is_system ? "system" : expected, fmt::format("messages[{}]", i), saved));
    if (!is_system) expected = expected == "user" ? "assistant" : "user";
  }
  if (expected == "assistant") return fail("messages: found a question at the end, expected its answer");
  return saved;
}

std::string conversation_to_json(const Conversation& conversation, std::string_view model) {
  json::array messages;
  if (!conversation.system().empty())
    messages.push_back({{"role", "system"}, {"content", to_valid_utf8(conversation.system())}});
  for (const ChatTurn& turn : conversation.turns()) {
    if (!turn.is_answered) continue;
    messages.push_back({{"role", "user"}, {"content", to_valid_utf8(turn.question)}});
    json::object answer{{"role", "assistant"}, {"content", to_valid_utf8(turn.answer)}};
    if (!turn.reasoning.empty()) answer["reasoning_content"] = to_valid_utf8(turn.reasoning);
    if (turn.drawn) answer["tokens"] = json::array(turn.drawn->begin(), turn.drawn->end());
    messages.push_back(std::move(answer));
  }
  const json::object object{{kMarkField, 1}, {"model", to_valid_utf8(model)}, {"messages", std::move(messages)}};
  return json::serialize(object) + '\n';
}

Result<SavedConversation> load_conversation(const std::filesystem::path& path, const Engine& engine) {
  OCTAVO_TRY(const std::string text, read_file(path));
  Result<SavedConversation> saved = parse_conversation(text);
  if (!saved) return fail("{}: {}", path.string(), saved.error().message);
  for (ChatTurn& turn : saved->turns)
    if (turn.drawn && !spells(engine, *turn.drawn, turn)) turn.drawn.reset();
  return saved;
}

Result<void> save_conversation(const std::filesystem::path& path, const Conversation& conversation,
                               std::string_view model) {
  OCTAVO_TRY_VOID(check_replaceable(path));
  const std::string text = conversation_to_json(conversation, model);
  if (text.size() > kMaxConversationBytes || 2 * conversation.turns().size() + 1 > kMaxConversationMessages)
    return fail("the conversation has {} bytes and {} turns, more than /load takes", text.size(),
                conversation.turns().size());
  return replace_file(path, std::as_bytes(std::span(text)));
}

}  // namespace octavo::cli

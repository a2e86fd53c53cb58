#include "cli/chat/conversation_file.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/file_writing.h"
#include "base/to_size.h"
#include "base/utf8.h"
#include "json/json_cursor.h"
#include "json/json_document.h"
#include "tokenizer/json/base64.h"

namespace octavo::cli {
namespace {

namespace json = boost::json;

constexpr std::string_view kMarkField = "octavo_conversation";
constexpr std::string_view kFirstBytes = R"({"octavo_conversation":)";
constexpr std::size_t kMaxAnswerTokens = std::size_t{1} << 20;
constexpr JsonLimits kLimits{
    .max_depth = 4, .max_members = 64, .max_table_members = 256, .max_memory_bytes = 8 * kMaxConversationBytes};

JsonResult<std::vector<TokenId>> read_tokens(const JsonCursor& given) {
  const std::string expected = fmt::format("an array of at most {} token ids", kMaxAnswerTokens);
  OCTAVO_TRY(const json::array* array, given.array(expected));
  if (array->size() > kMaxAnswerTokens) return std::unexpected(given.wrong_value(expected));
  std::vector<TokenId> tokens;
  tokens.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    const auto id = as_integer((*array)[i]);
    if (!id || *id < 0 || *id > std::numeric_limits<TokenId>::max())
      return std::unexpected(given[i].wrong_type("a token id"));
    tokens.push_back(static_cast<TokenId>(*id));
  }
  return tokens;
}

JsonResult<std::vector<PictureInput>> read_pictures(const JsonCursor& given) {
  OCTAVO_TRY(const json::array* array, given.array("an array of pictures"));
  std::vector<PictureInput> pictures;
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    OCTAVO_TRY(const auto text, given[i].needed_string("base64"));
    auto bytes = decode_base64(text);
    if (!bytes) return std::unexpected(given[i].wrong("a text that is none", "base64"));
    pictures.push_back({.bytes = std::make_shared<const std::string>(std::move(*bytes)), .place = given[i].path()});
  }
  return pictures;
}

/// Adds a message to `saved`. `expected`: the role that it must have.
JsonResult<void> add_message(const JsonCursor& given, std::string_view expected, SavedConversation& saved) {
  OCTAVO_TRY_VOID(given.needed_object("a message"));
  OCTAVO_TRY(const auto role, given["role"].needed_string(expected));
  OCTAVO_TRY(const auto content, given["content"].needed_string("a text"));
  OCTAVO_TRY(const auto reasoning, given["reasoning_content"].string());
  if (role != expected) return std::unexpected(given["role"].wrong_value(expected));
  if (expected == "system") {
    saved.system = content;
  } else if (expected == "user") {
    OCTAVO_TRY(auto pictures, read_pictures(given["images"]));
    saved.turns.push_back({.question = std::string(content), .pictures = std::move(pictures)});
  } else {
    ChatTurn& turn = saved.turns.back();
    turn.is_answered = true;
    turn.answer = content;
    turn.reasoning = reasoning.value_or("");
    if (const JsonCursor tokens = given["tokens"]; tokens.is_given()) {
      OCTAVO_TRY(turn.drawn, read_tokens(tokens));
    }
  }
  return {};
}

JsonResult<SavedConversation> read_conversation(const JsonCursor& whole) {
  OCTAVO_TRY(const auto version, whole[kMarkField].integer(1, 1));
  if (!version)
    return std::unexpected(
        JsonError{.message = fmt::format("found no field {}, expected a saved conversation", kMarkField)});
  const std::string several = fmt::format("an array of at most {} messages", kMaxConversationMessages);
  const JsonCursor messages = whole["messages"];
  OCTAVO_TRY(const json::array* array, messages.array(several));
  if (array == nullptr || array->size() > kMaxConversationMessages)
    return std::unexpected(messages.wrong_value(several));
  SavedConversation saved;
  std::string_view expected = "user";
  for (std::size_t i = 0; i < array->size(); ++i) {
    const JsonCursor message = messages[i];
    const json::string* role = message["role"].if_string();
    const bool is_system = i == 0 && role != nullptr && *role == "system";
    OCTAVO_TRY_VOID(add_message(message, is_system ? "system" : expected, saved));
    if (!is_system) expected = expected == "user" ? "assistant" : "user";
  }
  if (expected == "assistant")
    return std::unexpected(messages.error("found a question at the end, expected its answer"));
  return saved;
}

std::string_view without_first_space(std::string_view text) { return text.starts_with(' ') ? text.substr(1) : text; }

bool spells(const ModelText& words, const std::vector<TokenId>& tokens, const ChatTurn& turn) {
  const int num_tokens = words.info().num_tokens;
  if (std::ranges::any_of(tokens, [num_tokens](TokenId token) { return token >= num_tokens; })) return false;
  const std::string spelled = to_valid_utf8(words.detokenize(tokens));
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

/// Error: the file exists and is no conversation.
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
  auto saved = read_conversation(JsonCursor(*object));
  if (!saved) return fail("{}", saved.error().message);
  return std::move(*saved);
}

std::string conversation_to_json(const Conversation& conversation, std::string_view model) {
  json::array messages;
  if (!conversation.system().empty())
    messages.push_back({{"role", "system"}, {"content", to_valid_utf8(conversation.system())}});
  for (const ChatTurn& turn : conversation.turns()) {
    if (!turn.is_answered) continue;
    json::object question{{"role", "user"}, {"content", to_valid_utf8(turn.question)}};
    for (const PictureInput& picture : turn.pictures) {
      if (!question.contains("images")) question["images"] = json::array();
      question["images"].get_array().emplace_back(encode_base64(*picture.bytes));
    }
    messages.push_back(std::move(question));
    json::object answer{{"role", "assistant"}, {"content", to_valid_utf8(turn.answer)}};
    if (!turn.reasoning.empty()) answer["reasoning_content"] = to_valid_utf8(turn.reasoning);
    if (turn.drawn) answer["tokens"] = json::array(turn.drawn->begin(), turn.drawn->end());
    messages.push_back(std::move(answer));
  }
  const json::object object{{kMarkField, 1}, {"model", to_valid_utf8(model)}, {"messages", std::move(messages)}};
  return json::serialize(object) + '\n';
}

Result<SavedConversation> load_conversation(const std::filesystem::path& path, const ModelText& words) {
  OCTAVO_TRY(const std::string text, read_file(path));
  Result<SavedConversation> saved = parse_conversation(text);
  if (!saved) return fail("{}: {}", path.string(), saved.error().message);
  for (ChatTurn& turn : saved->turns)
    if (turn.drawn && !spells(words, *turn.drawn, turn)) turn.drawn.reset();
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

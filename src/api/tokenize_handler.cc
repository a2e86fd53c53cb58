#include "api/tokenize_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <vector>

#include "api/call/context_full.h"
#include "api/call/picture_errors.h"
#include "api/call/token_ids.h"
#include "api/fields/image_placeholder.h"
#include "api/openai/openai_chat.h"
#include "api/request_text.h"
#include "api/responses/responses_request.h"
#include "base/error.h"
#include "base/text.h"
#include "base/to_size.h"
#include "base/utf8.h"
#include "json/json_cursor.h"
#include "json/json_writer.h"

namespace octavo {
namespace {

constexpr std::size_t kMaxTokens = std::size_t{1} << 20;
constexpr std::size_t kPieceTokens = 4096;  // how many tokens become text at once

ApiError not_counted(const Error& error, const std::string& param, std::size_t most) {
  if (error.kind != ErrorKind::kContextOverflow) return to_api_error(error);
  return invalid_value(param, fmt::format("{}: found more than {} tokens, expected at most as many", param, most));
}

/// The tokens of a conversation.
ApiResult<std::vector<TokenId>> tokens_of(ApiResult<ApiRequest> read, const ModelText& words) {
  if (!read) return std::unexpected(std::move(read.error()));
  const std::size_t most = std::max(kMaxCountedTokens, to_size(words.info().max_context));
  Conversation conversation = conversation_of(*read);
  conversation.options.max_tokens = most;
  conversation.options.decodes_pictures = false;
  auto tokens = words.apply_chat_template(conversation.messages, conversation.options);
  if (tokens) return std::move(*tokens);
  if (is_of_picture(tokens.error()))
    return std::unexpected(picture_error(tokens.error(), conversation.messages, read->prompt_field));
  if (tokens.error().kind != ErrorKind::kContextOverflow) return std::unexpected(to_api_error(tokens.error()));
  const ContextFull full{
      .prompt_tokens = static_cast<std::int64_t>(most) + 1, .context = words.info().max_context, .is_counted = false};
  return std::unexpected(context_overflow(full, read->prompt_field));
}

ApiResult<std::vector<TokenId>> tokens_of_text(const boost::json::object& body, const ModelText& words) {
  const JsonCursor given(body);
  const std::size_t most = std::max(kMaxCountedTokens, to_size(words.info().max_context));
  // vLLM's names, and llama.cpp's, for which BOS must be asked for.
  OCTAVO_TRY(const auto content, to_api_result(given["content"].string()));
  OCTAVO_TRY(const auto prompt, to_api_result(given["prompt"].string()));
  const bool is_llama = content && !prompt;
  const auto& text = is_llama ? content : prompt;
  OCTAVO_TRY(const auto adds, to_api_result(given[is_llama ? "add_special" : "add_special_tokens"].boolean()));
  OCTAVO_TRY(const auto parses, to_api_result(given["parse_special"].boolean()));
  if (!text)
    return std::unexpected(invalid_value("prompt", "expected 'prompt' or 'content' (a string), 'messages' or 'input'"));
  auto tokens = words.tokenize(*text, {.add_special = adds.value_or(!is_llama),
                                       .parse_special = !is_llama || parses.value_or(true),
                                       .max_tokens = most});
  if (!tokens) return std::unexpected(not_counted(tokens.error(), is_llama ? "content" : "prompt", most));
  return std::move(*tokens);
}

ApiResult<std::vector<TokenId>> read_ids(const boost::json::object& body, const ModelText& words) {
  const JsonCursor given = JsonCursor(body)["tokens"];
  OCTAVO_TRY(const boost::json::array* list, to_api_result(given.array("an array of token ids")));
  if (list == nullptr) return refused(given.wrong_value("an array of token ids"));
  if (list->size() > kMaxTokens)
    return refused(given.error(fmt::format("found {} tokens, expected at most {}", list->size(), kMaxTokens)));
  return read_token_ids(given, *list, words.info().num_tokens, "invalid_value");
}

/// Where the last character of some bytes begins, if it is incomplete; else the number of bytes.
std::size_t whole_characters(std::string_view bytes) {
  for (std::size_t length = 1; length <= std::min<std::size_t>(3, bytes.size()); ++length) {
    const std::string_view tail = bytes.substr(bytes.size() - length);
    if (utf8_announced_length(tail.front()) > length && next_utf8_step(tail).kind == Utf8Step::Kind::kIncomplete)
      return bytes.size() - length;
  }
  return bytes.size();
}

/// The text of `count` tokens from `begin` on. It depends on the token before them.
std::string text_of_some(std::span<const TokenId> tokens, std::size_t begin, std::size_t count,
                         const ModelText& words) {
  const std::size_t before = begin > 0 ? 1 : 0;
  const std::string text = words.detokenize(tokens.subspan(begin - before, count + before));
  return text.substr(words.detokenize(tokens.subspan(begin - before, before)).size());
}

/// Writes the text of tokens piece by piece, as a few million ids may be a text of many times the size that an answer
/// may have. `has_both_names`: vLLM's `prompt`, and llama.cpp's `content` with the same text.
ApiResult<std::string> detokenize(std::span<const TokenId> tokens, bool has_both_names, const ModelText& words,
                                  BufferedAnswer& held) {
  std::string out = R"({"prompt":")";
  const std::size_t begin_of_text = out.size();
  std::string bytes;  // bytes that are not written yet: the beginning of a character
  for (std::size_t begin = 0; begin < tokens.size(); begin += kPieceTokens) {
    const std::size_t count = std::min(kPieceTokens, tokens.size() - begin);
    bytes += text_of_some(tokens, begin, count, words);
    const bool is_last = begin + count == tokens.size();
    const std::size_t length = is_last ? bytes.size() : whole_characters(bytes);
    append_json_escaped(out, to_valid_utf8(std::string_view(bytes).substr(0, length)));
    bytes.erase(0, length);
    if (auto error = held.hold(out.size())) return std::unexpected(std::move(*error));
  }
  if (has_both_names) {
    const std::size_t num_bytes = out.size() - begin_of_text;
    if (auto error = held.hold(out.size() + num_bytes)) return std::unexpected(std::move(*error));
    out += "\",\"content\":\"";
    out.append(out, begin_of_text, num_bytes);
  }
  out += "\"}";
  return out;
}

/// Writes tokens in vLLM's form. `has_texts`: with each token's text in the vocabulary.
ApiResult<std::string> list_tokens(std::span<const TokenId> tokens, bool has_texts, const ModelText& words,
                                   BufferedAnswer& held) {
  const std::size_t id_bytes = std::to_string(words.info().num_tokens).size() + 1;
  if (auto error = held.hold(tokens.size() * id_bytes)) return std::unexpected(std::move(*error));
  std::string out;
  JsonWriter json(out);
  json.begin_object().fields("count", tokens.size(), "max_model_len", words.info().max_context, "tokens", tokens);
  if (has_texts) json.key("token_strs").begin_array();
  for (std::size_t i = 0; has_texts && i < tokens.size(); ++i) {
    json.value(to_valid_utf8(words.vocabulary_text(tokens[i])));
    if (auto error = held.hold(out.size())) return std::unexpected(std::move(*error));
  }
  if (has_texts) json.end_array();
  json.end_object();
  return out;
}

/// Writes tokens in llama.cpp's form: each with its text, or with its bytes where they are no text.
ApiResult<std::string> list_pieces(std::span<const TokenId> tokens, const ModelText& words, BufferedAnswer& held) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("tokens").begin_array();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string piece = text_of_some(tokens, i, 1, words);
    json.begin_object().fields("id", tokens[i]).key("piece");
    if (is_valid_utf8(piece)) {
      json.value(piece);
    } else {
      json.value(std::span(reinterpret_cast<const unsigned char*>(piece.data()), piece.size()));
    }
    json.end_object();
    if (auto error = held.hold(out.size())) return std::unexpected(std::move(*error));
  }
  json.end_array().end_object();
  return out;
}

ApiResult<std::vector<TokenId>> tokens_of_body(const boost::json::object& body, const ApiContext& context) {
  const JsonCursor given(body), input = given["input"];
  if (input.is_given() && input.if_string() == nullptr && input.if_array() == nullptr)
    return refused(input.wrong_type("a string or an array of items"));
  if (given["messages"].is_given()) return tokens_of(read_openai_conversation(body, context), context.words);
  const bool is_text = given["prompt"].is_given() || given["content"].is_given();
  if (!is_text && given["input"].is_given()) return tokens_of(read_counted_response(body, context), context.words);
  return tokens_of_text(body, context.words);
}

/// How a body wants its tokens shown.
struct Shown {
  bool with_pieces, has_texts;
};

/// Reads how tokens are shown. Error: the body is for another model.
ApiResult<Shown> read_shown(const boost::json::object& body, const ServedModel& model) {
  const JsonCursor given(body);
  OCTAVO_TRY(const auto name, to_api_result(given["model"].string()));
  if (name && !model.answers_to(*name)) return std::unexpected(model_not_served(*name, model));
  OCTAVO_TRY(const auto with_pieces, to_api_result(given["with_pieces"].boolean()));
  OCTAVO_TRY(const auto has_texts, to_api_result(given["return_token_strs"].boolean()));
  return Shown{.with_pieces = with_pieces.value_or(false), .has_texts = has_texts.value_or(false)};
}

constexpr ApiField kTextRows[] = {
    field::string("prompt", "", "a text, unless `content`, `messages` or `input` is given"),
    field::string_or_array("input", "",
                           "the conversation of a body of /v1/responses, whose other fields then count as there"),
    field::boolean("add_special_tokens", "true", "the tokens of `prompt` begin with the model's BOS token"),
    field::string("content", "", "llama.cpp's name of `prompt`"),
    field::boolean("add_special", "false", "the tokens of `content` begin with the model's BOS token"),
    field::boolean("parse_special", "true", "the texts of control tokens in `content` are these tokens"),
    field::boolean("with_pieces", "false", "each token with its text"),
    field::boolean("return_token_strs", "false",
                   "the answer has `token_strs`: each token as the vocabulary writes it, as in vLLM"),
};
constexpr ApiField kIdRows[] = {
    field::string("model", "the only one, or the first", "the model whose tokens they are"),
    field::needed(field::array("tokens", "", "token ids")),
};

}  // namespace

ApiFields tokenize_fields() {
  static const std::vector<ApiField> conversation = [] {
    std::vector<ApiField> rows;
    for (const FieldTable table : openai_conversation_fields()) rows.insert(rows.end(), table.begin(), table.end());
    for (ApiField& field : rows)  // the text may be given in place of messages
      if (!field.path.contains('.')) field.is_needed = false;
    return rows;
  }();
  static const std::array tables = {FieldTable(kTextRows), FieldTable(conversation)};
  return tables;
}

ApiFields detokenize_fields() {
  static constexpr FieldTable kTables[] = {kIdRows};
  return kTables;
}

ApiResult<std::string> answer_tokenize(const TokenizeCall& call, const ApiContext& context, BufferedAnswer& held) {
  OCTAVO_TRY(const Shown shown, read_shown(call.body, context.model));
  const auto tokens = tokens_of_body(call.body, context);
  if (!tokens) return std::unexpected(tokens.error());
  return shown.with_pieces ? list_pieces(*tokens, context.words, held)
                           : list_tokens(*tokens, shown.has_texts, context.words, held);
}

ApiResult<std::string> answer_detokenize(const TokenizeCall& call, const ApiContext& context, BufferedAnswer& held) {
  OCTAVO_TRY_VOID(read_shown(call.body, context.model));
  OCTAVO_TRY(const auto tokens, read_ids(call.body, context.words));
  // Clients of vLLM name a model; those of llama.cpp, such as ollama, do not. Nothing else tells their bodies apart.
  return detokenize(tokens, !JsonCursor(call.body)["model"].is_given(), context.words, held);
}

ApiResult<std::string> answer_apply_template(const TokenizeCall& call, const ApiContext& context,
                                             BufferedAnswer& held) {
  OCTAVO_TRY(ApiRequest request, read_openai_conversation(call.body, context));
  Conversation conversation = conversation_of(request);
  conversation.options.decodes_pictures = false;
  const auto prompt = context.words.render_chat_template(conversation.messages, conversation.options);
  if (!prompt) return std::unexpected(invalid_value("messages", "messages: " + prompt.error().message));
  if (auto error = held.hold(json_string_bytes(*prompt))) return std::unexpected(std::move(*error));
  return json_object("prompt", to_valid_utf8(*prompt));
}

ApiResult<std::string> answer_count(const TokenizeCall& call, const ApiContext& context, BufferedAnswer& /*held*/) {
  const CountedPath& path = call.api->counted;
  OCTAVO_TRY(const auto counted, tokens_of(path.read(call.body, context), context.words));
  return fmt::format("{}{}}}", path.answer, counted.size());
}

ApiResult<std::string> answer_by(TokenizeCall call, const ModelText& words, const ServedModel& model,
                                 BufferedAnswer& held, const std::stop_token& stop) {
  const RequestText own(words, stop, call.responses.body_bytes);
  if (!words.info().vision.sees() && !model.policy.image_placeholder.empty())
    replace_images(call.body, model.policy.image_placeholder);
  return call.answer(call, {.words = own, .model = model, .responses = &call.responses, .unfetched = &call.unfetched},
                     held);
}

}  // namespace octavo

#include "server/tokenize_handler.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "server/json_body.h"
#include "server/json_fields.h"
#include "server/openai_request.h"
#include "tokenizer/utf8.h"

namespace octavo::server {
namespace {

constexpr std::size_t kMaxTokens = std::size_t{1} << 20;

ApiResult<std::vector<TokenId>> tokens_of(const boost::json::object& body, const Engine& engine) {
  JsonFields fields(body);
  if (fields.find("messages") != nullptr) {
    auto messages = read_messages(body);
    if (!messages) return std::unexpected(std::move(messages.error()));
    auto tokens = engine.apply_chat_template(*messages);
    if (!tokens) return std::unexpected(to_api_error(tokens.error()));
    return std::move(*tokens);
  }
  const auto text = fields.string("prompt");
  const bool add_special = fields.boolean("add_special_tokens", true);
  if (fields.failed()) return std::unexpected(*fields.error());
  if (!text) return std::unexpected(invalid_value("prompt", "expected 'prompt' (a string) or 'messages'"));
  auto tokens = engine.tokenize(*text, {.add_special = add_special, .parse_special = true});
  if (!tokens) return std::unexpected(to_api_error(tokens.error()));
  return std::move(*tokens);
}

ApiResult<std::string> detokenize(const boost::json::object& body, const Engine& engine) {
  const JsonFields fields(body);
  const boost::json::value* list = fields.find("tokens");
  if (list == nullptr || !list->is_array())
    return std::unexpected(invalid_value("tokens", "expected 'tokens', an array of token ids"));
  if (list->get_array().size() > kMaxTokens)
    return std::unexpected(invalid_value("tokens", fmt::format("expected at most {} tokens", kMaxTokens)));
  std::vector<TokenId> tokens;
  for (const boost::json::value& value : list->get_array()) {
    const auto id = as_integer(value);
    if (!id || *id < 0 || *id >= engine.info().num_tokens)
      return std::unexpected(invalid_value("tokens", fmt::format("found {}, expected token ids from 0 to {}",
                                                                 describe(value), engine.info().num_tokens - 1)));
    tokens.push_back(static_cast<TokenId>(*id));
  }
  return boost::json::serialize(boost::json::object{{"prompt", to_valid_utf8(engine.detokenize(tokens))}});
}

}  // namespace

ApiResult<std::string> answer_tokenize(const TokenizeCall& call, const Engine& engine, const ServedModel& model) {
  const auto body = parse_json_object(call.body, call.max_json_depth);
  if (!body) return std::unexpected(body.error());
  JsonFields fields(*body);
  check_model(fields, model);
  if (fields.failed()) return std::unexpected(*fields.error());
  if (call.is_detokenize) return detokenize(*body, engine);
  const auto tokens = tokens_of(*body, engine);
  if (!tokens) return std::unexpected(tokens.error());
  return boost::json::serialize(boost::json::object{{"count", tokens->size()},
                                                    {"max_model_len", engine.info().max_context},
                                                    {"tokens", boost::json::array(tokens->begin(), tokens->end())}});
}

}  // namespace octavo::server

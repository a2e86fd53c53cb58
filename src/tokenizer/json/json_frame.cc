#include "tokenizer/json/json_frame.h"

#include "tokenizer/json/json_parts.h"
#include "tokenizer/json/tokenizer_json_parser.h"

namespace octavo {

namespace {

constexpr std::size_t kMaxAround = 16;  // the most tokens before a text, and after it
constexpr std::int64_t kMaxId = ParsedTokenizerJson::kMaxTokens;
constexpr std::int64_t kMaxType = 255;

JsonResult<std::uint8_t> read_type_id(const JsonCursor& item) {
  OCTAVO_TRY(const auto type, item["type_id"].integer(0, kMaxType));
  return static_cast<std::uint8_t>(type.value_or(0));
}

/// Appends the special token of a template.
JsonResult<void> read_template_token(const JsonCursor& item, const JsonCursor& special,
                                     std::vector<FrameToken>& tokens) {
  OCTAVO_TRY_VOID(item.expect_only({"id", "type_id"}));
  OCTAVO_TRY(const std::string_view name, item["id"].needed_string());
  OCTAVO_TRY(const std::uint8_t type, read_type_id(item));
  const JsonCursor token = special[name];
  OCTAVO_TRY_VOID(token.expect_only({"id", "ids", "tokens"}));
  const JsonCursor list = token["ids"];
  OCTAVO_TRY(const boost::json::array* ids, list.needed_array("an array of ids"));
  for (std::size_t i = 0; i < ids->size(); ++i) {
    if (tokens.size() == kMaxAround)
      return std::unexpected(list.wrong("one more token", fmt::format("at most {}", kMaxAround)));
    OCTAVO_TRY(const std::int64_t id, list[i].needed_integer(0, kMaxId));
    tokens.push_back({static_cast<TokenId>(id), type});
  }
  return {};
}

/// A template: the tokens before its first text, the tokens after each text, and the texts.
struct Template {
  struct Text {
    std::string_view name;
    std::uint8_t type;
  };
  std::vector<std::vector<FrameToken>> tokens = {{}};
  std::vector<Text> texts = {};
};

JsonResult<Template> read_template(const JsonCursor& list, const JsonCursor& special) {
  Template result;
  OCTAVO_TRY(const boost::json::array* items, list.needed_array("an array of tokens and texts"));
  for (std::size_t i = 0; i < items->size(); ++i) {
    const JsonCursor item = list[i];
    OCTAVO_TRY_VOID(item.expect_only({"SpecialToken", "Sequence"}));
    if (const JsonCursor token = item["SpecialToken"]; token.is_given()) {
      OCTAVO_TRY_VOID(read_template_token(token, special, result.tokens.back()));
      continue;
    }
    const JsonCursor sequence = item["Sequence"];
    const JsonCursor id_node = sequence["id"];
    OCTAVO_TRY(const std::string_view id, id_node.needed_string());
    const bool is_next = id == (result.texts.empty() ? "A" : "B") && result.texts.size() < 2;
    if (!is_next) return std::unexpected(id_node.wrong_value("A, once, and then B, once"));
    OCTAVO_TRY(const std::uint8_t type, read_type_id(sequence));
    result.texts.push_back({id, type});
    result.tokens.emplace_back();
  }
  return result;
}

std::vector<TokenId> ids_of(const std::vector<FrameToken>& tokens) {
  std::vector<TokenId> ids;
  ids.reserve(tokens.size());
  for (const FrameToken& token : tokens) ids.push_back(token.id);
  return ids;
}

JsonResult<TextFrame> read_template_processing(const JsonCursor& node) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "single", "pair", "special_tokens"}));
  const JsonCursor special = node["special_tokens"];
  const JsonCursor single_node = node["single"];
  OCTAVO_TRY(const Template single, read_template(single_node, special));
  if (single.texts.size() != 1)
    return std::unexpected(single_node.wrong(fmt::format("{} Sequence", single.texts.size()), "one"));
  TextFrame frame{.prefix = ids_of(single.tokens[0]), .suffix = ids_of(single.tokens[1])};
  if (!node["pair"].is_given()) return frame;
  // In files of models that read no pairs, any template may stand here.
  const auto pair = read_template(node["pair"], special);
  if (!pair || pair->texts.size() != 2) return frame;
  frame.pair = PairFrame{.before = pair->tokens[0],
                         .between = pair->tokens[1],
                         .behind = pair->tokens[2],
                         .first_type = pair->texts[0].type,
                         .second_type = pair->texts[1].type};
  return frame;
}

/// The id of a token that is written together with its text, as in ["[SEP]", 102].
JsonResult<TokenId> read_named_token(const JsonCursor& node, std::string_view name) {
  const JsonCursor pair = node[name];
  OCTAVO_TRY(const boost::json::array* items, pair.needed_array("a token's text and its id"));
  if (items->size() != 2) return std::unexpected(pair.wrong_value("a token's text and its id"));
  OCTAVO_TRY(const std::int64_t id, pair[1].needed_integer(0, kMaxId));
  return static_cast<TokenId>(id);
}

JsonResult<TextFrame> read_bert_processing(const JsonCursor& node, bool is_roberta) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "sep", "cls", "trim_offsets", "add_prefix_space"}));
  OCTAVO_TRY(const TokenId first, read_named_token(node, "cls"));
  OCTAVO_TRY(const TokenId separator, read_named_token(node, "sep"));
  return TextFrame{.prefix = {first},
                   .suffix = {separator},
                   .pair = is_roberta ? pair_of_roberta(first, separator) : pair_of_bert(first, separator)};
}

}  // namespace

JsonResult<TextFrame> read_json_frame(const JsonCursor& root) {
  OCTAVO_TRY(const auto parts, parts_of(root["post_processor"], "processors"));
  std::optional<TextFrame> frame;
  for (const JsonCursor& part : parts) {
    const JsonCursor type_node = part["type"];
    OCTAVO_TRY(const std::string_view type, type_node.needed_string());
    if (type == "ByteLevel") {  // changes offsets alone
      OCTAVO_TRY_VOID(part.expect_only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
      continue;
    }
    const bool is_bert = type == "BertProcessing" || type == "RobertaProcessing";
    if ((!is_bert && type != "TemplateProcessing") || frame)
      return std::unexpected(type_node.wrong_value(
          "one of TemplateProcessing, BertProcessing and RobertaProcessing; ByteLevel or Sequence"));
    if (is_bert) {
      OCTAVO_TRY(frame, read_bert_processing(part, type == "RobertaProcessing"));
    } else {
      OCTAVO_TRY(frame, read_template_processing(part));
    }
  }
  return frame.value_or(TextFrame{});
}

}  // namespace octavo

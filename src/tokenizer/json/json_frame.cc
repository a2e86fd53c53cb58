#include "tokenizer/json/json_frame.h"

#include <utility>

#include "tokenizer/json/tokenizer_json_parser.h"

namespace octavo {

namespace {

constexpr std::size_t kMaxAround = 16;  // tokens before a text, and behind it
constexpr std::uint32_t kMaxId = ParsedTokenizerJson::kMaxTokens;
constexpr std::uint32_t kMaxType = 255;

Result<std::uint8_t> read_type_id(const JsonNode& item) {
  OCTAVO_TRY(const auto node, item.find("type_id"));
  if (!node) return std::uint8_t{0};
  OCTAVO_TRY(const std::uint32_t type, node->number(kMaxType));
  return static_cast<std::uint8_t>(type);
}

/// Appends the special token of a template.
Result<void> read_template_token(const JsonNode& item, const JsonNode& special, std::vector<FrameToken>& tokens) {
  OCTAVO_TRY_VOID(item.expect_only({"id", "type_id"}));
  OCTAVO_TRY(const JsonNode name_node, item.field("id"));
  OCTAVO_TRY(const std::string_view name, name_node.text());
  OCTAVO_TRY(const std::uint8_t type, read_type_id(item));
  OCTAVO_TRY(const JsonNode token, special.field(name));
  OCTAVO_TRY_VOID(token.expect_only({"id", "ids", "tokens"}));
  OCTAVO_TRY(const JsonNode list, token.field("ids"));
  OCTAVO_TRY(const auto numbers, list.items());
  for (const JsonNode& number : numbers) {
    if (tokens.size() == kMaxAround) return list.refuse("one more token", fmt::format("at most {}", kMaxAround));
    OCTAVO_TRY(const std::uint32_t id, number.number(kMaxId));
    tokens.push_back({static_cast<TokenId>(id), type});
  }
  return {};
}

/// A template: the tokens before its first text, behind each text, and the texts.
struct Template {
  struct Text {
    std::string_view name;
    std::uint8_t type;
  };
  std::vector<std::vector<FrameToken>> tokens = {{}};
  std::vector<Text> texts = {};
};

Result<Template> read_template(const JsonNode& list, const JsonNode& special) {
  Template result;
  OCTAVO_TRY(const auto items, list.items());
  for (const JsonNode& item : items) {
    OCTAVO_TRY_VOID(item.expect_only({"SpecialToken", "Sequence"}));
    OCTAVO_TRY(const auto token, item.find("SpecialToken"));
    if (token) {
      OCTAVO_TRY_VOID(read_template_token(*token, special, result.tokens.back()));
      continue;
    }
    OCTAVO_TRY(const JsonNode sequence, item.field("Sequence"));
    OCTAVO_TRY(const JsonNode id_node, sequence.field("id"));
    OCTAVO_TRY(const std::string_view id, id_node.text());
    const bool is_next = id == (result.texts.empty() ? "A" : "B") && result.texts.size() < 2;
    if (!is_next) return id_node.expect("A, once, and then B, once");
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

Result<TextFrame> read_template_processing(const JsonNode& node) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "single", "pair", "special_tokens"}));
  OCTAVO_TRY(const JsonNode special, node.field("special_tokens"));
  OCTAVO_TRY(const JsonNode single_node, node.field("single"));
  OCTAVO_TRY(const Template single, read_template(single_node, special));
  if (single.texts.size() != 1) return single_node.refuse(fmt::format("{} Sequence", single.texts.size()), "one");
  TextFrame frame{.prefix = ids_of(single.tokens[0]), .suffix = ids_of(single.tokens[1])};
  OCTAVO_TRY(const auto pair_node, node.find("pair"));
  if (!pair_node) return frame;
  // Files of models that read no pairs have any template here.
  const auto pair = read_template(*pair_node, special);
  if (!pair || pair->texts.size() != 2) return frame;
  frame.pair = PairFrame{.before = pair->tokens[0],
                         .between = pair->tokens[1],
                         .behind = pair->tokens[2],
                         .first_type = pair->texts[0].type,
                         .second_type = pair->texts[1].type};
  return frame;
}

/// The id of a token that is written with its text, as in ["[SEP]", 102].
Result<TokenId> read_named_token(const JsonNode& node, std::string_view name) {
  OCTAVO_TRY(const JsonNode pair, node.field(name));
  OCTAVO_TRY(const auto items, pair.items());
  if (items.size() != 2) return pair.expect("a token's text and its id");
  OCTAVO_TRY(const std::uint32_t id, items[1].number(kMaxId));
  return static_cast<TokenId>(id);
}

Result<TextFrame> read_bert_processing(const JsonNode& node, bool is_roberta) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "sep", "cls", "trim_offsets", "add_prefix_space"}));
  OCTAVO_TRY(const TokenId first, read_named_token(node, "cls"));
  OCTAVO_TRY(const TokenId separator, read_named_token(node, "sep"));
  return TextFrame{.prefix = {first},
                   .suffix = {separator},
                   .pair = is_roberta ? pair_of_roberta(first, separator) : pair_of_bert(first, separator)};
}

}  // namespace

Result<TextFrame> read_json_frame(const JsonNode& root) {
  OCTAVO_TRY(const auto parts, root.parts_of("post_processor", "processors"));
  std::optional<TextFrame> frame;
  for (const JsonNode& part : parts) {
    OCTAVO_TRY(const JsonNode type_node, part.field("type"));
    OCTAVO_TRY(const std::string_view type, type_node.text());
    if (type == "ByteLevel") {  // changes offsets alone
      OCTAVO_TRY_VOID(part.expect_only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
      continue;
    }
    const bool is_bert = type == "BertProcessing" || type == "RobertaProcessing";
    if ((!is_bert && type != "TemplateProcessing") || frame)
      return type_node.expect("one of TemplateProcessing, BertProcessing and RobertaProcessing; ByteLevel or Sequence");
    if (is_bert) {
      OCTAVO_TRY(frame, read_bert_processing(part, type == "RobertaProcessing"));
    } else {
      OCTAVO_TRY(frame, read_template_processing(part));
    }
  }
  return frame.value_or(TextFrame{});
}

}  // namespace octavo

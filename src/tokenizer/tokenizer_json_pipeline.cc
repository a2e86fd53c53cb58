#include "tokenizer/tokenizer_json_pipeline.h"

#include <utility>

#include "base/text.h"
#include "tokenizer/tokenizer_json_cuts.h"

namespace octavo {

namespace {

constexpr std::size_t kMaxAround = 16;       // tokens before a text, and behind it
constexpr std::uint32_t kMaxId = 1U << 21U;  // ParsedTokenizerJson::kMaxTokens

// normalizer

Result<TextStep> read_replace(const JsonNode& node) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "pattern", "content"}));
  OCTAVO_TRY(const JsonNode pattern, node.field("pattern"));
  OCTAVO_TRY_VOID(pattern.expect_only({"String"}));  // families that Octavo computes replace no pattern
  OCTAVO_TRY(const JsonNode string, pattern.field("String"));
  OCTAVO_TRY(const std::string_view from, string.text());
  if (from.empty()) return string.expect("a text that is not empty");
  OCTAVO_TRY(const JsonNode content, node.field("content"));
  OCTAVO_TRY(const std::string_view to, content.text());
  return TextStep{.kind = TextStep::Kind::kReplace, .from = std::string(from), .to = std::string(to)};
}

Result<TextStep> read_normalizer(const JsonNode& node) {
  constexpr std::pair<std::string_view, Normalization> kForms[] = {{"NFC", Normalization::kNfc},
                                                                   {"NFD", Normalization::kNfd},
                                                                   {"NFKC", Normalization::kNfkc},
                                                                   {"NFKD", Normalization::kNfkd}};
  OCTAVO_TRY(const JsonNode type_node, node.field("type"));
  OCTAVO_TRY(const std::string_view type, type_node.text());
  for (const auto& [name, form] : kForms) {
    if (type != name) continue;
    OCTAVO_TRY_VOID(node.expect_only({"type"}));
    return TextStep{.kind = TextStep::Kind::kNormalize, .form = form};
  }
  if (type == "Replace") return read_replace(node);
  if (type != "Prepend") return type_node.expect("NFC, NFD, NFKC, NFKD, Prepend, Replace or Sequence");
  OCTAVO_TRY_VOID(node.expect_only({"type", "prepend"}));
  OCTAVO_TRY(const JsonNode prepend, node.field("prepend"));
  OCTAVO_TRY(const std::string_view text, prepend.text());
  return TextStep{.kind = TextStep::Kind::kPrepend, .to = std::string(text)};
}

// decoder

/// Reads the decoder of a vocabulary whose words begin with U+2581.
class DecoderReader {
 public:
  explicit DecoderReader(TokenizerJsonPipeline& out) : out_(out) {}

  Result<void> read(const JsonNode& node) {
    OCTAVO_TRY(const JsonNode type_node, node.field("type"));
    OCTAVO_TRY(const std::string_view type, type_node.text());
    if (type == "ByteFallback" || type == "Fuse") {
      OCTAVO_TRY_VOID(node.expect_only({"type"}));
      (type == "Fuse" ? is_fused_ : out_.decodes_bytes) = true;
      return {};
    }
    if (type == "Replace") return read_replacement(node);
    if (type == "Strip") return read_strip(node);
    if (type == "Metaspace") return read_metaspace(node);
    return type_node.expect(
        "Replace, ByteFallback, Fuse, Strip, Metaspace or Sequence, or ByteLevel where "
        "pre_tokenizer has it");
  }

  bool writes_spaces() const { return writes_spaces_; }

 private:
  static constexpr std::string_view kMark = "\xE2\x96\x81";

  Result<void> read_replacement(const JsonNode& node) {
    OCTAVO_TRY(const TextStep step, read_replace(node));
    if (step.from != kMark || step.to != " ")
      return node.refuse(fmt::format("{} for {}", quote(step.to), quote(step.from)), "a space for U+2581");
    writes_spaces_ = true;
    return {};
  }

  Result<void> read_strip(const JsonNode& node) {
    OCTAVO_TRY_VOID(node.expect_only({"type", "content", "start", "stop"}));
    OCTAVO_TRY(const JsonNode content, node.field("content"));
    OCTAVO_TRY(const std::string_view text, content.text());
    OCTAVO_TRY(const JsonNode start_node, node.field("start"));
    OCTAVO_TRY(const JsonNode stop_node, node.field("stop"));
    OCTAVO_TRY(const std::uint32_t start, start_node.number(kMaxId));
    OCTAVO_TRY(const std::uint32_t stop, stop_node.number(kMaxId));
    if (text != " " || start != 1 || stop != 0 || !is_fused_)
      return node.refuse(fmt::format("{}, start {}, stop {}{}", quote(text), start, stop, is_fused_ ? "" : ", no Fuse"),
                         "a space at the start, behind Fuse");
    out_.strips_space = true;
    return {};
  }

  Result<void> read_metaspace(const JsonNode& node) {
    OCTAVO_TRY_VOID(
        node.expect_only({"type", "replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"}));
    OCTAVO_TRY(const JsonNode replacement, node.field("replacement"));
    OCTAVO_TRY(const std::string_view mark, replacement.text());
    if (mark != kMark) return replacement.expect("U+2581");
    OCTAVO_TRY(const std::string_view scheme, read_prepend_scheme(node));
    out_.strips_space = out_.strips_space || scheme != "never";
    writes_spaces_ = true;
    return {};
  }

  TokenizerJsonPipeline& out_;
  bool is_fused_ = false;
  bool writes_spaces_ = false;
};

Result<void> read_decoder(const JsonNode& root, TokenizerJsonPipeline& out) {
  OCTAVO_TRY(const auto decoder, root.find("decoder"));
  if (!decoder) return root.refuse("no decoder", "one: without it a space stands between any two tokens");
  OCTAVO_TRY(const auto parts, decoder->parts("decoders"));
  if (out.is_byte_level) {
    for (const JsonNode& part : parts) {
      OCTAVO_TRY(const std::string_view type, part.type());
      if (type != "ByteLevel" || parts.size() != 1)
        return part.refuse(quote(type), "ByteLevel alone, as pre_tokenizer");
      OCTAVO_TRY_VOID(part.expect_only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    }
    return {};
  }
  DecoderReader reader(out);
  for (const JsonNode& part : parts) OCTAVO_TRY_VOID(reader.read(part));
  if (!reader.writes_spaces()) return decoder->refuse("no part that writes spaces", "Replace or Metaspace");
  return {};
}

// post_processor

/// Appends the ids of a special token of a template.
Result<void> read_template_token(const JsonNode& item, const JsonNode& special, std::vector<TokenId>& ids) {
  OCTAVO_TRY_VOID(item.expect_only({"id", "type_id"}));
  OCTAVO_TRY(const JsonNode name_node, item.field("id"));
  OCTAVO_TRY(const std::string_view name, name_node.text());
  OCTAVO_TRY(const JsonNode token, special.field(name));
  OCTAVO_TRY_VOID(token.expect_only({"id", "ids", "tokens"}));
  OCTAVO_TRY(const JsonNode list, token.field("ids"));
  OCTAVO_TRY(const auto numbers, list.items());
  for (const JsonNode& number : numbers) {
    if (ids.size() == kMaxAround) return list.refuse("one more token", fmt::format("at most {}", kMaxAround));
    OCTAVO_TRY(const std::uint32_t id, number.number(kMaxId));
    ids.push_back(static_cast<TokenId>(id));
  }
  return {};
}

Result<void> read_template(const JsonNode& node, TokenizerJsonPipeline& out) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "single", "pair", "special_tokens"}));  // Octavo encodes no pairs
  OCTAVO_TRY(const JsonNode single, node.field("single"));
  OCTAVO_TRY(const JsonNode special, node.field("special_tokens"));
  OCTAVO_TRY(const auto items, single.items());
  bool has_text = false;
  for (const JsonNode& item : items) {
    OCTAVO_TRY_VOID(item.expect_only({"SpecialToken", "Sequence"}));
    OCTAVO_TRY(const auto token, item.find("SpecialToken"));
    if (token) {
      OCTAVO_TRY_VOID(read_template_token(*token, special, has_text ? out.suffix : out.prefix));
      continue;
    }
    OCTAVO_TRY(const JsonNode sequence, item.field("Sequence"));
    OCTAVO_TRY(const JsonNode id_node, sequence.field("id"));
    OCTAVO_TRY(const std::string_view id, id_node.text());
    if (id != "A" || has_text) return id_node.expect("A, once");
    has_text = true;
  }
  if (!has_text) return single.refuse("no Sequence", "one");
  return {};
}

Result<void> read_post_processor(const JsonNode& root, TokenizerJsonPipeline& out) {
  OCTAVO_TRY(const auto parts, root.parts_of("post_processor", "processors"));
  bool has_template = false;
  for (const JsonNode& part : parts) {
    OCTAVO_TRY(const JsonNode type_node, part.field("type"));
    OCTAVO_TRY(const std::string_view type, type_node.text());
    if (type == "ByteLevel") {  // changes offsets alone
      OCTAVO_TRY_VOID(part.expect_only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
      continue;
    }
    if (type != "TemplateProcessing" || has_template)
      return type_node.expect("one TemplateProcessing, ByteLevel or Sequence");
    has_template = true;
    OCTAVO_TRY_VOID(read_template(part, out));
  }
  return {};
}

}  // namespace

Result<TokenizerJsonPipeline> read_pipeline(const JsonNode& root) {
  TokenizerJsonPipeline pipeline;
  OCTAVO_TRY(const auto normalizers, root.parts_of("normalizer", "normalizers"));
  for (const JsonNode& node : normalizers) {
    OCTAVO_TRY(TextStep step, read_normalizer(node));
    pipeline.normalizer.push_back(std::move(step));
  }
  OCTAVO_TRY_VOID(read_cuts(root, pipeline));
  OCTAVO_TRY_VOID(read_decoder(root, pipeline));
  OCTAVO_TRY_VOID(read_post_processor(root, pipeline));
  return pipeline;
}

}  // namespace octavo

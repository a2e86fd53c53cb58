#include "tokenizer/json/tokenizer_json_pipeline.h"

#include <memory>
#include <utility>

#include "base/text.h"
#include "tokenizer/json/base64.h"
#include "tokenizer/json/json_frame.h"
#include "tokenizer/json/tokenizer_json_cuts.h"
#include "tokenizer/text/bert_normalizer.h"

namespace octavo {

namespace {

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

/// Replaces a text; or runs of it, by the one pattern that converters write.
Result<TextStep> read_normalizer_replace(const JsonNode& node) {
  OCTAVO_TRY(const JsonNode pattern, node.field("pattern"));
  OCTAVO_TRY(const auto regex, pattern.find("Regex"));
  if (!regex) return read_replace(node);
  OCTAVO_TRY_VOID(node.expect_only({"type", "pattern", "content"}));
  OCTAVO_TRY(const std::string_view text, regex->text());
  if (text != " {2,}") return regex->expect("' {2,}'");
  OCTAVO_TRY(const JsonNode content, node.field("content"));
  OCTAVO_TRY(const std::string_view to, content.text());
  return TextStep{.kind = TextStep::Kind::kReplaceRuns, .from = " ", .to = std::string(to)};
}

Result<TextStep> read_precompiled(const JsonNode& node) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "precompiled_charsmap"}));
  OCTAVO_TRY(const JsonNode map_node, node.field("precompiled_charsmap"));
  OCTAVO_TRY(const std::string_view text, map_node.text());
  const auto bytes = decode_base64(text);
  if (!bytes) return map_node.refuse("no base64", "a table in base64");
  auto map = PrecompiledCharsmap::parse(*bytes);
  if (!map) return map_node.refuse(map.error().message, "a table of SentencePiece");
  return TextStep{.kind = TextStep::Kind::kReplaceMapped,
                  .charsmap = std::make_shared<const PrecompiledCharsmap>(std::move(*map))};
}

Result<TextStep> read_strip(const JsonNode& node) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "strip_left", "strip_right"}));
  TextStep step{.kind = TextStep::Kind::kTrim};
  OCTAVO_TRY(step.trims_begin, node.flag_of("strip_left"));
  OCTAVO_TRY(step.trims_end, node.flag_of("strip_right"));
  return step;
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
  if (type == "Replace") return read_normalizer_replace(node);
  if (type == "Precompiled") return read_precompiled(node);
  if (type == "Strip") return read_strip(node);
  if (type == "Lowercase" || type == "StripAccents") {
    OCTAVO_TRY_VOID(node.expect_only({"type"}));
    return TextStep{.kind = TextStep::Kind::kChange,
                    .change = type == "Lowercase" ? CharacterChange::kLowerCase : CharacterChange::kLeaveOutMarks};
  }
  if (type != "Prepend")
    return type_node.expect(
        "NFC, NFD, NFKC, NFKD, Prepend, Replace, Strip, Lowercase, StripAccents, Precompiled, BertNormalizer or "
        "Sequence");
  OCTAVO_TRY_VOID(node.expect_only({"type", "prepend"}));
  OCTAVO_TRY(const JsonNode prepend, node.field("prepend"));
  OCTAVO_TRY(const std::string_view text, prepend.text());
  return TextStep{.kind = TextStep::Kind::kPrepend, .to = std::string(text)};
}

/// The flag, or `fallback` where it is missing or null.
Result<bool> flag_or(const JsonNode& node, std::string_view name, bool fallback) {
  OCTAVO_TRY(const auto found, node.find(name));
  if (!found) return fallback;
  return found->flag();
}

Result<void> read_bert_normalizer(const JsonNode& node, std::vector<TextStep>& steps) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"}));
  BertNormalizer bert;
  OCTAVO_TRY(bert.cleans, flag_or(node, "clean_text", true));
  OCTAVO_TRY(bert.sets_han_apart, flag_or(node, "handle_chinese_chars", true));
  OCTAVO_TRY(bert.lower_cases, flag_or(node, "lowercase", true));
  OCTAVO_TRY(bert.leaves_out_accents, flag_or(node, "strip_accents", bert.lower_cases));
  bert.add_steps(steps);
  return {};
}

Result<void> read_normalizers(const JsonNode& root, std::vector<TextStep>& steps) {
  OCTAVO_TRY(const auto normalizers, root.parts_of("normalizer", "normalizers"));
  for (const JsonNode& node : normalizers) {
    OCTAVO_TRY(const std::string_view type, node.type());
    if (type == "BertNormalizer") {
      OCTAVO_TRY_VOID(read_bert_normalizer(node, steps));
      continue;
    }
    OCTAVO_TRY(TextStep step, read_normalizer(node));
    steps.push_back(std::move(step));
  }
  return {};
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

/// A word has a space in front of it. "cleanup" takes spaces before punctuation out again, which Octavo does not.
Result<void> read_word_piece_decoder(const JsonNode& node, TokenizerJsonPipeline& out) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "prefix", "cleanup"}));
  out.decodes_word_pieces = true;
  out.strips_space = true;
  return {};
}

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
  if (parts.size() == 1) {
    OCTAVO_TRY(const std::string_view type, parts.front().type());
    if (type == "WordPiece") return read_word_piece_decoder(parts.front(), out);
  }
  DecoderReader reader(out);
  for (const JsonNode& part : parts) OCTAVO_TRY_VOID(reader.read(part));
  if (!reader.writes_spaces()) return decoder->refuse("no part that writes spaces", "Replace or Metaspace");
  return {};
}

}  // namespace

Result<TokenizerJsonPipeline> read_pipeline(const JsonNode& root) {
  TokenizerJsonPipeline pipeline;
  OCTAVO_TRY_VOID(read_normalizers(root, pipeline.normalizer));
  OCTAVO_TRY_VOID(read_cuts(root, pipeline));
  OCTAVO_TRY_VOID(read_decoder(root, pipeline));
  OCTAVO_TRY(pipeline.frame, read_json_frame(root));
  return pipeline;
}

}  // namespace octavo

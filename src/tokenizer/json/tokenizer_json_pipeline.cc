#include "tokenizer/json/tokenizer_json_pipeline.h"

#include <memory>
#include <utility>

#include "base/text.h"
#include "tokenizer/json/base64.h"
#include "tokenizer/json/json_frame.h"
#include "tokenizer/json/json_parts.h"
#include "tokenizer/json/tokenizer_json_cuts.h"
#include "tokenizer/text/bert_normalizer.h"

namespace octavo {

namespace {

constexpr std::int64_t kMaxId = 1U << 21U;  // ParsedTokenizerJson::kMaxTokens

// normalizer

JsonResult<TextStep> read_replace(const JsonCursor& node) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "pattern", "content"}));
  const JsonCursor pattern = node["pattern"];
  OCTAVO_TRY_VOID(pattern.expect_only({"String"}));  // families that Octavo computes replace no pattern
  const JsonCursor string = pattern["String"];
  OCTAVO_TRY(const std::string_view from, string.needed_string());
  if (from.empty()) return std::unexpected(string.wrong_value("a text that is not empty"));
  OCTAVO_TRY(const std::string_view to, node["content"].needed_string());
  return TextStep{.kind = TextStep::Kind::kReplace, .from = std::string(from), .to = std::string(to)};
}

/// Reads a step that replaces a text, or runs of it, by the one pattern that converters write.
JsonResult<TextStep> read_normalizer_replace(const JsonCursor& node) {
  const JsonCursor pattern = node["pattern"];
  const JsonCursor regex = pattern["Regex"];
  if (!regex.is_given()) return read_replace(node);
  OCTAVO_TRY_VOID(node.expect_only({"type", "pattern", "content"}));
  OCTAVO_TRY(const std::string_view text, regex.needed_string());
  if (text != " {2,}") return std::unexpected(regex.wrong_value("' {2,}'"));
  OCTAVO_TRY(const std::string_view to, node["content"].needed_string());
  return TextStep{.kind = TextStep::Kind::kReplaceRuns, .from = " ", .to = std::string(to)};
}

JsonResult<TextStep> read_precompiled(const JsonCursor& node) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "precompiled_charsmap"}));
  const JsonCursor map_node = node["precompiled_charsmap"];
  OCTAVO_TRY(const std::string_view text, map_node.needed_string());
  const auto bytes = decode_base64(text);
  if (!bytes) return std::unexpected(map_node.wrong("no base64", "a table in base64"));
  auto map = PrecompiledCharsmap::parse(*bytes);
  if (!map) return std::unexpected(map_node.wrong(map.error().message, "a table of SentencePiece"));
  return TextStep{.kind = TextStep::Kind::kReplaceMapped,
                  .charsmap = std::make_shared<const PrecompiledCharsmap>(std::move(*map))};
}

JsonResult<TextStep> read_strip(const JsonCursor& node) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "strip_left", "strip_right"}));
  TextStep step{.kind = TextStep::Kind::kTrim};
  OCTAVO_TRY(step.trims_begin, node["strip_left"].boolean_or(false));
  OCTAVO_TRY(step.trims_end, node["strip_right"].boolean_or(false));
  return step;
}

JsonResult<TextStep> read_normalizer(const JsonCursor& node) {
  constexpr std::pair<std::string_view, Normalization> kForms[] = {{"NFC", Normalization::kNfc},
                                                                   {"NFD", Normalization::kNfd},
                                                                   {"NFKC", Normalization::kNfkc},
                                                                   {"NFKD", Normalization::kNfkd}};
  const JsonCursor type_node = node["type"];
  OCTAVO_TRY(const std::string_view type, type_node.needed_string());
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
    return std::unexpected(type_node.wrong_value(
        "NFC, NFD, NFKC, NFKD, Prepend, Replace, Strip, Lowercase, StripAccents, Precompiled, BertNormalizer or "
        "Sequence"));
  OCTAVO_TRY_VOID(node.expect_only({"type", "prepend"}));
  OCTAVO_TRY(const std::string_view text, node["prepend"].needed_string());
  return TextStep{.kind = TextStep::Kind::kPrepend, .to = std::string(text)};
}

JsonResult<void> read_bert_normalizer(const JsonCursor& node, std::vector<TextStep>& steps) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"}));
  BertNormalizer bert;
  OCTAVO_TRY(bert.cleans, node["clean_text"].boolean_or(true));
  OCTAVO_TRY(bert.sets_han_apart, node["handle_chinese_chars"].boolean_or(true));
  OCTAVO_TRY(bert.lower_cases, node["lowercase"].boolean_or(true));
  OCTAVO_TRY(bert.leaves_out_accents, node["strip_accents"].boolean_or(bert.lower_cases));
  bert.add_steps(steps);
  return {};
}

JsonResult<void> read_normalizers(const JsonCursor& root, std::vector<TextStep>& steps) {
  OCTAVO_TRY(const auto normalizers, parts_of(root["normalizer"], "normalizers"));
  for (const JsonCursor& node : normalizers) {
    OCTAVO_TRY(const std::string_view type, node["type"].needed_string());
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

  JsonResult<void> read(const JsonCursor& node) {
    const JsonCursor type_node = node["type"];
    OCTAVO_TRY(const std::string_view type, type_node.needed_string());
    if (type == "ByteFallback" || type == "Fuse") {
      OCTAVO_TRY_VOID(node.expect_only({"type"}));
      (type == "Fuse" ? is_fused_ : out_.decodes_bytes) = true;
      return {};
    }
    if (type == "Replace") return read_replacement(node);
    if (type == "Strip") return read_strip(node);
    if (type == "Metaspace") return read_metaspace(node);
    return std::unexpected(
        type_node.wrong_value("Replace, ByteFallback, Fuse, Strip, Metaspace or Sequence, or ByteLevel where "
                              "pre_tokenizer has it"));
  }

  bool writes_spaces() const { return writes_spaces_; }

 private:
  static constexpr std::string_view kMark = "\xE2\x96\x81";

  JsonResult<void> read_replacement(const JsonCursor& node) {
    OCTAVO_TRY(const TextStep step, read_replace(node));
    if (step.from != kMark || step.to != " ")
      return std::unexpected(
          node.wrong(fmt::format("{} for {}", quote(step.to), quote(step.from)), "a space for U+2581"));
    writes_spaces_ = true;
    return {};
  }

  JsonResult<void> read_strip(const JsonCursor& node) {
    OCTAVO_TRY_VOID(node.expect_only({"type", "content", "start", "stop"}));
    OCTAVO_TRY(const std::string_view text, node["content"].needed_string());
    OCTAVO_TRY(const std::int64_t start, node["start"].needed_integer(0, kMaxId));
    OCTAVO_TRY(const std::int64_t stop, node["stop"].needed_integer(0, kMaxId));
    if (text != " " || start != 1 || stop != 0 || !is_fused_)
      return std::unexpected(
          node.wrong(fmt::format("{}, start {}, stop {}{}", quote(text), start, stop, is_fused_ ? "" : ", no Fuse"),
                     "a space at the start, behind Fuse"));
    out_.strips_space = true;
    return {};
  }

  JsonResult<void> read_metaspace(const JsonCursor& node) {
    OCTAVO_TRY_VOID(
        node.expect_only({"type", "replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"}));
    const JsonCursor replacement = node["replacement"];
    OCTAVO_TRY(const std::string_view mark, replacement.needed_string());
    if (mark != kMark) return std::unexpected(replacement.wrong_value("U+2581"));
    OCTAVO_TRY(const std::string_view scheme, read_prepend_scheme(node));
    out_.strips_space = out_.strips_space || scheme != "never";
    writes_spaces_ = true;
    return {};
  }

  TokenizerJsonPipeline& out_;
  bool is_fused_ = false;
  bool writes_spaces_ = false;
};

/// Reads WordPiece's decoder: a word has a space before it. "cleanup" would remove spaces before punctuation, which
/// Octavo does not.
JsonResult<void> read_word_piece_decoder(const JsonCursor& node, TokenizerJsonPipeline& out) {
  OCTAVO_TRY_VOID(node.expect_only({"type", "prefix", "cleanup"}));
  out.decodes_word_pieces = true;
  out.strips_space = true;
  return {};
}

JsonResult<void> read_decoder(const JsonCursor& root, TokenizerJsonPipeline& out) {
  const JsonCursor decoder = root["decoder"];
  if (!decoder.is_given())
    return std::unexpected(root.wrong("no decoder", "one: without it a space stands between any two tokens"));
  OCTAVO_TRY(const auto parts, parts_of(decoder, "decoders"));
  if (out.is_byte_level) {
    for (const JsonCursor& part : parts) {
      OCTAVO_TRY(const std::string_view type, part["type"].needed_string());
      if (type != "ByteLevel" || parts.size() != 1)
        return std::unexpected(part.wrong(quote(type), "ByteLevel alone, as pre_tokenizer"));
      OCTAVO_TRY_VOID(part.expect_only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    }
    return {};
  }
  if (parts.size() == 1) {
    OCTAVO_TRY(const std::string_view type, parts.front()["type"].needed_string());
    if (type == "WordPiece") return read_word_piece_decoder(parts.front(), out);
  }
  DecoderReader reader(out);
  for (const JsonCursor& part : parts) OCTAVO_TRY_VOID(reader.read(part));
  if (!reader.writes_spaces())
    return std::unexpected(decoder.wrong("no part that writes spaces", "Replace or Metaspace"));
  return {};
}

}  // namespace

JsonResult<TokenizerJsonPipeline> read_pipeline(const JsonCursor& root) {
  TokenizerJsonPipeline pipeline;
  OCTAVO_TRY_VOID(read_normalizers(root, pipeline.normalizer));
  OCTAVO_TRY_VOID(read_cuts(root, pipeline));
  OCTAVO_TRY_VOID(read_decoder(root, pipeline));
  OCTAVO_TRY(pipeline.frame, read_json_frame(root));
  return pipeline;
}

}  // namespace octavo

#include "tokenizer/json/tokenizer_json_cuts.h"

#include <utility>

#include "base/ascii.h"
#include "tokenizer/json/json_parts.h"
#include "tokenizer/pretokenize/digit_groups.h"
#include "tokenizer/pretokenize/pattern.h"

namespace octavo {

namespace {

constexpr std::size_t kMaxCuts = 32;

std::string escaped_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const bool is_ascii = (static_cast<unsigned char>(c) & 0x80) == 0;
    pattern +=
        is_ascii && !is_letter_or_digit(c) ? fmt::format("\\x{{{:X}}}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return pattern;
}

JsonResult<CutBehavior> read_behavior(const JsonCursor& node) {
  constexpr std::pair<std::string_view, CutBehavior> kBehaviors[] = {
      {"Isolated", CutBehavior::kIsolated},
      {"Removed", CutBehavior::kRemoved},
      {"Contiguous", CutBehavior::kContiguous},
      {"MergedWithPrevious", CutBehavior::kMergedWithPrevious},
      {"MergedWithNext", CutBehavior::kMergedWithNext}};
  OCTAVO_TRY(const std::string_view text, node.needed_string());
  for (const auto& [name, behavior] : kBehaviors)
    if (text == name) return behavior;
  return std::unexpected(node.wrong_value("Isolated, Removed, Contiguous, MergedWithPrevious or MergedWithNext"));
}

/// Adds the cuts of a pre_tokenizer, one part after another.
class CutReader {
 public:
  explicit CutReader(TokenizerJsonPipeline& out) : out_(out) {}

  JsonResult<void> read(const JsonCursor& node) {
    const JsonCursor type_node = node["type"];
    OCTAVO_TRY(const std::string_view type, type_node.needed_string());
    if (out_.cuts.size() == kMaxCuts)
      return std::unexpected(node.wrong("one more cut", fmt::format("at most {}", kMaxCuts)));
    if (type == "ByteLevel") return read_byte_level(node);
    if (type == "Split") return read_split(node);
    if (type == "Digits") return read_digits(node);
    if (type == "Punctuation") return read_punctuation(node);
    if (type == "Metaspace") return read_metaspace(node);
    if (type == "BertPreTokenizer") return read_bert(node);
    if (type == "WhitespaceSplit") return add_plain(node, kSpaceCut, CutBehavior::kRemoved, false);
    if (type == "Whitespace") return add_plain(node, kWordsAndSigns, CutBehavior::kRemoved, true);
    return std::unexpected(type_node.wrong_value(
        "ByteLevel, Split, Digits, Punctuation, Metaspace, Whitespace, WhitespaceSplit, BertPreTokenizer or Sequence"));
  }

 private:
  // \w+|[^\w\s]+, where \w is Alphabetic, marks, decimal digits, connectors and joiners (Unicode's Annex 18).
  static constexpr std::string_view kWordsAndSigns =
      R"([\p{L}\p{M}\p{Nl}\p{Nd}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169})"
      R"(\x{1F170}-\x{1F189}]+|[^\s\p{L}\p{M}\p{Nl}\p{Nd}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149})"
      R"(\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}]+)";

  void add(std::string_view pattern, CutBehavior behavior, bool is_inverted) {
    JsonCut& cut = out_.cuts.emplace_back(JsonCut{.pattern = std::string(pattern), .how = {}});
    cut.how.is_on_bytes = out_.is_byte_level;
    cut.how.behavior = behavior;
    cut.how.is_inverted = is_inverted;
  }

  JsonResult<void> add_plain(const JsonCursor& node, std::string_view pattern, CutBehavior behavior, bool is_inverted) {
    OCTAVO_TRY_VOID(node.expect_only({"type"}));
    add(pattern, behavior, is_inverted);
    return {};
  }

  JsonResult<void> expect_first(const JsonCursor& node, std::string_view found) const {
    if (out_.cuts.empty() && out_.word_steps.empty() && !out_.is_byte_level) return {};
    return std::unexpected(node.wrong(fmt::format("{} behind another part", found), "it first"));
  }

  JsonResult<void> read_byte_level(const JsonCursor& node) {
    OCTAVO_TRY_VOID(node.expect_only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    if (out_.is_byte_level) return std::unexpected(node.wrong("ByteLevel twice", "it once"));
    OCTAVO_TRY(const bool adds_space, node["add_prefix_space"].boolean_or(false));
    if (adds_space) {
      OCTAVO_TRY_VOID(expect_first(node, "ByteLevel with add_prefix_space"));
      out_.word_steps.push_back({.kind = TextStep::Kind::kPrepend, .when = TextStep::When::kUnlessThere, .to = " "});
    }
    OCTAVO_TRY(const bool cuts, node["use_regex"].boolean_or(true));
    if (cuts) add(kGpt2Cut, CutBehavior::kIsolated, false);
    out_.is_byte_level = true;
    return {};
  }

  JsonResult<void> read_split(const JsonCursor& node) {
    OCTAVO_TRY_VOID(node.expect_only({"type", "pattern", "behavior", "invert"}));
    const JsonCursor pattern = node["pattern"];
    OCTAVO_TRY_VOID(pattern.expect_only({"String", "Regex"}));
    const JsonCursor behavior_node = node["behavior"];
    OCTAVO_TRY(const CutBehavior behavior, read_behavior(behavior_node));
    OCTAVO_TRY(const bool is_inverted, node["invert"].boolean_or(false));
    if (const JsonCursor string = pattern["String"]; string.is_given()) {
      OCTAVO_TRY(const std::string_view text, string.needed_string());
      if (text.empty()) return std::unexpected(string.wrong_value("a text that is not empty"));
      OCTAVO_TRY_VOID(count(string, text));
      if (!removes(text)) add(escaped_pattern(text), behavior, is_inverted);
      return {};
    }
    const JsonCursor regex = pattern["Regex"];
    OCTAVO_TRY(const std::string_view text, regex.needed_string());
    OCTAVO_TRY_VOID(count(regex, text));
    if (const auto parsed = parse_pattern(text); !parsed && text != DigitGroups::kPattern)
      return std::unexpected(regex.wrong(parsed.error().message, "another one"));
    add(text, behavior, is_inverted);
    return {};
  }

  /// Error: a cut's own text and those of the cuts before it are longer than one pattern may be.
  JsonResult<void> count(const JsonCursor& node, std::string_view text) {
    num_text_bytes_ += text.size();
    if (num_text_bytes_ <= kMaxPatternBytes) return {};
    return std::unexpected(node.wrong(fmt::format("{} bytes of patterns up to here", num_text_bytes_),
                                      fmt::format("at most {}", kMaxPatternBytes)));
  }

  /// No text has `from` any more, so that nothing is cut there (Gemma cuts at spaces, which are U+2581 by then).
  bool removes(std::string_view from) const {
    if (!out_.word_steps.empty() || out_.is_byte_level) return false;
    const auto steps = TextSteps::create(out_.normalizer);
    return steps && steps->remove(from);
  }

  JsonResult<void> read_digits(const JsonCursor& node) {
    OCTAVO_TRY_VOID(node.expect_only({"type", "individual_digits"}));
    OCTAVO_TRY(const bool is_individual, node["individual_digits"].boolean_or(false));
    add(kDigitCut, is_individual ? CutBehavior::kIsolated : CutBehavior::kContiguous, false);
    return {};
  }

  JsonResult<void> read_punctuation(const JsonCursor& node) {
    OCTAVO_TRY_VOID(node.expect_only({"type", "behavior"}));
    CutBehavior behavior = CutBehavior::kIsolated;
    if (node["behavior"].is_given()) {
      OCTAVO_TRY(behavior, read_behavior(node["behavior"]));
    }
    add(kPunctuationCut, behavior, false);
    return {};
  }

  JsonResult<void> read_metaspace(const JsonCursor& node) {
    OCTAVO_TRY_VOID(
        node.expect_only({"type", "replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"}));
    const bool is_behind_words = out_.cuts.size() == 1 && out_.word_steps.empty() && is_space_cut(out_.cuts.front());
    if (!is_behind_words) OCTAVO_TRY_VOID(expect_first(node, "Metaspace"));
    const JsonCursor replacement = node["replacement"];
    OCTAVO_TRY(const std::string_view mark, replacement.needed_string());
    if (mark.empty() || mark == " ") return std::unexpected(replacement.wrong_value("a mark for spaces"));
    OCTAVO_TRY(const std::string_view scheme, read_prepend_scheme(node));
    OCTAVO_TRY(const bool splits, node["split"].boolean_or(true));
    if (is_behind_words) {
      // Each word gets its mark, and the cut in front of marks is the one between words.
      if (scheme != "always" || !splits)
        return std::unexpected(
            node.wrong(fmt::format("prepend_scheme '{}' and split {} behind WhitespaceSplit", scheme, splits),
                       "'always' and true"));
      out_.cuts.clear();
      out_.word_steps.push_back({.kind = TextStep::Kind::kMarkWords, .to = std::string(mark)});
    } else {
      add_mark_steps(mark, scheme);
    }
    if (splits) add(escaped_pattern(mark), CutBehavior::kMergedWithNext, false);
    return {};
  }

  static bool is_space_cut(const JsonCut& cut) {
    return cut.pattern == kSpaceCut && cut.how.behavior == CutBehavior::kRemoved && !cut.how.is_on_bytes;
  }

  void add_mark_steps(std::string_view mark, std::string_view scheme) {
    out_.word_steps.push_back({.kind = TextStep::Kind::kReplace, .from = " ", .to = std::string(mark)});
    if (scheme == "never") return;
    out_.word_steps.push_back(
        {.kind = TextStep::Kind::kPrepend,
         .when = scheme == "first" ? TextStep::When::kFirstUnlessThere : TextStep::When::kUnlessThere,
         .to = std::string(mark)});
  }

  JsonResult<void> read_bert(const JsonCursor& node) {
    OCTAVO_TRY_VOID(node.expect_only({"type"}));
    for (const CutStage& cut : kBertCuts) add(cut.pattern, cut.behavior, cut.is_inverted);
    return {};
  }

  TokenizerJsonPipeline& out_;
  std::size_t num_text_bytes_ = 0;
};

}  // namespace

JsonResult<std::string_view> read_prepend_scheme(const JsonCursor& node) {
  const JsonCursor given = node["prepend_scheme"];
  if (!given.is_given()) {
    OCTAVO_TRY(const bool adds_space, node["add_prefix_space"].boolean_or(true));
    return adds_space ? "always" : "never";
  }
  OCTAVO_TRY(const std::string_view scheme, given.needed_string());
  if (scheme != "always" && scheme != "first" && scheme != "never")
    return std::unexpected(given.wrong_value("always, first or never"));
  return scheme;
}

JsonResult<void> read_cuts(const JsonCursor& root, TokenizerJsonPipeline& out) {
  OCTAVO_TRY(const auto parts, parts_of(root["pre_tokenizer"], "pretokenizers"));
  CutReader reader(out);
  for (const JsonCursor& part : parts) OCTAVO_TRY_VOID(reader.read(part));
  return {};
}

}  // namespace octavo

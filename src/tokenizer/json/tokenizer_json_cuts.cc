#include "tokenizer/json/tokenizer_json_cuts.h"

#include <utility>

#include "tokenizer/pretokenize/pattern.h"

namespace octavo {

namespace {

constexpr std::size_t kMaxCuts = 32;

std::string escaped_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const bool is_ascii = (static_cast<unsigned char>(c) & 0x80) == 0;
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    pattern += is_ascii && !is_word ? fmt::format("\\x{{{:X}}}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return pattern;
}

Result<CutBehavior> read_behavior(const JsonNode& node) {
  constexpr std::pair<std::string_view, CutBehavior> kBehaviors[] = {
      {"Isolated", CutBehavior::kIsolated},
      {"Removed", CutBehavior::kRemoved},
      {"Contiguous", CutBehavior::kContiguous},
      {"MergedWithPrevious", CutBehavior::kMergedWithPrevious},
      {"MergedWithNext", CutBehavior::kMergedWithNext}};
  OCTAVO_TRY(const std::string_view text, node.text());
  for (const auto& [name, behavior] : kBehaviors)
    if (text == name) return behavior;
  return node.expect("Isolated, Removed, Contiguous, MergedWithPrevious or MergedWithNext");
}

/// Adds the cuts of a pre_tokenizer, one part after another.
class CutReader {
 public:
  explicit CutReader(TokenizerJsonPipeline& out) : out_(out) {}

  Result<void> read(const JsonNode& node) {
    OCTAVO_TRY(const JsonNode type_node, node.field("type"));
    OCTAVO_TRY(const std::string_view type, type_node.text());
    if (out_.cuts.size() == kMaxCuts) return node.refuse("one more cut", fmt::format("at most {}", kMaxCuts));
    if (type == "ByteLevel") return read_byte_level(node);
    if (type == "Split") return read_split(node);
    if (type == "Digits") return read_digits(node);
    if (type == "Punctuation") return read_punctuation(node);
    if (type == "Metaspace") return read_metaspace(node);
    if (type == "BertPreTokenizer") return read_bert(node);
    if (type == "WhitespaceSplit") return add_plain(node, kSpaceCut, CutBehavior::kRemoved, false);
    if (type == "Whitespace") return add_plain(node, kWordsAndSigns, CutBehavior::kRemoved, true);
    return type_node.expect(
        "ByteLevel, Split, Digits, Punctuation, Metaspace, Whitespace, WhitespaceSplit, BertPreTokenizer or Sequence");
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

  Result<void> add_plain(const JsonNode& node, std::string_view pattern, CutBehavior behavior, bool is_inverted) {
    OCTAVO_TRY_VOID(node.expect_only({"type"}));
    add(pattern, behavior, is_inverted);
    return {};
  }

  Result<void> expect_first(const JsonNode& node, std::string_view found) const {
    if (out_.cuts.empty() && out_.word_steps.empty() && !out_.is_byte_level) return {};
    return node.refuse(fmt::format("{} behind another part", found), "it first");
  }

  Result<void> read_byte_level(const JsonNode& node) {
    OCTAVO_TRY_VOID(node.expect_only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    if (out_.is_byte_level) return node.refuse("ByteLevel twice", "it once");
    OCTAVO_TRY(const bool adds_space, node.flag_of("add_prefix_space"));
    if (adds_space) {
      OCTAVO_TRY_VOID(expect_first(node, "ByteLevel with add_prefix_space"));
      out_.word_steps.push_back({.kind = TextStep::Kind::kPrepend, .when = TextStep::When::kUnlessThere, .to = " "});
    }
    OCTAVO_TRY(const auto use_regex, node.find("use_regex"));
    bool cuts = true;
    if (use_regex) {
      OCTAVO_TRY(cuts, use_regex->flag());
    }
    if (cuts) add(kGpt2Cut, CutBehavior::kIsolated, false);
    out_.is_byte_level = true;
    return {};
  }

  Result<void> read_split(const JsonNode& node) {
    OCTAVO_TRY_VOID(node.expect_only({"type", "pattern", "behavior", "invert"}));
    OCTAVO_TRY(const JsonNode pattern, node.field("pattern"));
    OCTAVO_TRY_VOID(pattern.expect_only({"String", "Regex"}));
    OCTAVO_TRY(const JsonNode behavior_node, node.field("behavior"));
    OCTAVO_TRY(const CutBehavior behavior, read_behavior(behavior_node));
    OCTAVO_TRY(const bool is_inverted, node.flag_of("invert"));
    OCTAVO_TRY(const auto string, pattern.find("String"));
    if (string) {
      OCTAVO_TRY(const std::string_view text, string->text());
      if (text.empty()) return string->expect("a text that is not empty");
      OCTAVO_TRY_VOID(count(*string, text));
      if (!removes(text)) add(escaped_pattern(text), behavior, is_inverted);
      return {};
    }
    OCTAVO_TRY(const JsonNode regex, pattern.field("Regex"));
    OCTAVO_TRY(const std::string_view text, regex.text());
    OCTAVO_TRY_VOID(count(regex, text));
    if (const auto parsed = parse_pattern(text); !parsed) return regex.refuse(parsed.error().message, "another one");
    add(text, behavior, is_inverted);
    return {};
  }

  /// Error: a cut's own text and those of the cuts before it are longer than one pattern may be.
  Result<void> count(const JsonNode& node, std::string_view text) {
    num_text_bytes_ += text.size();
    if (num_text_bytes_ <= kMaxPatternBytes) return {};
    return node.refuse(fmt::format("{} bytes of patterns up to here", num_text_bytes_),
                       fmt::format("at most {}", kMaxPatternBytes));
  }

  /// No text has `from` any more, so that nothing is cut there (Gemma cuts at spaces, which are U+2581 by then).
  bool removes(std::string_view from) const {
    if (!out_.word_steps.empty() || out_.is_byte_level) return false;
    const auto steps = TextSteps::create(out_.normalizer);
    return steps && steps->remove(from);
  }

  Result<void> read_digits(const JsonNode& node) {
    OCTAVO_TRY_VOID(node.expect_only({"type", "individual_digits"}));
    OCTAVO_TRY(const bool is_individual, node.flag_of("individual_digits"));
    add(kDigitCut, is_individual ? CutBehavior::kIsolated : CutBehavior::kContiguous, false);
    return {};
  }

  Result<void> read_punctuation(const JsonNode& node) {
    OCTAVO_TRY_VOID(node.expect_only({"type", "behavior"}));
    CutBehavior behavior = CutBehavior::kIsolated;
    OCTAVO_TRY(const auto behavior_node, node.find("behavior"));
    if (behavior_node) {
      OCTAVO_TRY(behavior, read_behavior(*behavior_node));
    }
    add(kPunctuationCut, behavior, false);
    return {};
  }

  Result<void> read_metaspace(const JsonNode& node) {
    OCTAVO_TRY_VOID(
        node.expect_only({"type", "replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"}));
    const bool is_behind_words = out_.cuts.size() == 1 && out_.word_steps.empty() && is_space_cut(out_.cuts.front());
    if (!is_behind_words) OCTAVO_TRY_VOID(expect_first(node, "Metaspace"));
    OCTAVO_TRY(const JsonNode replacement, node.field("replacement"));
    OCTAVO_TRY(const std::string_view mark, replacement.text());
    if (mark.empty() || mark == " ") return replacement.expect("a mark for spaces");
    OCTAVO_TRY(const std::string_view scheme, read_prepend_scheme(node));
    OCTAVO_TRY(const auto split_node, node.find("split"));
    bool splits = true;
    if (split_node) {
      OCTAVO_TRY(splits, split_node->flag());
    }
    if (is_behind_words) {
      // Each word gets its mark, and the cut in front of marks is the one between words.
      if (scheme != "always" || !splits)
        return node.refuse(fmt::format("prepend_scheme '{}' and split {} behind WhitespaceSplit", scheme, splits),
                           "'always' and true");
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

  Result<void> read_bert(const JsonNode& node) {
    OCTAVO_TRY_VOID(node.expect_only({"type"}));
    for (const CutStage& cut : kBertCuts) add(cut.pattern, cut.behavior, cut.is_inverted);
    return {};
  }

  TokenizerJsonPipeline& out_;
  std::size_t num_text_bytes_ = 0;
};

}  // namespace

Result<std::string_view> read_prepend_scheme(const JsonNode& node) {
  OCTAVO_TRY(const auto scheme_node, node.find("prepend_scheme"));
  if (!scheme_node) {
    OCTAVO_TRY(const auto flag_node, node.find("add_prefix_space"));
    bool adds_space = true;
    if (flag_node) {
      OCTAVO_TRY(adds_space, flag_node->flag());
    }
    return adds_space ? "always" : "never";
  }
  OCTAVO_TRY(const std::string_view scheme, scheme_node->text());
  if (scheme != "always" && scheme != "first" && scheme != "never")
    return scheme_node->expect("always, first or never");
  return scheme;
}

Result<void> read_cuts(const JsonNode& root, TokenizerJsonPipeline& out) {
  OCTAVO_TRY(const auto parts, root.parts_of("pre_tokenizer", "pretokenizers"));
  CutReader reader(out);
  for (const JsonNode& part : parts) OCTAVO_TRY_VOID(reader.read(part));
  return {};
}

}  // namespace octavo

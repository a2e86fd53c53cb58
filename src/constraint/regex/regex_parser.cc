#include "constraint/regex/regex_parser.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {
namespace {

constexpr std::size_t kStepsOfCategory = 1 << 12;  // all runs of one category are gone through
constexpr std::uint32_t kFirstHigh = 0xD800, kFirstLow = 0xDC00, kEndLow = 0xE000;

CodePointSet line_ends() {
  CodePointSet set('\n');
  set.add('\r');
  set.add(0x2028, 0x202A);
  return set;
}

CodePointSet digits() {
  CodePointSet set;
  set.add('0', '9' + 1);
  return set;
}

CodePointSet word_characters() {
  CodePointSet set = digits();
  set.add('a', 'z' + 1);
  set.add('A', 'Z' + 1);
  set.add('_');
  return set;
}

/// ECMA-262's WhiteSpace and LineTerminator.
CodePointSet ecma_space() {
  CodePointSet set = *code_points_of_category("Zs");
  set.add('\t', '\r' + 1);
  set.add(0x2028, 0x202A);
  set.add(0xFEFF);
  return set;
}

std::optional<std::uint32_t> only_member(const CodePointSet& set) {
  if (set.ranges().size() != 1 || set.ranges()[0].end - set.ranges()[0].begin != 1) return std::nullopt;
  return set.ranges()[0].begin;
}

/// The set of \d, \w, \s and their complements.
std::optional<CodePointSet> class_of_letter(char letter) {
  switch (letter) {
    case 'd': return digits();
    case 'D': return digits().complement();
    case 'w': return word_characters();
    case 'W': return word_characters().complement();
    case 's': return ecma_space();
    case 'S': return ecma_space().complement();
    default: return std::nullopt;
  }
}

std::optional<std::uint32_t> control_of_letter(char letter) {
  switch (letter) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'f': return '\f';
    case 'v': return '\v';
    default: return std::nullopt;
  }
}

}  // namespace

Result<RegexNode> RegexParser::parse() {
  if (text_.size() > kMaxRegexBytes)
    return fail("found a pattern of {} bytes, expected at most {}", text_.size(), kMaxRegexBytes);
  if (!is_valid_utf8(text_)) return fail("found the pattern {}, expected UTF-8", quote(text_));
  OCTAVO_TRY(RegexNode node, parse_alternatives(0));
  if (!at_end()) return refuse("a ')' that closes nothing");
  return node;
}

std::unexpected<Error> RegexParser::refuse(std::string_view found) const {
  return fail("the pattern {}: found {} at byte {}", quote(text_), found, place_);
}

bool RegexParser::takes(std::string_view expected) {
  if (!text_.substr(place_).starts_with(expected)) return false;
  place_ += expected.size();
  return true;
}

std::uint32_t RegexParser::take_character() {
  const std::uint32_t code_point = decode_utf8(text_.substr(place_));
  place_ += utf8_announced_length(text_[place_]);
  return code_point;
}

Result<void> RegexParser::count_ranges(const CodePointSet& set) {
  num_ranges_ += set.ranges().size();
  if (num_ranges_ > kMaxRegexRanges) return refuse(fmt::format("more than {} ranges of characters", kMaxRegexRanges));
  if (!work_.add(1 + set.ranges().size())) return std::unexpected(work_.error());
  return {};
}

Result<RegexNode> RegexParser::node_of(CodePointSet set) {
  OCTAVO_TRY_VOID(count_ranges(set));
  return RegexNode{.kind = Kind::kSet, .set = std::move(set)};
}

Result<RegexNode> RegexParser::parse_alternatives(int depth) {
  if (depth > kMaxRegexDepth) return refuse(fmt::format("groups nested deeper than {} levels", kMaxRegexDepth));
  RegexNode node{.kind = Kind::kAlternatives};
  do {
    OCTAVO_TRY(RegexNode child, parse_sequence(depth));
    node.children.push_back(std::move(child));
  } while (takes("|"));
  if (node.children.size() > 1) return node;
  RegexNode only = std::move(node.children.front());
  return only;
}

Result<RegexNode> RegexParser::parse_sequence(int depth) {
  RegexNode node{.kind = Kind::kSequence};
  while (!at_end() && text_[place_] != '|' && text_[place_] != ')') {
    OCTAVO_TRY(RegexNode atom, parse_atom(depth));
    OCTAVO_TRY(RegexNode repeated, parse_quantifier(std::move(atom)));
    node.children.push_back(std::move(repeated));
  }
  return node;
}

Result<RegexNode> RegexParser::parse_atom(int depth) {
  if (takes("(")) return parse_group(depth + 1);
  if (takes("^")) return RegexNode{.kind = Kind::kBegin};
  if (takes("$")) return RegexNode{.kind = Kind::kEnd};
  if (takes(".")) return node_of(line_ends().complement());
  if (takes("[")) {
    OCTAVO_TRY(CodePointSet set, parse_class());
    return node_of(std::move(set));
  }
  for (const char quantifier : {'*', '+', '?'})
    if (text_[place_] == quantifier) return refuse(fmt::format("'{}' with nothing to repeat before it", quantifier));
  if (takes("\\")) {
    OCTAVO_TRY(CodePointSet set, parse_escape(false));
    return node_of(std::move(set));
  }
  return node_of(CodePointSet(take_character()));
}

Result<RegexNode> RegexParser::parse_group(int depth) {
  for (const std::string_view look : {"?=", "?!", "?<=", "?<!"})
    if (text_.substr(place_).starts_with(look))
      return refuse(
          fmt::format("a look-around ({}...) elsewhere than a look-ahead behind ^ or a look-behind before $", look));
  if (takes("?<")) {
    const std::size_t end = text_.find('>', place_);
    if (end == std::string_view::npos) return refuse("a group's name that is not closed");
    place_ = end + 1;
  } else if (!takes("?:") && text_.substr(place_).starts_with("?")) {
    return refuse("a group other than (...), (?:...) and (?<name>...)");
  }
  OCTAVO_TRY(RegexNode group, parse_alternatives(depth));
  if (!takes(")")) return refuse("a group that is not closed");
  return group;
}

std::optional<std::uint32_t> RegexParser::take_number() {
  std::uint32_t number = 0;
  const char* begin = text_.data() + place_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
  if (end == begin) return std::nullopt;
  place_ += to_size(end - begin);
  // More than any text has: the automaton's bound refuses it.
  return error == std::errc() ? std::min(number, Grammar::kAnyNumber - 1) : Grammar::kAnyNumber - 1;
}

Result<std::optional<RegexNode>> RegexParser::parse_counts() {
  const std::size_t begin = place_;
  const auto is_character = [&] {
    place_ = begin;
    return std::optional<RegexNode>();
  };
  ++place_;
  const auto min = take_number();
  if (!min) return is_character();
  std::uint32_t max = *min;
  if (takes(",")) max = take_number().value_or(Grammar::kAnyNumber);
  if (!takes("}")) return is_character();
  if (max < *min) return refuse("counts whose first is above their second");
  return RegexNode{.kind = Kind::kRepeat, .min = *min, .max = max};
}

Result<RegexNode> RegexParser::parse_quantifier(RegexNode atom) {
  const char next = at_end() ? '\0' : text_[place_];
  RegexNode repeat{.kind = Kind::kRepeat, .min = next == '+' ? 1U : 0U, .max = next == '?' ? 1U : Grammar::kAnyNumber};
  if (next == '{') {
    OCTAVO_TRY(std::optional<RegexNode> counted, parse_counts());
    if (!counted) return atom;
    repeat = std::move(*counted);
  } else if (next == '*' || next == '+' || next == '?') {
    ++place_;
  } else {
    return atom;
  }
  repeat.children.push_back(std::move(atom));
  takes("?");  // a lazy quantifier matches the same texts
  for (const std::string_view further : {"*", "+", "?"})
    if (text_.substr(place_).starts_with(further)) return refuse("a quantifier behind a quantifier");
  return repeat;
}

Result<CodePointSet> RegexParser::parse_class() {
  const bool is_negated = takes("^");
  std::vector<CodePointSet::Range> ranges;
  while (!at_end() && text_[place_] != ']') {
    OCTAVO_TRY(const CodePointSet item, parse_class_item());
    OCTAVO_TRY_VOID(count_ranges(item));
    ranges.insert(ranges.end(), item.ranges().begin(), item.ranges().end());
  }
  const auto set = CodePointSet::of_ranges(std::move(ranges));
  if (!takes("]")) return refuse("a class that is not closed");
  return is_negated ? set.complement() : set;
}

Result<CodePointSet> RegexParser::parse_class_item() {
  const auto take_item = [this]() -> Result<CodePointSet> {
    if (takes("\\")) return parse_escape(true);
    return CodePointSet(take_character());
  };
  OCTAVO_TRY(CodePointSet item, take_item());
  const auto first = only_member(item);
  const std::string_view rest = text_.substr(place_);
  if (!first || rest.size() < 2 || rest[0] != '-' || rest[1] == ']') return item;
  ++place_;
  OCTAVO_TRY(const CodePointSet end, take_item());
  const auto last = only_member(end);
  if (!last) {  // the hyphen is a character, as engines take it without the flag u
    item.add('-');
    item.add(end);
    return item;
  }
  if (*last < *first) return refuse("a range whose first character is above its last");
  item.add(*first, *last + 1);
  return item;
}

Result<std::uint32_t> RegexParser::parse_hex(std::size_t num_digits) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < num_digits; ++i, ++place_) {
    const char c = at_end() ? '\0' : text_[place_];
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return refuse("no hexadecimal digit");
    value = value * 16 + static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return value;
}

/// A pair of surrogates is one character.
Result<std::uint32_t> RegexParser::parse_low_surrogate(std::uint32_t high) {
  const std::size_t begin = place_;
  if (takes("\\u") && !takes("{")) {
    OCTAVO_TRY(const std::uint32_t low, parse_hex(4));
    if (low >= kFirstLow && low < kEndLow) return 0x10000 + ((high - kFirstHigh) << 10) + (low - kFirstLow);
  }
  place_ = begin;
  return high;
}

/// The rest of \xHH, \uHHHH, \u{H...} and \cX.
Result<std::uint32_t> RegexParser::parse_code_point(char letter) {
  if (letter == 'c') {
    const char control = at_end() ? '\0' : text_[place_];
    if (std::isalpha(static_cast<unsigned char>(control)) == 0) return refuse("\\c without a letter");
    ++place_;
    return static_cast<std::uint32_t>(control) % 32;
  }
  if (letter == 'x') return parse_hex(2);
  if (!takes("{")) {
    OCTAVO_TRY(const std::uint32_t unit, parse_hex(4));
    return unit >= kFirstHigh && unit < kFirstLow ? parse_low_surrogate(unit) : Result<std::uint32_t>(unit);
  }
  const std::size_t end = text_.find('}', place_);
  if (end == std::string_view::npos || end == place_ || end - place_ > 6) return refuse("no code point in braces");
  OCTAVO_TRY(const std::uint32_t code_point, parse_hex(end - place_));
  ++place_;
  if (code_point >= CodePointSet::kLimit) return refuse("a code point beyond Unicode");
  return code_point;
}

Result<CodePointSet> RegexParser::parse_property(bool is_negated) {
  const std::size_t end = text_.find('}', place_);
  if (!takes("{") || end == std::string_view::npos) return refuse("\\p without a property in braces");
  std::string_view name = text_.substr(place_, end - place_);
  for (const std::string_view prefix : {"General_Category=", "gc="})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  struct LongName {
    std::string_view name, category;
  };
  static constexpr LongName kLongNames[] = {{"Letter", "L"}, {"Lowercase_Letter", "Ll"}, {"Uppercase_Letter", "Lu"},
                                            {"Number", "N"}, {"Decimal_Number", "Nd"},   {"Punctuation", "P"},
                                            {"Symbol", "S"}, {"Separator", "Z"},         {"Mark", "M"}};
  for (const auto& [long_name, category] : kLongNames)
    if (name == long_name) name = category;
  const auto [known, is_new] = categories_.try_emplace(std::string(name));
  if (is_new) {
    work_.add(kStepsOfCategory);
    known->second = code_points_of_category(name);
  }
  const std::optional<CodePointSet>& set = known->second;
  if (!set) return refuse("a property that is no general category");
  place_ = end + 1;
  return is_negated ? set->complement() : *set;
}

Result<CodePointSet> RegexParser::parse_escape(bool in_class) {
  if (at_end()) return refuse("a backslash at the end");
  const char letter = text_[place_];
  if (letter == 'p' || letter == 'P') {
    ++place_;
    return parse_property(letter == 'P');
  }
  if (in_class && takes("b")) return CodePointSet('\b');
  if (letter == 'b' || letter == 'B') return refuse(fmt::format("\\{}, which is not supported", letter));
  if (const auto set = class_of_letter(letter)) {
    ++place_;
    return *set;
  }
  if (const auto control = control_of_letter(letter)) {
    ++place_;
    return CodePointSet(*control);
  }
  if (letter == 'x' || letter == 'u' || letter == 'c') {
    ++place_;
    OCTAVO_TRY(const std::uint32_t code_point, parse_code_point(letter));
    return CodePointSet(code_point);
  }
  const bool is_nul =
      letter == '0' && (place_ + 1 == text_.size() || std::isdigit(static_cast<unsigned char>(text_[place_ + 1])) == 0);
  if (is_nul) {
    ++place_;
    return CodePointSet(std::uint32_t{0});
  }
  if (std::isdigit(static_cast<unsigned char>(letter)) != 0 || letter == 'k')
    return refuse("a back-reference, which is not supported");
  if (std::isalpha(static_cast<unsigned char>(letter)) != 0) return refuse(fmt::format("'\\{}'", letter));
  return CodePointSet(take_character());
}

}  // namespace octavo

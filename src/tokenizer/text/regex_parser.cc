#include "tokenizer/text/regex_parser.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {
namespace {

constexpr std::uint64_t kStepsOfCategory = 1 << 12;  // all runs of one category are gone through
constexpr std::uint32_t kMaxCount = 1000;            // of a repeat in Oniguruma's dialect
constexpr std::uint32_t kFirstHigh = 0xD800, kFirstLow = 0xDC00, kEndLow = 0xE000;

CodePointSet ascii_digits() { return CodePointSet::of_ranges({{'0', '9' + 1}}); }

CodePointSet ascii_word() {
  return CodePointSet::of_ranges({{'0', '9' + 1}, {'A', 'Z' + 1}, {'_', '_' + 1}, {'a', 'z' + 1}});
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

std::optional<std::uint32_t> control_of_letter(char letter) {
  static constexpr std::string_view kLetters = "nrtfv", kControls = "\n\r\t\f\v";
  const std::size_t place = kLetters.find(letter);
  if (place == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint32_t>(kControls[place]);
}

/// ASCII letters in both cases, and the two characters beyond ASCII whose other case is in it: U+017F and U+212A.
CodePointSet with_both_cases(CodePointSet set) {
  for (std::uint32_t lower = 'a'; lower <= 'z'; ++lower) {
    const std::uint32_t upper = lower - 'a' + 'A';
    const std::uint32_t third = lower == 's' ? 0x17F : lower == 'k' ? 0x212A : lower;
    if (!set.contains(lower) && !set.contains(upper) && !set.contains(third)) continue;
    for (const std::uint32_t code_point : {lower, upper, third}) set.add(code_point);
  }
  return set;
}

/// The name of a general category that ECMA-262 writes out, as Unicode abbreviates it.
std::string_view short_category(std::string_view name) {
  for (const std::string_view prefix : {"General_Category=", "gc="})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kLongNames = {
      {{"Letter", "L"},
       {"Lowercase_Letter", "Ll"},
       {"Uppercase_Letter", "Lu"},
       {"Number", "N"},
       {"Decimal_Number", "Nd"},
       {"Punctuation", "P"},
       {"Symbol", "S"},
       {"Separator", "Z"},
       {"Mark", "M"}}};
  for (const auto& [long_name, category] : kLongNames)
    if (name == long_name) return category;
  return name;
}

bool can_read_nothing(const RegexNode& node) {
  using Kind = RegexNode::Kind;
  switch (node.kind) {
    case Kind::kSet: return false;
    case Kind::kSequence: return std::ranges::all_of(node.children, can_read_nothing);
    case Kind::kAlternatives: return std::ranges::any_of(node.children, can_read_nothing);
    case Kind::kRepeat: return node.min == 0 || can_read_nothing(node.children.front());
    default: return true;
  }
}

class RegexParser {
 public:
  RegexParser(std::string_view text, const RegexRules& rules)
      : text_(text), rules_(rules), is_ecma_(rules.dialect == RegexDialect::kEcma) {}

  Result<RegexNode> parse();

 private:
  using Kind = RegexNode::Kind;

  Result<RegexNode> parse_alternatives(bool ignores_case, int depth);
  Result<RegexNode> parse_sequence(bool ignores_case, int depth);
  Result<RegexNode> parse_atom(bool ignores_case, int depth);
  Result<RegexNode> parse_group(bool ignores_case, int depth);
  Result<RegexNode> parse_look_ahead(Kind kind, bool ignores_case, int depth);
  Result<RegexNode> parse_quantifier(RegexNode atom);
  /// Passes over (?!X) where the pattern or an alternative of it ends with X+(?!X), which is X+: a greedy repeat ends
  /// where no X is next. `atom`: the text of X.
  void skip_end_of_repeat(const RegexNode& repeat, std::string_view atom);
  /// {m}, {m,} or {m,n} of `repeat`; false: the brace is a character.
  Result<bool> parse_counts(RegexNode& repeat);
  /// Repeats a character without giving any back: X*+ is X* with no X next.
  Result<RegexNode> make_possessive(RegexNode repeat, RegexNode atom);

  Result<CodePointSet> parse_class(bool ignores_case, int depth);
  Result<CodePointSet> parse_class_items(bool ignores_case, int depth);
  /// One member of a class: a set, or a single character, which may begin a range.
  Result<CodePointSet> parse_class_item(bool ignores_case, int depth);
  /// An escape or a character, which is there.
  Result<CodePointSet> parse_item(bool in_class);
  Result<CodePointSet> parse_escape(bool in_class);
  Result<CodePointSet> parse_property(bool is_negated);
  /// The rest of an escape of a code point behind x, u or c.
  Result<std::uint32_t> parse_code_point(char letter);
  Result<std::uint32_t> parse_hex(std::size_t least, std::size_t most);
  Result<std::uint32_t> parse_low_surrogate(std::uint32_t high);
  std::optional<std::uint32_t> take_count();
  std::uint32_t take_character();

  /// A character of the set. Error: the pattern's sets have too many ranges, or nobody waits for it any more.
  Result<RegexNode> node_of(CodePointSet set);
  Result<void> count_ranges(const CodePointSet& set);
  Result<void> count(std::uint64_t num_steps) { return rules_.count ? rules_.count(num_steps) : Result<void>(); }
  /// The set of \d, \w, \s and their complements.
  std::optional<CodePointSet> class_of_letter(char letter) const;
  CodePointSet line_ends() const;

  std::string_view rest() const { return text_.substr(place_); }
  bool at_end() const { return place_ == text_.size(); }
  bool is_next(std::string_view any_of) const { return !at_end() && any_of.contains(text_[place_]); }
  bool takes(std::string_view expected);
  std::unexpected<Error> refuse(std::string_view found) const;
  /// The words of the dialect.
  std::unexpected<Error> refuse(std::string_view in_ecma, std::string_view in_oniguruma) const {
    return refuse(is_ecma_ ? in_ecma : in_oniguruma);
  }

  std::string_view text_;
  const RegexRules& rules_;
  const bool is_ecma_;
  std::size_t place_ = 0;
  std::size_t num_ranges_ = 0;
  std::map<std::string, std::optional<CodePointSet>, std::less<>> categories_;  // the categories that were looked up
};

Result<RegexNode> RegexParser::parse() {
  if (text_.size() > rules_.max_bytes)
    return fail("found a pattern of {} bytes, expected at most {}", text_.size(), rules_.max_bytes);
  if (!is_valid_utf8(text_)) return fail("found the pattern {}, expected UTF-8", quote(text_));
  OCTAVO_TRY(RegexNode node, parse_alternatives(false, 0));
  if (!at_end()) return refuse("a ')' that closes nothing");
  return node;
}

std::unexpected<Error> RegexParser::refuse(std::string_view found) const {
  return fail("the pattern {}: found {} at byte {}{}", quote(text_), found, place_,
              is_ecma_ ? "" : ", which is not supported");
}

bool RegexParser::takes(std::string_view expected) {
  if (!rest().starts_with(expected)) return false;
  place_ += expected.size();
  return true;
}

std::uint32_t RegexParser::take_character() {
  const std::uint32_t code_point = decode_utf8(rest());
  place_ += utf8_announced_length(text_[place_]);
  return code_point;
}

Result<void> RegexParser::count_ranges(const CodePointSet& set) {
  num_ranges_ += set.ranges().size();
  if (num_ranges_ > kMaxRegexRanges) return refuse(fmt::format("more than {} ranges of characters", kMaxRegexRanges));
  return count(1 + set.ranges().size());
}

Result<RegexNode> RegexParser::node_of(CodePointSet set) {
  OCTAVO_TRY_VOID(count_ranges(set));
  return RegexNode{.kind = Kind::kSet, .set = std::move(set)};
}

CodePointSet RegexParser::line_ends() const {
  return is_ecma_ ? CodePointSet::of_ranges({{'\n', '\n' + 1}, {'\r', '\r' + 1}, {0x2028, 0x202A}})
                  : CodePointSet('\n');
}

Result<RegexNode> RegexParser::parse_alternatives(bool ignores_case, int depth) {
  if (depth > rules_.max_depth)
    return refuse(fmt::format("groups nested deeper than {} levels", rules_.max_depth), "groups nested too deep");
  RegexNode node{.kind = Kind::kAlternatives};
  do {
    OCTAVO_TRY(node.children.emplace_back(), parse_sequence(ignores_case, depth));
  } while (takes("|"));
  if (node.children.size() > 1 && !std::ranges::all_of(node.children, &RegexNode::is_nothing)) return node;
  RegexNode first = std::move(node.children.front());
  return first;
}

Result<RegexNode> RegexParser::parse_sequence(bool ignores_case, int depth) {
  RegexNode node;
  while (!at_end() && !is_next("|)")) {
    const std::size_t begin = place_;
    OCTAVO_TRY(RegexNode atom, parse_atom(ignores_case, depth));
    const std::string_view atom_text = text_.substr(begin, place_ - begin);
    OCTAVO_TRY(RegexNode repeated, parse_quantifier(std::move(atom)));
    if (depth == 0 && !is_ecma_) skip_end_of_repeat(repeated, atom_text);
    if (!repeated.is_nothing()) node.children.push_back(std::move(repeated));
  }
  if (node.children.size() != 1) return node;
  RegexNode only = std::move(node.children.front());
  return only;
}

Result<RegexNode> RegexParser::parse_atom(bool ignores_case, int depth) {
  if (takes("(")) return parse_group(ignores_case, depth + 1);
  if (takes("$")) return RegexNode{.kind = Kind::kEnd, .set = line_ends()};
  if (takes(".")) return node_of(line_ends().complement());
  if (is_ecma_ && takes("^")) return RegexNode{.kind = Kind::kBegin};
  if (takes("[")) {
    OCTAVO_TRY(CodePointSet set, parse_class(ignores_case, depth + 1));
    return node_of(std::move(set));
  }
  if (is_next(is_ecma_ ? "*+?" : "^*+?{"))
    return refuse(fmt::format("'{}'{}", text_[place_], is_ecma_ ? " with nothing to repeat before it" : ""));
  OCTAVO_TRY(CodePointSet set, parse_item(false));
  return node_of(ignores_case ? with_both_cases(std::move(set)) : std::move(set));
}

Result<RegexNode> RegexParser::parse_group(bool ignores_case, int depth) {
  if (is_ecma_) {
    for (const std::string_view look : {"?=", "?!", "?<=", "?<!"})
      if (rest().starts_with(look))
        return refuse(
            fmt::format("a look-around ({}...) elsewhere than a look-ahead behind ^ or a look-behind before $", look));
  } else {
    if (takes("?=")) return parse_look_ahead(Kind::kNext, ignores_case, depth);
    if (takes("?!")) return parse_look_ahead(Kind::kNotNext, ignores_case, depth);
  }
  if (is_ecma_ && takes("?<")) {
    const std::size_t end = text_.find('>', place_);
    if (end == std::string_view::npos) return refuse("a group's name that is not closed");
    place_ = end + 1;
  } else if (!is_ecma_ && takes("?i:")) {
    ignores_case = true;
  } else if (!takes("?:") && is_next("?")) {
    return refuse("a group other than (...), (?:...) and (?<name>...)",
                  "a group other than (?:), (?i:), (?=) and (?!)");
  }
  OCTAVO_TRY(RegexNode group, parse_alternatives(ignores_case, depth));
  if (!takes(")")) return refuse("a group that is not closed");
  return group;
}

Result<RegexNode> RegexParser::parse_look_ahead(Kind kind, bool ignores_case, int depth) {
  OCTAVO_TRY(RegexNode group, parse_alternatives(ignores_case, depth));
  if (group.kind != Kind::kSet) return refuse("a look-ahead at more than one character");
  if (!takes(")")) return refuse("a group that is not closed");
  group.kind = kind;
  return group;
}

std::optional<std::uint32_t> RegexParser::take_count() {
  std::uint32_t number = 0;
  const char* begin = text_.data() + place_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
  if (end == begin) return std::nullopt;
  // More than any text has: the automaton's bound refuses it.
  number = error == std::errc() ? std::min(number, RegexNode::kAnyNumber - 1) : RegexNode::kAnyNumber - 1;
  if (!is_ecma_ && number > kMaxCount) return std::nullopt;
  place_ += to_size(end - begin);
  return number;
}

Result<bool> RegexParser::parse_counts(RegexNode& repeat) {
  const std::size_t begin = place_++;
  const auto no_counts = [&](std::string_view found) -> Result<bool> {
    if (!is_ecma_) return refuse(found);
    place_ = begin;
    return false;
  };
  const std::string no_number = fmt::format("no count of at most {}", kMaxCount);
  const auto min = take_count();
  if (!min) return no_counts(no_number);
  repeat.min = repeat.max = *min;
  if (takes(",")) {
    const bool is_bounded = !is_next("}");
    const auto max = is_bounded ? take_count() : RegexNode::kAnyNumber;
    if (!max) return no_counts(no_number);
    repeat.max = *max;
  }
  if (!takes("}")) return no_counts("counts that are not closed");
  if (repeat.min > repeat.max)
    return refuse("counts whose first is above their second", "a range of counts that is empty");
  return true;
}

Result<RegexNode> RegexParser::parse_quantifier(RegexNode atom) {
  RegexNode repeat{.kind = Kind::kRepeat, .max = RegexNode::kAnyNumber};
  bool has_counts = false;
  if (is_next("{")) {
    OCTAVO_TRY(has_counts, parse_counts(repeat));
    if (!has_counts) return atom;
  } else if (is_next("*+?")) {
    repeat.min = text_[place_] == '+' ? 1 : 0;
    if (text_[place_++] == '?') repeat.max = 1;
  } else {
    return atom;
  }
  if (!is_ecma_ && is_next("+")) {
    if (has_counts) return refuse("'+' behind counts");
    ++place_;
    return make_possessive(std::move(repeat), std::move(atom));
  }
  repeat.is_lazy = takes("?");
  if (is_next(is_ecma_ ? "*+?" : "*+?{")) return refuse("a quantifier behind a quantifier");
  if (atom.is_nothing() || repeat.max == 0) return RegexNode();
  repeat.children.push_back(std::move(atom));
  return repeat;
}

void RegexParser::skip_end_of_repeat(const RegexNode& repeat, std::string_view atom) {
  if (repeat.kind != Kind::kRepeat || repeat.max != RegexNode::kAnyNumber || repeat.is_lazy) return;
  if (can_read_nothing(repeat.children.front())) return;
  constexpr std::string_view kGroup = "(?:";
  if (atom.starts_with(kGroup)) atom = atom.substr(kGroup.size(), atom.size() - kGroup.size() - 1);
  const std::string look = fmt::format("(?!{})", atom);
  const std::string_view behind = rest().substr(std::min(look.size(), rest().size()));
  if (rest().starts_with(look) && (behind.empty() || behind.front() == '|')) place_ += look.size();
}

Result<RegexNode> RegexParser::make_possessive(RegexNode repeat, RegexNode atom) {
  if (atom.kind != Kind::kSet) return refuse("a possessive group");
  RegexNode none_next{.kind = Kind::kNotNext, .set = atom.set};
  // X?+ is X, or nothing where X is not next.
  if (repeat.max == 1) return RegexNode{.kind = Kind::kAlternatives, .children = {std::move(atom), none_next}};
  repeat.children.push_back(std::move(atom));
  return RegexNode{.kind = Kind::kSequence, .children = {std::move(repeat), std::move(none_next)}};
}

Result<CodePointSet> RegexParser::parse_class(bool ignores_case, int depth) {
  if (!is_ecma_ && depth > rules_.max_depth) return refuse("classes nested too deep");
  const bool is_negated = takes("^");
  OCTAVO_TRY(CodePointSet set, parse_class_items(ignores_case, depth));
  while (!is_ecma_ && takes("&&")) {
    OCTAVO_TRY(const CodePointSet other, parse_class_items(ignores_case, depth));
    set = set.intersection(other);
  }
  if (!takes("]")) return refuse("a class that is not closed");
  if (!is_ecma_ && set.ranges().empty()) return refuse("an empty class");
  return is_negated ? set.complement() : set;
}

Result<CodePointSet> RegexParser::parse_class_items(bool ignores_case, int depth) {
  std::vector<CodePointSet::Range> ranges;
  while (!at_end() && !is_next("]") && (is_ecma_ || !rest().starts_with("&&"))) {
    OCTAVO_TRY(const CodePointSet item, parse_class_item(ignores_case, depth));
    OCTAVO_TRY_VOID(count_ranges(item));
    ranges.insert(ranges.end(), item.ranges().begin(), item.ranges().end());
  }
  return CodePointSet::of_ranges(std::move(ranges));
}

Result<CodePointSet> RegexParser::parse_class_item(bool ignores_case, int depth) {
  if (!is_ecma_ && rest().starts_with("[:")) return refuse("a POSIX class");
  if (!is_ecma_ && takes("[")) return parse_class(ignores_case, depth + 1);
  OCTAVO_TRY(CodePointSet item, parse_item(true));
  const auto first = only_member(item);
  if (first && is_next("-") && rest().size() > 1 && rest()[1] != ']') {
    ++place_;
    OCTAVO_TRY(const CodePointSet end, parse_item(true));
    const auto last = only_member(end);
    if (last ? *last < *first : !is_ecma_)
      return refuse("a range whose first character is above its last", "a range that ends before it begins");
    if (last) {
      item.add(*first, *last + 1);
    } else {  // the hyphen is a character, as engines take it without the flag u
      item.add('-');
      item.add(end);
    }
  }
  return ignores_case ? with_both_cases(std::move(item)) : item;
}

Result<std::uint32_t> RegexParser::parse_hex(std::size_t least, std::size_t most) {
  std::uint32_t value = 0;
  std::size_t num_digits = 0;
  for (; num_digits < most && !at_end(); ++num_digits, ++place_) {
    const char c = text_[place_];
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) break;
    value = value * 16 + static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  if (num_digits < least) return refuse("no hexadecimal digit", "no code point in hexadecimal digits");
  return value;
}

/// A pair of surrogates is one character.
Result<std::uint32_t> RegexParser::parse_low_surrogate(std::uint32_t high) {
  const std::size_t begin = place_;
  if (takes("\\u") && !takes("{")) {
    OCTAVO_TRY(const std::uint32_t low, parse_hex(4, 4));
    if (low >= kFirstLow && low < kEndLow) return 0x10000 + ((high - kFirstHigh) << 10) + (low - kFirstLow);
  }
  place_ = begin;
  return high;
}

/// \xHH, \uHHHH and \cX; in braces \u{H...}, or Oniguruma's \x{H...}, whose other digits may also be fewer.
Result<std::uint32_t> RegexParser::parse_code_point(char letter) {
  if (letter == 'c') {
    const char control = at_end() ? '\0' : text_[place_];
    if (std::isalpha(static_cast<unsigned char>(control)) == 0) return refuse("\\c without a letter");
    ++place_;
    return static_cast<std::uint32_t>(control) % 32;
  }
  if (letter == (is_ecma_ ? 'u' : 'x') && takes("{")) {
    const std::size_t end = text_.find('}', place_), most = is_ecma_ ? 6 : 8;
    if (end == std::string_view::npos || end == place_ || end - place_ > most) return refuse("no code point in braces");
    OCTAVO_TRY(const std::uint32_t code_point, parse_hex(end - place_, end - place_));
    ++place_;
    if (code_point >= CodePointSet::kLimit) return refuse("a code point beyond Unicode");
    return code_point;
  }
  const std::size_t num_digits = letter == 'x' ? 2 : 4;
  OCTAVO_TRY(const std::uint32_t unit, parse_hex(is_ecma_ ? num_digits : 1, num_digits));
  return is_ecma_ && unit >= kFirstHigh && unit < kFirstLow ? parse_low_surrogate(unit) : Result<std::uint32_t>(unit);
}

Result<CodePointSet> RegexParser::parse_property(bool is_negated) {
  const std::size_t end = text_.find('}', place_);
  if (!takes("{") || end == std::string_view::npos) return refuse("\\p without a property in braces");
  if (!is_ecma_ && takes("^")) is_negated = !is_negated;
  const std::string_view given = text_.substr(place_, end - place_);
  const std::string_view name = is_ecma_ ? short_category(given) : given;
  const auto [known, is_new] = categories_.try_emplace(std::string(name));
  if (is_new) {
    OCTAVO_TRY_VOID(count(kStepsOfCategory));
    known->second = code_points_of_category(name);
  }
  const std::optional<CodePointSet>& set = known->second;
  if (!set) return refuse("a property that is no general category");
  place_ = end + 1;
  return is_negated ? set->complement() : *set;
}

std::optional<CodePointSet> RegexParser::class_of_letter(char letter) const {
  switch (letter) {
    case 'd': return is_ecma_ ? ascii_digits() : *code_points_of_category("Nd");
    case 's': return is_ecma_ ? ecma_space() : white_space();
    case 'w': return is_ecma_ ? std::optional(ascii_word()) : std::nullopt;
    case 'D':
    case 'S':
    case 'W': {
      const auto set = class_of_letter(static_cast<char>(letter | 0x20));
      return set ? std::optional(set->complement()) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

Result<CodePointSet> RegexParser::parse_item(bool in_class) {
  return takes("\\") ? parse_escape(in_class) : CodePointSet(take_character());
}

Result<CodePointSet> RegexParser::parse_escape(bool in_class) {
  if (at_end()) return refuse("a backslash at the end");
  const char letter = text_[place_];
  if (takes("p") || takes("P")) return parse_property(letter == 'P');
  if (is_ecma_ && in_class && takes("b")) return CodePointSet('\b');
  if (is_ecma_ && is_next("bB")) return refuse(fmt::format("\\{}, which is not supported", letter));
  if (const auto set = class_of_letter(letter)) {
    ++place_;
    return *set;
  }
  if (const auto control = control_of_letter(letter)) {
    ++place_;
    return CodePointSet(*control);
  }
  if (takes("x") || takes("u") || (is_ecma_ && takes("c"))) {
    OCTAVO_TRY(const std::uint32_t code_point, parse_code_point(letter));
    return CodePointSet(code_point);
  }
  const auto is_digit = [this](std::size_t place) {
    return place < text_.size() && std::isdigit(static_cast<unsigned char>(text_[place])) != 0;
  };
  if (is_ecma_ && letter == '0' && !is_digit(place_ + 1)) {
    ++place_;
    return CodePointSet(std::uint32_t{0});
  }
  if (is_ecma_ && (is_digit(place_) || letter == 'k')) return refuse("a back-reference, which is not supported");
  if (std::isalnum(static_cast<unsigned char>(letter)) != 0) return refuse(fmt::format("'\\{}'", letter));
  return CodePointSet(take_character());
}

}  // namespace

Result<RegexNode> parse_regex(std::string_view text, const RegexRules& rules) {
  return RegexParser(text, rules).parse();
}

}  // namespace octavo

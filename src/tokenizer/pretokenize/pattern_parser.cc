#include "tokenizer/pretokenize/pattern_parser.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"
#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {

Result<Pattern> Pattern::parse(std::string_view text) { return PatternParser(text).parse(); }

Result<Pattern> PatternParser::parse() {
  if (text_.size() > Pattern::kMaxBytes) {
    return fail("the pattern has {} bytes; at most {} are read", text_.size(), Pattern::kMaxBytes);
  }
  if (!is_valid_utf8(text_)) return fail("the pattern {} is not UTF-8", quote(text_));
  OCTAVO_TRY(pattern_.root, parse_alternatives(false, 0));
  if (!at_end()) return refuse("')' that closes nothing");
  return std::move(pattern_);
}

std::unexpected<Error> PatternParser::refuse(std::string_view found) const {
  return fail("the pattern {}: found {} at byte {}, which is not supported", quote(text_), found, place_);
}

bool PatternParser::takes(std::string_view expected) {
  if (!text_.substr(place_).starts_with(expected)) return false;
  place_ += expected.size();
  return true;
}

Result<std::uint32_t> PatternParser::take_character() {
  if (at_end()) return refuse("the end");
  const std::uint32_t code_point = decode_utf8(text_.substr(place_));
  place_ += utf8_announced_length(text_[place_]);
  return code_point;
}

std::uint32_t PatternParser::add(PatternNode node) {
  pattern_.nodes.push_back(std::move(node));
  return static_cast<std::uint32_t>(pattern_.nodes.size()) - 1;
}

std::uint32_t PatternParser::add_set(CodePointSet set, Kind kind) {
  const auto known = std::ranges::find(pattern_.sets, set);
  const auto index = static_cast<std::uint32_t>(known - pattern_.sets.begin());
  if (known == pattern_.sets.end()) pattern_.sets.push_back(std::move(set));
  return add({.kind = kind, .set = index});
}

bool PatternParser::is_nothing(std::uint32_t node) const {
  return pattern_.nodes[node].kind == Kind::kSequence && pattern_.nodes[node].children.empty();
}

// ASCII letters in both cases, and the two characters beyond ASCII whose other case is in it: U+017F and U+212A.
CodePointSet PatternParser::with_both_cases(CodePointSet set) {
  for (std::uint32_t lower = 'a'; lower <= 'z'; ++lower) {
    const std::uint32_t upper = lower - 'a' + 'A';
    const std::uint32_t third = lower == 's' ? 0x17F : lower == 'k' ? 0x212A : lower;
    if (!set.contains(lower) && !set.contains(upper) && !set.contains(third)) continue;
    for (const std::uint32_t code_point : {lower, upper, third}) set.add(code_point);
  }
  return set;
}

Result<std::uint32_t> PatternParser::parse_alternatives(bool ignores_case, int depth) {
  if (depth > Pattern::kMaxDepth) return refuse("groups nested too deep");
  PatternNode node{.kind = Kind::kAlternatives};
  do {
    OCTAVO_TRY(const std::uint32_t child, parse_sequence(ignores_case, depth));
    node.children.push_back(child);
  } while (takes("|"));
  const bool has_choice =
      std::ranges::any_of(node.children, [this](std::uint32_t child) { return !is_nothing(child); });
  return node.children.size() == 1 || !has_choice ? node.children.front() : add(std::move(node));
}

Result<std::uint32_t> PatternParser::parse_sequence(bool ignores_case, int depth) {
  PatternNode node{.kind = Kind::kSequence};
  while (!at_end() && text_[place_] != '|' && text_[place_] != ')') {
    OCTAVO_TRY(const std::uint32_t atom, parse_atom(ignores_case, depth));
    OCTAVO_TRY(const std::uint32_t repeated, parse_quantifier(atom));
    if (!is_nothing(repeated)) node.children.push_back(repeated);
  }
  return node.children.size() == 1 ? node.children.front() : add(std::move(node));
}

Result<std::uint32_t> PatternParser::parse_atom(bool ignores_case, int depth) {
  if (takes("(")) return parse_group(ignores_case, depth + 1);
  if (takes("[")) {
    OCTAVO_TRY(CodePointSet set, parse_class(ignores_case, depth + 1));
    return add_set(std::move(set));
  }
  if (takes("$")) return add_set(CodePointSet('\n'), Kind::kLineEnd);
  if (takes(".")) return add_set(CodePointSet('\n').complement());
  for (const char special : {'^', '*', '+', '?', '{'}) {
    if (text_[place_] == special) return refuse(fmt::format("'{}'", special));
  }
  CodePointSet set;
  if (takes("\\")) {
    OCTAVO_TRY(set, parse_escape());
  } else {
    OCTAVO_TRY(const std::uint32_t code_point, take_character());
    set.add(code_point);
  }
  return add_set(ignores_case ? with_both_cases(std::move(set)) : std::move(set));
}

Result<std::uint32_t> PatternParser::parse_group(bool ignores_case, int depth) {
  if (takes("?=")) return parse_look_ahead(Kind::kNext, ignores_case, depth);
  if (takes("?!")) return parse_look_ahead(Kind::kNotNext, ignores_case, depth);
  if (takes("?i:")) {
    ignores_case = true;
  } else if (!takes("?:") && text_.substr(place_).starts_with("?")) {
    return refuse("a group other than (?:), (?i:), (?=) and (?!)");
  }
  OCTAVO_TRY(const std::uint32_t group, parse_alternatives(ignores_case, depth));
  if (!takes(")")) return refuse("a group that is not closed");
  return group;
}

Result<std::uint32_t> PatternParser::parse_look_ahead(Kind kind, bool ignores_case, int depth) {
  OCTAVO_TRY(const std::uint32_t group, parse_alternatives(ignores_case, depth));
  if (pattern_.nodes[group].kind != Kind::kSet) return refuse("a look-ahead at more than one character");
  if (!takes(")")) return refuse("a group that is not closed");
  pattern_.nodes[group].kind = kind;
  return group;
}

Result<std::uint32_t> PatternParser::parse_number() {
  std::uint32_t number = 0;
  const char* begin = text_.data() + place_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
  if (error != std::errc() || number > Pattern::kMaxRepeat) {
    return refuse(fmt::format("no count of at most {}", Pattern::kMaxRepeat));
  }
  place_ += to_size(end - begin);
  return number;
}

Result<PatternNode> PatternParser::parse_counts(std::uint32_t atom) {
  PatternNode repeat{.kind = Kind::kRepeat, .children = {atom}};
  OCTAVO_TRY(repeat.min, parse_number());
  repeat.max = repeat.min;
  if (takes(",")) {
    repeat.max = PatternNode::kAnyNumber;
    if (!text_.substr(place_).starts_with("}")) {
      OCTAVO_TRY(repeat.max, parse_number());
    }
  }
  if (!takes("}")) return refuse("counts that are not closed");
  if (repeat.min > repeat.max) return refuse("a range of counts that is empty");
  return repeat;
}

Result<std::uint32_t> PatternParser::parse_quantifier(std::uint32_t atom) {
  PatternNode repeat{.kind = Kind::kRepeat, .children = {atom}};
  bool has_counts = false;
  if (takes("*")) {
    repeat.max = PatternNode::kAnyNumber;
  } else if (takes("+")) {
    repeat.min = 1;
    repeat.max = PatternNode::kAnyNumber;
  } else if (takes("?")) {
    repeat.max = 1;
  } else if (takes("{")) {
    OCTAVO_TRY(repeat, parse_counts(atom));
    has_counts = true;
  } else {
    return atom;
  }
  if (has_counts && text_.substr(place_).starts_with("+")) return refuse("'+' behind counts");
  if (takes("+")) return make_possessive(std::move(repeat));
  repeat.is_lazy = takes("?");
  for (const char next : {'*', '+', '?', '{'}) {
    if (text_.substr(place_).starts_with(next)) return refuse("a quantifier behind a quantifier");
  }
  if (is_nothing(atom)) return atom;
  if (repeat.max == 0) return add({.kind = Kind::kSequence});
  return add(std::move(repeat));
}

Result<std::uint32_t> PatternParser::make_possessive(PatternNode repeat) {
  const PatternNode atom = pattern_.nodes[repeat.children.front()];
  if (atom.kind != Kind::kSet) return refuse("a possessive group");
  const bool is_optional = repeat.max == 1;
  const std::uint32_t none_next = add({.kind = Kind::kNotNext, .set = atom.set});
  if (is_optional) {  // X?+ is X, or nothing where X is not next
    return add({.kind = Kind::kAlternatives, .children = {repeat.children.front(), none_next}});
  }
  const std::uint32_t all = add(std::move(repeat));
  return add({.kind = Kind::kSequence, .children = {all, none_next}});
}

std::optional<std::uint32_t> PatternParser::only_member(const CodePointSet& set) {
  if (set.ranges().size() != 1 || set.ranges()[0].end - set.ranges()[0].begin != 1) return std::nullopt;
  return set.ranges()[0].begin;
}

Result<CodePointSet> PatternParser::parse_class(bool ignores_case, int depth) {
  if (depth > Pattern::kMaxDepth) return refuse("classes nested too deep");
  const bool is_negated = takes("^");
  OCTAVO_TRY(CodePointSet set, parse_class_items(ignores_case, depth));
  while (takes("&&")) {
    OCTAVO_TRY(const CodePointSet other, parse_class_items(ignores_case, depth));
    set = set.intersection(other);
  }
  if (!takes("]")) return refuse("a class that is not closed");
  if (set.ranges().empty()) return refuse("an empty class");
  return is_negated ? set.complement() : set;
}

Result<CodePointSet> PatternParser::parse_class_items(bool ignores_case, int depth) {
  CodePointSet set;
  while (!at_end() && text_[place_] != ']' && !text_.substr(place_).starts_with("&&")) {
    OCTAVO_TRY(const CodePointSet item, parse_class_item(ignores_case, depth));
    set.add(item);
  }
  return set;
}

Result<CodePointSet> PatternParser::parse_class_item(bool ignores_case, int depth) {
  if (text_.substr(place_).starts_with("[:")) return refuse("a POSIX class");
  if (takes("[")) return parse_class(ignores_case, depth + 1);
  const auto take_item = [this]() -> Result<CodePointSet> {
    if (takes("\\")) return parse_escape();
    OCTAVO_TRY(const std::uint32_t code_point, take_character());
    return CodePointSet(code_point);
  };
  OCTAVO_TRY(CodePointSet item, take_item());
  const auto first = only_member(item);
  const std::string_view rest = text_.substr(place_);
  const bool is_range = first && rest.starts_with("-") && rest.size() > 1 && rest[1] != ']';
  if (is_range) {
    ++place_;
    OCTAVO_TRY(const CodePointSet end, take_item());
    const auto last = only_member(end);
    if (!last || *last < *first) return refuse("a range that ends before it begins");
    item.add(*first, *last + 1);
  }
  return ignores_case ? with_both_cases(std::move(item)) : item;
}

Result<std::uint32_t> PatternParser::parse_hex(std::size_t max_digits) {
  std::uint32_t value = 0;
  std::size_t num_digits = 0;
  for (; num_digits < max_digits && !at_end(); ++num_digits, ++place_) {
    const char c = text_[place_];
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<std::uint32_t>(c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      value = value * 16 + static_cast<std::uint32_t>((c | 0x20) - 'a') + 10;
    } else {
      break;
    }
  }
  if (num_digits == 0 || value >= CodePointSet::kLimit) return refuse("no code point in hexadecimal digits");
  return value;
}

Result<CodePointSet> PatternParser::parse_property(bool is_negated) {
  is_negated = takes("^") != is_negated;
  const std::size_t end = text_.find('}', place_);
  const std::string_view name = text_.substr(place_, end == std::string_view::npos ? 0 : end - place_);
  const auto set = code_points_of_category(name);
  if (!set) return refuse("a property that is no general category");
  place_ = end + 1;
  return is_negated ? set->complement() : *set;
}

Result<CodePointSet> PatternParser::parse_escape() {
  if (takes("p{")) return parse_property(false);
  if (takes("P{")) return parse_property(true);
  if (takes("s")) return white_space();
  if (takes("S")) return white_space().complement();
  if (takes("d")) return *code_points_of_category("Nd");
  if (takes("D")) return code_points_of_category("Nd")->complement();
  if (takes("n")) return CodePointSet('\n');
  if (takes("r")) return CodePointSet('\r');
  if (takes("t")) return CodePointSet('\t');
  if (takes("f")) return CodePointSet('\f');
  if (takes("v")) return CodePointSet('\v');
  if (takes("x{")) {
    OCTAVO_TRY(const std::uint32_t code_point, parse_hex(8));
    if (!takes("}")) return refuse("a code point that is not closed");
    return CodePointSet(code_point);
  }
  if (takes("x") || takes("u")) {
    OCTAVO_TRY(const std::uint32_t code_point, parse_hex(text_[place_ - 1] == 'x' ? 2 : 4));
    return CodePointSet(code_point);
  }
  const bool is_letter_or_digit = !at_end() && (std::isalnum(static_cast<unsigned char>(text_[place_])) != 0);
  if (is_letter_or_digit) return refuse(fmt::format("'\\{}'", text_[place_]));
  OCTAVO_TRY(const std::uint32_t code_point, take_character());
  return CodePointSet(code_point);
}

}  // namespace octavo

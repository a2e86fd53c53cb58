// Character classes and escapes of patterns.
#include <cctype>

#include "tokenizer/pattern_parser.h"

namespace octavo {

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

#include "constraint/grammar/gbnf_parser.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"
#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {
namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }

}  // namespace

Result<Grammar> read_gbnf(std::string_view text, const TokenNames& tokens, Grammar grammar) {
  return GbnfParser(text, tokens, std::move(grammar)).parse();
}

Result<Grammar> GbnfParser::parse() {
  if (text_.size() > kMaxGbnfBytes)
    return fail("found a grammar of {} bytes, expected at most {}", text_.size(), kMaxGbnfBytes);
  if (!is_valid_utf8(text_)) return fail("found a grammar that is not UTF-8");
  for (skip_space(true); !at_end(); skip_space(true)) OCTAVO_TRY_VOID(parse_rule());
  const auto root = rules_.find("root");
  if (root == rules_.end()) return fail("found no rule 'root' in the grammar, expected one where texts begin");
  grammar_.set_root(grammar_.call(root->second));
  return std::move(grammar_);
}

std::unexpected<Error> GbnfParser::refuse(std::string_view expected) const {
  const auto line = std::ranges::count(text_.substr(0, place_), '\n') + 1;
  const std::string_view rest = text_.substr(place_);
  return fail("line {} of the grammar: found {}, expected {}", line,
              rest.empty() ? "its end" : quote(rest.substr(0, std::min<std::size_t>(rest.find('\n'), 20))), expected);
}

std::unexpected<Error> GbnfParser::refuse_size() const { return fail("the grammar: {}", grammar_.refusal().message); }

bool GbnfParser::takes(std::string_view expected) {
  if (!text_.substr(place_).starts_with(expected)) return false;
  place_ += expected.size();
  return true;
}

void GbnfParser::skip_space(bool over_lines) {
  for (; !at_end(); ++place_) {
    if (peek() == '#') place_ = std::min(text_.find('\n', place_), text_.size());
    if (at_end()) return;
    const bool is_space = peek() == ' ' || peek() == '\t' || (over_lines && (peek() == '\n' || peek() == '\r'));
    if (!is_space) return;
  }
}

bool GbnfParser::takes_bar() {
  const std::size_t begin = place_;
  skip_space(true);
  if (takes("|")) return true;
  place_ = begin;
  return false;
}

RuleId GbnfParser::rule_of(std::string_view name) {
  const auto known = rules_.find(name);
  if (known != rules_.end()) return known->second;
  return rules_.emplace(name, grammar_.declare(std::string(name))).first->second;
}

Result<std::string_view> GbnfParser::parse_name() {
  const std::size_t begin = place_;
  while (is_name_character(peek())) ++place_;
  if (place_ == begin) return refuse("the name of a rule");
  return text_.substr(begin, place_ - begin);
}

Result<void> GbnfParser::parse_rule() {
  OCTAVO_TRY(const std::string_view name, parse_name());
  const RuleId rule = rule_of(name);
  if (grammar_.is_refused()) return refuse_size();
  if (grammar_.rules()[rule].is_defined) return refuse(fmt::format("one definition of the rule {}", quote(name)));
  skip_space(false);
  if (!takes("::=")) return refuse("'::='");
  skip_space(true);
  OCTAVO_TRY(const ExpressionId body, parse_alternatives(0));
  grammar_.define(rule, body);
  takes("\r");
  if (!at_end() && !takes("\n")) return refuse("the end of a line");
  return {};
}

Result<ExpressionId> GbnfParser::parse_alternatives(int depth) {
  if (depth > kMaxGbnfDepth) return refuse(fmt::format("groups nested in at most {} levels", kMaxGbnfDepth));
  std::vector<ExpressionId> children;
  do {
    skip_space(true);
    OCTAVO_TRY(const ExpressionId child, parse_sequence(depth));
    children.push_back(child);
  } while (takes_bar());
  return grammar_.alternatives(std::move(children));
}

Result<ExpressionId> GbnfParser::parse_sequence(int depth) {
  static constexpr std::string_view kBegins = "\"[(.<";
  std::vector<ExpressionId> children;
  while (!at_end() && (kBegins.contains(peek()) || is_name_character(peek()))) {
    OCTAVO_TRY(const ExpressionId item, parse_item(depth));
    OCTAVO_TRY(const ExpressionId repeated, parse_quantifiers(item, depth));
    if (grammar_.is_refused()) return refuse_size();
    children.push_back(repeated);
  }
  return grammar_.sequence(std::move(children));
}

Result<ExpressionId> GbnfParser::parse_item(int depth) {
  if (takes("\"")) return parse_literal();
  if (takes("[")) return parse_class();
  if (takes("<")) return parse_token();
  if (takes(".")) return grammar_.set(CodePointSet().complement());
  if (!takes("(")) {
    OCTAVO_TRY(const std::string_view name, parse_name());
    return grammar_.call(rule_of(name));
  }
  OCTAVO_TRY(const ExpressionId group, parse_alternatives(depth + 1));
  skip_space(true);
  if (!takes(")")) return refuse("')'");
  return group;
}

Result<ExpressionId> GbnfParser::parse_quantifiers(ExpressionId item, int depth) {
  for (;;) {
    skip_space(depth > 0);
    if (takes("*")) {
      item = grammar_.repeat(item, 0, Grammar::kAnyNumber);
    } else if (takes("+")) {
      item = grammar_.repeat(item, 1, Grammar::kAnyNumber);
    } else if (takes("?")) {
      item = grammar_.optional(item);
    } else if (takes("{")) {
      OCTAVO_TRY(item, parse_counts(item));
    } else {
      return item;
    }
  }
}

Result<std::uint32_t> GbnfParser::parse_count() {
  std::uint32_t number = 0;
  const char* begin = text_.data() + place_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
  if (error != std::errc() || number == Grammar::kAnyNumber) return refuse("a count");
  place_ += to_size(end - begin);
  skip_space(false);
  return number;
}

Result<ExpressionId> GbnfParser::parse_counts(ExpressionId item) {
  skip_space(false);
  OCTAVO_TRY(const std::uint32_t min, parse_count());
  std::uint32_t max = min;
  if (takes(",")) {
    skip_space(false);
    max = Grammar::kAnyNumber;
    if (peek() != '}') {
      OCTAVO_TRY(max, parse_count());
    }
  }
  if (!takes("}")) return refuse("'}'");
  if (max < min) return refuse(fmt::format("counts in order before it, not {} and {}", min, max));
  return grammar_.repeat(item, min, max);
}

Result<std::uint32_t> GbnfParser::parse_hex(std::size_t num_digits) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < num_digits; ++i, ++place_) {
    if (std::isxdigit(static_cast<unsigned char>(peek())) == 0)
      return refuse(fmt::format("{} hexadecimal digits", num_digits));
    value = value * 16 + static_cast<std::uint32_t>(peek() <= '9' ? peek() - '0' : (peek() | 0x20) - 'a' + 10);
  }
  if (value >= CodePointSet::kLimit) return refuse("a code point of Unicode before it");
  return value;
}

Result<std::uint32_t> GbnfParser::parse_character() {
  if (!takes("\\")) {
    const std::uint32_t code_point = decode_utf8(text_.substr(place_));
    place_ += utf8_announced_length(text_[place_]);
    return code_point;
  }
  if (takes("x")) return parse_hex(2);
  if (takes("u")) return parse_hex(4);
  if (takes("U")) return parse_hex(8);
  if (takes("n")) return '\n';
  if (takes("r")) return '\r';
  if (takes("t")) return '\t';
  static constexpr std::string_view kThemselves = "\"\\[]-^/'";
  if (at_end() || !kThemselves.contains(peek())) return refuse("a character that a backslash goes with");
  return static_cast<std::uint32_t>(text_[place_++]);
}

Result<ExpressionId> GbnfParser::parse_literal() {
  std::string bytes;
  while (!takes("\"")) {
    if (at_end() || peek() == '\n') return refuse("'\"' at the end of a literal");
    OCTAVO_TRY(const std::uint32_t code_point, parse_character());
    append_utf8(bytes, code_point);
  }
  return grammar_.literal(bytes);
}

Result<ExpressionId> GbnfParser::parse_class() {
  const bool is_negated = takes("^");
  std::vector<CodePointSet::Range> ranges;
  while (!takes("]")) {
    if (at_end() || peek() == '\n') return refuse("']' at the end of a class");
    OCTAVO_TRY(const std::uint32_t first, parse_character());
    std::uint32_t last = first;
    const std::string_view rest = text_.substr(place_);
    if (rest.size() > 1 && rest[0] == '-' && rest[1] != ']') {
      ++place_;
      OCTAVO_TRY(last, parse_character());
      if (last < first) return refuse("a range in order before it");
    }
    ranges.push_back({.begin = first, .end = last + 1});
  }
  grammar_.work().add(ranges.size());
  const auto set = CodePointSet::of_ranges(std::move(ranges));
  return grammar_.set(is_negated ? set.complement() : set);
}

Result<TokenId> GbnfParser::parse_token_id(std::string_view number) const {
  TokenId id = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id);
  const bool is_known =
      error == std::errc() && end == number.data() + number.size() && id >= 0 && to_size(id) < tokens_.num_tokens;
  if (!is_known) return refuse(fmt::format("the id of a token, 0 to {}", tokens_.num_tokens - 1));
  return id;
}

/// Parses a token; its '<' was taken.
Result<ExpressionId> GbnfParser::parse_token() {
  const std::size_t begin = place_, end = text_.find('>', begin);
  const std::string_view name = text_.substr(begin, end == std::string_view::npos ? 0 : end - begin);
  if (name.empty() || name.contains('\n')) return refuse("a token's text or its [id], and '>'");
  TokenId id = -1;
  if (name.starts_with('[') && name.ends_with(']')) {
    OCTAVO_TRY(id, parse_token_id(name.substr(1, name.size() - 2)));
  } else {
    const auto found = tokens_.find(text_.substr(begin - 1, name.size() + 2));
    if (!found) return refuse("the text of a token that the vocabulary has");
    id = *found;
  }
  place_ = end + 1;
  return grammar_.token(id);
}

}  // namespace octavo

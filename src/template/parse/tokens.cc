#include "template/parse/tokens.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "template/parse/string_escapes.h"
#include "template/values/unicode.h"

namespace octavo::jinja {

namespace {

constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                           "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

bool is_digit_of(char c, unsigned base) {
  const char lower = static_cast<char>(c | 0x20);
  const unsigned digit = c >= '0' && c <= '9'           ? static_cast<unsigned>(c - '0')
                         : lower >= 'a' && lower <= 'z' ? static_cast<unsigned>(lower - 'a' + 10)
                                                        : 99;
  return digit < base;
}

class Lexer {
 public:
  Lexer(Arena& arena, std::string_view source) : arena_(arena), source_(source) {
    line_starts_.push_back(0);
    for (std::size_t at = 0; at < source.size(); ++at)
      if (source[at] == '\n') line_starts_.push_back(at + 1);
  }

  std::vector<Token> run() {
    while (at_ < source_.size()) cut_text();
    add(TokenKind::kEnd, source_.size(), "");
    return std::move(tokens_);
  }

 private:
  Position position(std::size_t at) const {
    const auto line = std::upper_bound(line_starts_.begin(), line_starts_.end(), at) - 1;
    return {static_cast<std::uint32_t>(line - line_starts_.begin() + 1), static_cast<std::uint32_t>(at - *line + 1)};
  }

  void add(TokenKind kind, std::size_t at, std::string_view text, Value number = {}) {
    arena_.charge_bytes(sizeof(Token));
    tokens_.push_back({kind, position(at), text, number});
  }

  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  bool next_is(std::string_view wanted) const { return source_.substr(at_).starts_with(wanted); }

  void skip_spaces() {
    while (at_ < source_.size() && is_space(code_point_at(source_, at_))) at_ += character_bytes(source_[at_]);
  }

  /// The end of a tag: with '-' the spaces behind it go, and without a sign the line's end behind a block or a comment.
  void pass_end(char sign, bool trims_line) {
    at_ += sign == '\0' ? 2 : 3;
    if (sign == '-') skip_spaces();
    if (sign == '\0' && trims_line && peek() == '\n') ++at_;
  }

  /// The text before a tag, without what the tag's sign or lstrip_blocks take.
  void add_text(std::size_t begin, std::size_t end, char sign, bool is_print) {
    std::string_view text = source_.substr(begin, end - begin);
    const auto is_blank = [](std::string_view part) {
      for (std::size_t at = 0; at < part.size(); at += character_bytes(part[at]))
        if (!is_space(code_point_at(part, at))) return false;
      return true;
    };
    if (sign == '-') {
      while (!text.empty()) {
        std::size_t last = text.size() - 1;
        while ((static_cast<unsigned char>(text[last]) & 0xC0U) == 0x80U) --last;
        if (!is_space(code_point_at(text, last))) break;
        text = text.substr(0, last);
      }
    } else if (sign != '+' && !is_print) {
      const std::size_t newline = text.rfind('\n');
      const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
      const bool begins_line = line > 0 || begin == 0 || source_[begin - 1] == '\n';
      if (begins_line && is_blank(text.substr(line))) text = text.substr(0, line);
    }
    if (!text.empty()) add(TokenKind::kText, begin, text);
  }

  void cut_text() {
    const std::size_t begin = at_;
    std::size_t tag = source_.find('{', begin);
    while (tag != std::string_view::npos &&
           (tag + 1 >= source_.size() || std::string_view("%{#").find(source_[tag + 1]) == std::string_view::npos))
      tag = source_.find('{', tag + 1);
    if (tag == std::string_view::npos) {
      add(TokenKind::kText, begin, source_.substr(begin));
      at_ = source_.size();
      return;
    }
    at_ = tag;
    const char kind = source_[tag + 1];
    const char sign = peek(2) == '-' || peek(2) == '+' ? peek(2) : '\0';
    add_text(begin, tag, sign, kind == '{');
    at_ += sign == '\0' ? 2 : 3;
    if (kind == '#') return pass_comment(tag);
    if (kind == '%' && pass_raw_tag()) return cut_raw(tag);
    add(kind == '%' ? TokenKind::kBlockBegin : TokenKind::kPrintBegin, tag, source_.substr(tag, at_ - tag));
    cut_tag(kind == '%');
  }

  void pass_comment(std::size_t tag) {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) fail_at(position(tag), "a comment that begins here has no end, expected #}}");
    const char before = end > at_ ? source_[end - 1] : '\0';
    const char sign = before == '-' || before == '+' ? before : '\0';
    at_ = sign == '\0' ? end : end - 1;
    pass_end(sign, true);
  }

  /// Passes "raw %}" behind the sign of a tag, if it is there.
  bool pass_raw_tag() {
    const std::size_t begin = at_;
    skip_spaces();
    if (next_is("raw")) {
      at_ += 3;
      skip_spaces();
      if (next_is("%}")) {
        at_ += 2;
        return true;
      }
      if (next_is("-%}")) {
        pass_end('-', false);
        return true;
      }
    }
    at_ = begin;
    return false;
  }

  void cut_raw(std::size_t tag) {
    const std::size_t begin = at_;
    for (std::size_t end = source_.find("{%", begin); end != std::string_view::npos;
         end = source_.find("{%", end + 1)) {
      at_ = end + 2;
      const char sign = peek() == '-' || peek() == '+' ? peek() : '\0';
      if (sign != '\0') ++at_;
      skip_spaces();
      if (!next_is("endraw")) continue;
      at_ += 6;
      skip_spaces();
      const char end_sign = peek() == '-' || peek() == '+' ? peek() : '\0';
      if (!source_.substr(at_ + (end_sign == '\0' ? 0 : 1)).starts_with("%}")) continue;
      add_text(begin, end, sign, false);
      pass_end(end_sign, true);
      return;
    }
    fail_at(position(tag), "a raw block that begins here has no end, expected {{% endraw %}}");
  }

  void cut_tag(bool is_block) {
    std::vector<char> open;  // brackets, within which %} and }} end nothing
    const std::string_view end = is_block ? "%}" : "}}";
    while (at_ < source_.size()) {
      if (open.empty()) {
        const char sign = peek() == '-' || (is_block && peek() == '+') ? peek() : '\0';
        if (source_.substr(at_ + (sign == '\0' ? 0 : 1)).starts_with(end)) {
          add(is_block ? TokenKind::kBlockEnd : TokenKind::kPrintEnd, at_, end);
          return pass_end(sign, is_block);
        }
      }
      if (is_space(code_point_at(source_, at_))) {
        skip_spaces();
      } else if (!cut_number() && !cut_name() && !cut_string()) {
        cut_operator(open);
      }
    }
  }

  /// The end of digits that single underscores may part.
  std::size_t digits_end(std::size_t at, unsigned base) const {
    while (at < source_.size() && is_digit_of(source_[at], base)) {
      ++at;
      if (at + 1 < source_.size() && source_[at] == '_' && is_digit_of(source_[at + 1], base)) ++at;
    }
    return at;
  }

  bool cut_number() {
    if (!is_digit_of(peek(), 10)) return false;
    const std::size_t begin = at_;
    const std::size_t whole = digits_end(begin, 10);
    std::size_t end = whole;
    const bool has_fraction = end + 1 < source_.size() && source_[end] == '.' && is_digit_of(source_[end + 1], 10);
    if (has_fraction) end = digits_end(end + 1, 10);
    if (end < source_.size() && (source_[end] | 0x20) == 'e') {
      std::size_t exponent = end + 1;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) ++exponent;
      if (exponent < source_.size() && is_digit_of(source_[exponent], 10)) end = digits_end(exponent, 10);
    }
    const bool behind_point = begin > 0 && source_[begin - 1] == '.';
    if (end > whole && !behind_point) {
      add_float(begin, end);
      return true;
    }
    cut_integer(begin, whole);
    return true;
  }

  std::string without_underscores(std::size_t begin, std::size_t end) const {
    std::string digits(source_.substr(begin, end - begin));
    std::erase(digits, '_');
    return digits;
  }

  void add_float(std::size_t begin, std::size_t end) {
    const std::string digits = without_underscores(begin, end);
    double value = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (result.ec != std::errc{}) value = digits.find('-') == std::string::npos ? HUGE_VAL : 0.0;
    at_ = end;
    add(TokenKind::kFloat, begin, source_.substr(begin, end - begin), Value::real(value));
  }

  void cut_integer(std::size_t begin, std::size_t end) {
    int base = 10;
    const char letter = static_cast<char>(peek(1) | 0x20);
    const int wanted = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    if (peek() == '0' && wanted != 10) {
      const std::size_t digits = begin + 2 + (peek(2) == '_' ? 1 : 0);
      const std::size_t prefixed_end = digits_end(digits, static_cast<unsigned>(wanted));
      if (prefixed_end > digits) {
        base = wanted;
        end = prefixed_end;
      }
    }
    if (base == 10 && peek() == '0') {  // 012 is two numbers
      end = begin + 1;
      while (end < source_.size() &&
             (source_[end] == '0' || (source_[end] == '_' && end + 1 < source_.size() && source_[end + 1] == '0')))
        ++end;
    }
    const std::string digits = without_underscores(base == 10 ? begin : begin + 2, end);
    std::int64_t value = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (result.ec != std::errc{}) fail_at(position(begin), "an integer {}, beyond 64 bits", digits);
    at_ = end;
    add(TokenKind::kInteger, begin, source_.substr(begin, end - begin), Value::integer(value));
  }

  bool cut_name() {
    const std::size_t begin = at_;
    while (at_ < source_.size() && is_word(code_point_at(source_, at_))) at_ += character_bytes(source_[at_]);
    if (at_ == begin) return false;
    add(TokenKind::kName, begin, source_.substr(begin, at_ - begin));
    return true;
  }

  bool cut_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return false;
    const std::size_t begin = at_;
    std::size_t end = begin + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail_at(position(begin), "a string that begins here has no end, expected {}", quote);
    at_ = end + 1;
    const std::string_view inside = source_.substr(begin + 1, end - begin - 1);
    add(TokenKind::kString, begin, read_escapes(arena_, inside, position(begin)));
    return true;
  }

  void cut_operator(std::vector<char>& open) {
    const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                     [&](std::string_view symbol) { return next_is(symbol); });
    if (found == std::end(kOperators))
      fail_at(position(at_), "unexpected character '{}'", source_.substr(at_, character_bytes(source_[at_])));
    const char symbol = found->front();
    if (symbol == '(' || symbol == '[' || symbol == '{') {
      open.push_back(symbol == '(' ? ')' : symbol == '[' ? ']' : '}');
    } else if (symbol == ')' || symbol == ']' || symbol == '}') {
      if (open.empty()) fail_at(position(at_), "unexpected '{}', which closes nothing", symbol);
      if (open.back() != symbol) fail_at(position(at_), "unexpected '{}', expected '{}'", symbol, open.back());
      open.pop_back();
    }
    add(TokenKind::kOperator, at_, *found);
    at_ += found->size();
  }

  Arena& arena_;
  std::string_view source_;
  std::size_t at_ = 0;
  std::vector<std::size_t> line_starts_;
  std::vector<Token> tokens_;
};

}  // namespace

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kText: return "text";
    case TokenKind::kPrintBegin: return "{{";
    case TokenKind::kPrintEnd: return "}}";
    case TokenKind::kBlockBegin: return "{%";
    case TokenKind::kBlockEnd: return "%}";
    case TokenKind::kString: return "a string";
    case TokenKind::kEnd: return "the end of the template";
    default: return fmt::format("'{}'", token.text);
  }
}

std::vector<Token> cut_tokens(Arena& arena, std::string_view source) { return Lexer(arena, source).run(); }

}  // namespace octavo::jinja

// Reads GBNF (gbnf.h) by recursive descent. Only read_gbnf() uses it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "constraint/grammar/gbnf.h"

namespace octavo {

class GbnfParser {
 public:
  GbnfParser(std::string_view text, const TokenNames& tokens, Grammar grammar)
      : text_(text), tokens_(tokens), grammar_(std::move(grammar)) {}

  Result<Grammar> parse();

 private:
  Result<void> parse_rule();
  /// Parses alternatives; within brackets a line may end anywhere, outside its end is the end of the rule.
  Result<ExpressionId> parse_alternatives(int depth);
  Result<ExpressionId> parse_sequence(int depth);
  Result<ExpressionId> parse_item(int depth);
  Result<ExpressionId> parse_quantifiers(ExpressionId item, int depth);
  Result<ExpressionId> parse_counts(ExpressionId item);
  Result<ExpressionId> parse_literal();
  Result<ExpressionId> parse_class();
  Result<ExpressionId> parse_token();
  Result<std::string_view> parse_name();
  Result<std::uint32_t> parse_count();
  /// A character, escaped or not.
  Result<std::uint32_t> parse_character();
  Result<std::uint32_t> parse_hex(std::size_t num_digits);
  Result<TokenId> parse_token_id(std::string_view number) const;
  RuleId rule_of(std::string_view name);

  bool at_end() const { return place_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[place_]; }
  bool takes(std::string_view expected);
  /// Passes white space and comments.
  void skip_space(bool over_lines);
  /// Takes a '|', which may begin a line.
  bool takes_bar();
  std::unexpected<Error> refuse(std::string_view expected) const;
  std::unexpected<Error> refuse_size() const;

  std::string_view text_;
  const TokenNames& tokens_;
  std::size_t place_ = 0;
  Grammar grammar_;
  std::map<std::string, RuleId, std::less<>> rules_;
};

}  // namespace octavo

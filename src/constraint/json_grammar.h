// The parts that all texts in JSON are made of, as rules of a grammar.
//
// White space is bounded, so that a model cannot spend an answer on it: between values one space, or one line feed and
// up to kMaxIndent spaces or tabs; one space behind a colon; none elsewhere.
// One for each grammar, on one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "constraint/grammar.h"

namespace octavo {

class JsonGrammar {
 public:
  static constexpr std::uint32_t kMaxIndent = 32;

  /// The grammar must outlive it. Rules are added as they are asked for.
  explicit JsonGrammar(Grammar& grammar) : grammar_(grammar) {}
  Grammar& grammar() { return grammar_; }

  ExpressionId value();
  ExpressionId object();
  ExpressionId array();
  ExpressionId string();
  ExpressionId number();
  ExpressionId integer();
  ExpressionId space();

  /// One character of a string, in any form that JSON has for it.
  ExpressionId any_character();
  /// One character of the set, in the shortest form that JSON has for it. What many sets have in common is a rule.
  ExpressionId character(const CodePointSet& set);
  /// `min` to `max` characters of any form, without quotes.
  ExpressionId characters(std::uint32_t min, std::uint32_t max);

  /// open, items with commas between them, close.
  ExpressionId list(char open, ExpressionId item, char close);

 private:
  ExpressionId hex_digits(std::uint32_t count);
  ExpressionId escaped_unit();
  std::vector<ExpressionId> escapes_of(const CodePointSet& set);
  ExpressionId beyond_ascii();
  ExpressionId short_escape();

  Grammar& grammar_;
  std::optional<RuleId> value_;
  std::optional<ExpressionId> object_, array_, string_, number_, integer_, space_, any_character_, beyond_ascii_,
      short_escape_;
};

}  // namespace octavo

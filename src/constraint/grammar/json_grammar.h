// The parts of all values of JSON as rules of a grammar, in the notation of JSON or in another one.
//
// White space is bounded, so that a model cannot spend an answer on it: between values one space, or one line feed and
// up to kMaxIndent spaces or tabs; one space behind a colon; none elsewhere, and none at all in kMarked.
// A string between marks holds any text but the mark; where its characters are counted or matched, any but '<'.
// A grammar has one, used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constraint/grammar/grammar.h"
#include "octavo/constraint.h"

namespace octavo {

/// The way in which values are written.
struct JsonForm {
  ValueNotation notation = ValueNotation::kJson;
  std::string mark = {};  // the mark around strings in kMarked, which text_without() takes and '<' begins
  std::optional<TokenId> mark_token = {};
  bool operator==(const JsonForm&) const = default;
};

class JsonGrammar {
 public:
  static constexpr std::uint32_t kMaxIndent = 32;
  /// Digits that any 64-bit integer has at most.
  static constexpr std::uint32_t kBoundedDigits = 20;

  /// The grammar must outlive it. Rules are added as they are asked for.
  explicit JsonGrammar(Grammar& grammar, JsonForm form = {}) : grammar_(grammar), form_(std::move(form)) {}
  Grammar& grammar() { return grammar_; }
  const JsonForm& form() const { return form_; }

  /// Numbers have at most kBoundedDigits digits before the point, as many behind it, and three in the exponent from now
  /// on. Before the first rule is asked for.
  void bound_numbers() { bounds_numbers_ = true; }

  ExpressionId value();
  ExpressionId object();
  ExpressionId array();
  ExpressionId string();
  ExpressionId number();
  ExpressionId integer();
  ExpressionId null();
  ExpressionId boolean(bool value);
  /// A string of the text.
  ExpressionId text(std::string_view text);
  ExpressionId quoted(ExpressionId characters);
  /// A member's name and the colon behind it.
  ExpressionId key(std::string_view name);
  ExpressionId key(ExpressionId name) { return grammar_.sequence({name, colon()}); }
  ExpressionId space();

  /// One character of a string, in any of JSON's forms.
  ExpressionId any_character();
  /// One character of the set, in JSON's shortest form. Parts that many sets have in common are rules.
  ExpressionId character(const CodePointSet& set);
  /// `min` to `max` characters of any form, without quotes.
  ExpressionId characters(std::uint32_t min, std::uint32_t max);

  /// open, items with commas between them, close.
  ExpressionId list(char open, ExpressionId item, char close);

 private:
  bool is_json() const { return form_.notation == ValueNotation::kJson; }
  bool is_marked() const { return form_.notation == ValueNotation::kMarked; }
  ExpressionId colon();
  ExpressionId quote();
  ExpressionId hex_digits(std::uint32_t count);
  ExpressionId escaped_unit();
  ExpressionId make_character(const CodePointSet& set);
  std::vector<ExpressionId> escapes_of(const CodePointSet& set);
  ExpressionId rare(const CodePointSet& set);

  Grammar& grammar_;
  const JsonForm form_;
  bool bounds_numbers_ = false;
  std::map<CodePointSet, ExpressionId> characters_, rare_;
  std::optional<RuleId> value_;
  std::optional<ExpressionId> object_, array_, string_, number_, integer_, space_, any_character_;
};

}  // namespace octavo

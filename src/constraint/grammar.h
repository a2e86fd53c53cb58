// A language as expressions and rules: what regular expressions, GBNF and JSON schemas are read into, before they
// become an automaton.
//
// Plain values, made by one thread. Expressions are numbers in the grammar that made them, and may be used in several
// places. The sum of what is added is bounded: beyond it every call gives nothing(), and is_too_large() says so, so
// that a reader need not ask after each.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/kv/types.h"
#include "tokenizer/code_point_set.h"

namespace octavo {

using ExpressionId = std::uint32_t;
using RuleId = std::uint32_t;

struct Expression {
  enum class Kind : std::uint8_t {
    kNothing,       // matches nothing, not even the empty text
    kLiteral,       // the bytes of `text`
    kSet,           // one character of the set `first`
    kSequence,      // the children, one after another; none: the empty text
    kAlternatives,  // any child
    kRepeat,        // the only child, `min` to `max` times
    kRule,          // what the rule `first` is defined as
    kToken,         // the token `first` of the vocabulary, whatever its bytes
  };
  Kind kind = Kind::kNothing;
  std::uint32_t first = 0;
  std::uint32_t min = 0, max = 0;
  std::string text = {};
  std::vector<ExpressionId> children = {};
};

class Grammar {
 public:
  static constexpr std::uint32_t kAnyNumber = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kMaxSize = 1 << 20;  // expressions, their children, ranges of sets and 16s of bytes
  static constexpr std::size_t kMaxRules = 1 << 16;

  struct Rule {
    std::string name;
    ExpressionId body = 0;
    bool is_defined = false;
  };

  Grammar() { expressions_.push_back({}); }

  static ExpressionId nothing() { return 0; }
  ExpressionId empty() { return sequence({}); }
  ExpressionId literal(std::string_view bytes);
  ExpressionId set(const CodePointSet& characters);
  ExpressionId sequence(std::vector<ExpressionId> children);
  ExpressionId alternatives(std::vector<ExpressionId> children);
  ExpressionId repeat(ExpressionId child, std::uint32_t min, std::uint32_t max);
  ExpressionId optional(ExpressionId child) { return repeat(child, 0, 1); }
  ExpressionId token(TokenId id);
  ExpressionId call(RuleId rule);

  /// A rule, to be defined later.
  RuleId declare(std::string name);
  void define(RuleId rule, ExpressionId body);
  /// A rule and the call of it.
  ExpressionId named(std::string name, ExpressionId body);

  void set_root(ExpressionId root) { root_ = root; }
  ExpressionId root() const { return root_; }
  const Expression& at(ExpressionId id) const { return expressions_[id]; }
  const CodePointSet& set_at(std::uint32_t index) const { return sets_[index]; }
  std::span<const Rule> rules() const { return rules_; }
  bool is_too_large() const { return is_too_large_; }

 private:
  ExpressionId add(Expression expression, std::size_t size);

  std::vector<Expression> expressions_;
  std::vector<CodePointSet> sets_;
  std::vector<Rule> rules_;
  ExpressionId root_ = 0;
  std::size_t size_ = 0;
  bool is_too_large_ = false;
};

}  // namespace octavo

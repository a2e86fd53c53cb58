// A language as expressions and rules: regular expressions, GBNF and JSON schemas become a grammar before they become
// an automaton.
//
// One thread makes a grammar. Expressions are numbers in the grammar that made them, and may be used in several places.
// The size of a grammar is bounded, and so is the depth of expressions within each other, so that readers may recurse;
// each addition counts as work of the compile. Beyond a bound every call gives nothing() and is_refused() is true, so
// that a reader need not ask after each call.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constraint/grammar/compile_work.h"
#include "octavo/token.h"
#include "tokenizer/text/code_point_set.h"

namespace octavo {

using ExpressionId = std::uint32_t;
using RuleId = std::uint32_t;

/// An expression as a grammar shows it, valid until something is added to the grammar.
struct Expression {
  enum class Kind : std::uint8_t {
    kNothing,       // nothing, not even the empty text
    kLiteral,       // the bytes of `text`
    kSet,           // one character of the set `first`
    kSequence,      // the children, one after another; none: the empty text
    kAlternatives,  // any child
    kRepeat,        // the only child, repeated `min` to `max` times
    kRule,          // the definition of the rule `first`
    kToken,         // the token `first` of the vocabulary, whatever its bytes
  };
  Kind kind = Kind::kNothing;
  std::uint32_t first = 0;
  std::uint32_t min = 0, max = 0;
  std::string_view text = {};
  std::span<const ExpressionId> children = {};
};

class Grammar {
 public:
  static constexpr std::uint32_t kAnyNumber = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kMaxSize = 1 << 20;  // the sum of expressions, children, ranges of sets and 16s of bytes
  static constexpr std::size_t kMaxRules = 1 << 16;
  static constexpr std::uint16_t kMaxDepth = 800;  // levels of expressions within each other, called rules left out

  struct Rule {
    std::string name;
    ExpressionId body = 0;
    bool is_defined = false;
  };

  explicit Grammar(std::shared_ptr<CompileWork> work = std::make_shared<CompileWork>()) : work_(std::move(work)) {
    expressions_.push_back({});
  }
  Grammar(Grammar&&) = default;
  Grammar& operator=(Grammar&&) = default;
  ~Grammar() = default;

  static ExpressionId nothing() { return 0; }
  ExpressionId empty() { return sequence({}); }
  ExpressionId literal(std::string_view bytes);
  ExpressionId set(const CodePointSet& characters);
  ExpressionId sequence(std::vector<ExpressionId> children);
  ExpressionId alternatives(std::vector<ExpressionId> children);
  /// A repetition. One without a count of a repetition without a count is the same as its child: (a*)* is a*.
  ExpressionId repeat(ExpressionId child, std::uint32_t min, std::uint32_t max);
  ExpressionId optional(ExpressionId child) { return repeat(child, 0, 1); }
  ExpressionId token(TokenId id);
  ExpressionId call(RuleId rule);

  /// Declares a rule, which is defined later.
  RuleId declare(std::string name);
  void define(RuleId rule, ExpressionId body);
  /// Makes a rule and the call of it.
  ExpressionId named(std::string name, ExpressionId body);

  void set_root(ExpressionId root) { root_ = root; }
  ExpressionId root() const { return root_; }
  Expression at(ExpressionId id) const;
  const CodePointSet& set_at(std::uint32_t index) const { return *sets_[index]; }
  std::span<const Rule> rules() const { return rules_; }
  /// The work of the compile that the grammar is a part of.
  CompileWork& work() const { return *work_; }
  bool is_refused() const { return is_too_large_ || is_too_deep_ || work_->has_ended(); }
  /// The bound that the grammar is beyond.
  Error refusal() const;

 private:
  /// Text and children lie in bytes_ or children_, from `begin` to `end`.
  struct Stored {
    Expression::Kind kind = Expression::Kind::kNothing;
    std::uint16_t depth = 0;
    std::uint32_t first = 0, min = 0, max = 0, begin = 0, end = 0;
  };

  ExpressionId add(Stored expression, std::size_t size);
  ExpressionId add_parent(Stored expression, std::span<const ExpressionId> children);

  std::shared_ptr<CompileWork> work_;
  std::vector<Stored> expressions_;
  std::vector<ExpressionId> children_;
  std::string bytes_;
  std::map<CodePointSet, std::uint32_t> set_ids_;  // a map, whose keys stay where they are
  std::vector<const CodePointSet*> sets_;
  std::vector<Rule> rules_;
  ExpressionId root_ = 0;
  std::size_t size_ = 0;
  bool is_too_large_ = false, is_too_deep_ = false;
};

}  // namespace octavo

#include "constraint/grammar.h"

#include <algorithm>
#include <utility>

#include "base/to_size.h"

namespace octavo {

ExpressionId Grammar::add(Expression expression, std::size_t size) {
  size_ += size + 1;
  if (size_ > kMaxSize) is_too_large_ = true;
  if (is_too_large_) return nothing();
  expressions_.push_back(std::move(expression));
  return static_cast<ExpressionId>(expressions_.size() - 1);
}

ExpressionId Grammar::literal(std::string_view bytes) {
  return add({.kind = Expression::Kind::kLiteral, .text = std::string(bytes)}, bytes.size() / 16);
}

ExpressionId Grammar::set(const CodePointSet& characters) {
  if (characters.ranges().empty()) return nothing();
  const auto known = std::ranges::find(sets_, characters);
  const auto index = static_cast<std::uint32_t>(known - sets_.begin());
  std::size_t size = 0;
  if (known == sets_.end()) {
    size = characters.ranges().size();
    sets_.push_back(characters);
  }
  return add({.kind = Expression::Kind::kSet, .first = index}, size);
}

ExpressionId Grammar::sequence(std::vector<ExpressionId> children) {
  if (children.size() == 1) return children.front();
  const std::size_t size = children.size();
  return add({.kind = Expression::Kind::kSequence, .children = std::move(children)}, size);
}

ExpressionId Grammar::alternatives(std::vector<ExpressionId> children) {
  if (children.size() == 1) return children.front();
  const std::size_t size = children.size();
  return add({.kind = Expression::Kind::kAlternatives, .children = std::move(children)}, size);
}

ExpressionId Grammar::repeat(ExpressionId child, std::uint32_t min, std::uint32_t max) {
  if (min == 1 && max == 1) return child;
  return add({.kind = Expression::Kind::kRepeat, .min = min, .max = max, .children = {child}}, 1);
}

ExpressionId Grammar::token(TokenId id) {
  return add({.kind = Expression::Kind::kToken, .first = static_cast<std::uint32_t>(id)}, 0);
}

ExpressionId Grammar::call(RuleId rule) { return add({.kind = Expression::Kind::kRule, .first = rule}, 0); }

RuleId Grammar::declare(std::string name) {
  if (rules_.size() >= kMaxRules) is_too_large_ = true;
  if (is_too_large_ && !rules_.empty()) return 0;
  rules_.push_back({.name = std::move(name)});
  return static_cast<RuleId>(rules_.size() - 1);
}

void Grammar::define(RuleId rule, ExpressionId body) {
  rules_[rule].body = body;
  rules_[rule].is_defined = true;
}

ExpressionId Grammar::named(std::string name, ExpressionId body) {
  const RuleId rule = declare(std::move(name));
  define(rule, body);
  return call(rule);
}

}  // namespace octavo

#include "constraint/grammar/grammar.h"

#include <algorithm>

namespace octavo {
namespace {

/// Whether a repetition is x?, x* or x+.
bool is_plain_repeat(std::uint32_t min, std::uint32_t max) {
  return (min == 0 && max == 1) || (min <= 1 && max == Grammar::kAnyNumber);
}

}  // namespace

ExpressionId Grammar::add(Stored expression, std::size_t size) {
  size_ += size + 1;
  work_->add(size + 1);
  if (size_ > kMaxSize) is_too_large_ = true;
  if (expression.depth > kMaxDepth) is_too_deep_ = true;
  if (is_refused()) return nothing();
  expressions_.push_back(expression);
  return static_cast<ExpressionId>(expressions_.size() - 1);
}

ExpressionId Grammar::add_parent(Stored expression, std::span<const ExpressionId> children) {
  for (const ExpressionId child : children)
    expression.depth = std::max<std::uint16_t>(expression.depth, expressions_[child].depth + 1);
  expression.begin = static_cast<std::uint32_t>(children_.size());
  expression.end = expression.begin + static_cast<std::uint32_t>(children.size());
  const ExpressionId added = add(expression, children.size());
  if (!is_refused()) children_.insert(children_.end(), children.begin(), children.end());
  return added;
}

Expression Grammar::at(ExpressionId id) const {
  const Stored& stored = expressions_[id];
  Expression expression{.kind = stored.kind, .first = stored.first, .min = stored.min, .max = stored.max};
  const std::size_t size = stored.end - stored.begin;
  if (stored.kind == Expression::Kind::kLiteral) {
    expression.text = std::string_view(bytes_).substr(stored.begin, size);
  } else if (size > 0) {
    expression.children = std::span(children_).subspan(stored.begin, size);
  }
  return expression;
}

Error Grammar::refusal() const {
  if (is_too_deep_) return {.message = fmt::format("found parts nested deeper than {} levels", kMaxDepth)};
  if (is_too_large_) return {.message = fmt::format("found more than {} parts, expected at most as many", kMaxSize)};
  return work_->error();
}

ExpressionId Grammar::literal(std::string_view bytes) {
  const auto begin = static_cast<std::uint32_t>(bytes_.size());
  const auto end = begin + static_cast<std::uint32_t>(bytes.size());
  const ExpressionId added = add({.kind = Expression::Kind::kLiteral, .begin = begin, .end = end}, bytes.size() / 16);
  if (!is_refused()) bytes_ += bytes;
  return added;
}

ExpressionId Grammar::set(const CodePointSet& characters) {
  if (characters.ranges().empty() || is_refused()) return nothing();
  const auto [known, is_new] = set_ids_.try_emplace(characters, static_cast<std::uint32_t>(sets_.size()));
  if (is_new) sets_.push_back(&known->first);
  return add({.kind = Expression::Kind::kSet, .first = known->second}, is_new ? characters.ranges().size() : 0);
}

ExpressionId Grammar::sequence(std::vector<ExpressionId> children) {
  if (children.size() == 1) return children.front();
  return add_parent({.kind = Expression::Kind::kSequence}, children);
}

ExpressionId Grammar::alternatives(std::vector<ExpressionId> children) {
  if (children.size() == 1) return children.front();
  return add_parent({.kind = Expression::Kind::kAlternatives}, children);
}

ExpressionId Grammar::repeat(ExpressionId child, std::uint32_t min, std::uint32_t max) {
  if (min == 1 && max == 1) return child;
  const Expression inner = at(child);
  const bool is_nested =
      inner.kind == Expression::Kind::kRepeat && is_plain_repeat(min, max) && is_plain_repeat(inner.min, inner.max);
  if (is_nested) {
    min = std::min(min, inner.min);
    max = std::max(max, inner.max);
    child = inner.children.front();
  }
  return add_parent({.kind = Expression::Kind::kRepeat, .min = min, .max = max}, {&child, 1});
}

ExpressionId Grammar::token(TokenId id) {
  return add({.kind = Expression::Kind::kToken, .first = static_cast<std::uint32_t>(id)}, 0);
}

ExpressionId Grammar::call(RuleId rule) { return add({.kind = Expression::Kind::kRule, .first = rule}, 0); }

RuleId Grammar::declare(std::string name) {
  if (rules_.size() >= kMaxRules) is_too_large_ = true;
  if (is_refused() && !rules_.empty()) return 0;
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

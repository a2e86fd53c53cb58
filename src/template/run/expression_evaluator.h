// Evaluates expressions in the frame of a scope.
#pragma once

#include "template/run/frame.h"

namespace octavo::jinja {

class StatementRunner;

class ExpressionEvaluator {
 public:
  /// The runner runs the macros that expressions call.
  ExpressionEvaluator(Evaluation& evaluation, StatementRunner& runner) : evaluation_(evaluation), runner_(runner) {}

  Value evaluate(const Expression& expression, Frame& frame);
  /// Applies a block's filters to its text.
  Value apply_filter(const Expression& filter, Frame& frame, const Value& text);
  /// Calls the function of a call block, whose body is an argument.
  Value call_with_body(const Expression& call, Frame& frame, const Value& caller);

 private:
  /// The arguments of one call, in memory of the arena.
  struct CallValues {
    std::span<const Value> arguments;
    std::span<const NamedValue> named;
  };

  Value evaluate_name(const Expression& expression, Frame& frame);
  Value evaluate_dict(const Expression& expression, Frame& frame);
  Value evaluate_slice(const Expression& expression, Frame& frame);
  Value evaluate_comparison(const Expression& expression, Frame& frame);
  Value evaluate_concat(const Expression& expression, Frame& frame);
  Value evaluate_conditional(const Expression& expression, Frame& frame);
  std::span<const Value> evaluate_all(std::span<Expression* const> parts, Frame& frame);
  CallValues evaluate_arguments(const Expression& call, Frame& frame, const Value* first, const Value* caller);
  std::span<const Value> with_rest(const Expression& call, Frame& frame, std::vector<Value> arguments);
  std::span<const NamedValue> with_named_rest(const Expression& call, Frame& frame, std::vector<NamedValue> named);
  Value apply(const Expression& expression, Frame& frame, const Value& operand, bool is_test);

  Evaluation& evaluation_;
  StatementRunner& runner_;
};

}  // namespace octavo::jinja

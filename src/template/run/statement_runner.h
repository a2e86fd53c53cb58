// Runs a template's statements and gives their text to a TextBuilder.
#pragma once

#include "template/run/expression_evaluator.h"
#include "template/values/loop.h"
#include "template/values/macro.h"

namespace octavo::jinja {

class StatementRunner {
 public:
  /// `inputs`: names that the template finds before global functions with the same names.
  StatementRunner(Evaluation& evaluation, const Dict& inputs)
      : evaluation_(evaluation), expressions_(evaluation, *this), inputs_(inputs) {}

  void run(const Tree& tree, TextBuilder& out);
  /// Calls a value that may be called; other values fail.
  Value call(const Value& callee, const Call& call);

 private:
  /// Where the run goes on after a statement.
  enum class Flow : std::uint8_t { kNext, kBreak, kContinue };

  Frame* make_frame(const Scope& scope, Frame* outer);
  /// Gives the slots of a scope their first values.
  void enter(const Scope& scope, Frame& frame);

  Flow run(Body body, Frame& frame, TextBuilder& out);
  Flow run(const Statement& statement, Frame& frame, TextBuilder& out);
  Flow run_if(const Statement& statement, Frame& frame, TextBuilder& out);
  Flow run_for(const Statement& statement, Frame& frame, TextBuilder& out);
  Flow run_loop(const Statement& statement, Frame& frame, LoopState& loop, TextBuilder& out);
  Flow run_inside(const Statement& statement, Frame& frame, TextBuilder& out);
  LoopState* make_loop(const Statement& statement, Frame& frame, const Value& iterable, std::int64_t depth);
  void assign(const Expression& target, Frame& frame, const Value& value);
  Value define_macro(const Statement& statement, Frame& frame, std::string_view name);
  Value call_macro(const Macro& macro, const Call& call);
  void bind(const Macro& macro, const Call& call, Frame& frame);
  Value call_loop(LoopState& loop, const Call& call);

  friend bool next_that_passes(Evaluation&, Iterator&, Value&);

  Evaluation& evaluation_;
  ExpressionEvaluator expressions_;
  const Dict& inputs_;
};

}  // namespace octavo::jinja

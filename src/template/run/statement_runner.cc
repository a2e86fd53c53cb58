#include "template/run/statement_runner.h"

#include <algorithm>

#include "base/to_size.h"
#include "template/builtins/attributes.h"
#include "template/builtins/globals.h"
#include "template/values/iteration.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {
namespace {

constexpr std::size_t kSlotsOfAStep = 4;  // slots that a scope looks up when it is entered, for one step

/// The items of a for statement that pass its test, which is evaluated when an item is asked for.
struct TestedIterator : Iterator {
  StatementRunner* runner;
  const Statement* statement;
  Frame* outer;
  Iterator* items;
};

}  // namespace

bool next_that_passes(Evaluation& evaluation, Iterator& base, Value& item) {
  const auto& self = static_cast<const TestedIterator&>(base);
  const Statement& statement = *self.statement;
  while (const auto next = next_of(evaluation, *self.items)) {
    Frame* frame = self.runner->make_frame(*statement.test_scope, self.outer);
    self.runner->assign(*statement.target, *frame, *next);
    if (!is_true(evaluation, self.runner->expressions_.evaluate(*statement.test, *frame))) continue;
    item = *next;
    return true;
  }
  return false;
}

Value attribute_of_macro(Evaluation& evaluation, const Macro& macro, std::string_view name) {
  if (name == "name") return evaluation.text(macro.name);
  if (name == "catch_kwargs") return Value::boolean(macro.definition->extras.named >= 0);
  if (name == "catch_varargs") return Value::boolean(macro.definition->extras.rest >= 0);
  if (name == "caller") return Value::boolean(macro.definition->extras.caller >= 0);
  if (name != "arguments") return {};
  std::vector<Value> names;
  for (const Parameter& parameter : macro.definition->parameters) names.push_back(Value::of(parameter.name));
  return evaluation.tuple(names);
}

void StatementRunner::run(const Tree& tree, TextBuilder& out) {
  Frame* frame = make_frame(*tree.scope, nullptr);
  run(tree.body, *frame, out);
}

Frame* StatementRunner::make_frame(const Scope& scope, Frame* outer) {
  Frame* frame = evaluation_.arena().make<Frame>(outer, evaluation_.arena().array<Value>(scope.slots.size()));
  enter(scope, *frame);
  return frame;
}

void StatementRunner::enter(const Scope& scope, Frame& frame) {
  evaluation_.arena().charge_steps(scope.slots.size() / kSlotsOfAStep);
  for (std::size_t i = 0; i < scope.slots.size(); ++i) {
    const SlotLoad& load = scope.slots[i];
    Value& value = frame.slots[i];
    switch (load.kind) {
      case SlotLoad::Kind::kParameter:
      case SlotLoad::Kind::kUnset: value = {}; break;
      case SlotLoad::Kind::kAlias: value = slot_in(*frame.outer, load.outer); break;
      case SlotLoad::Kind::kResolve: {
        const Entry* entry = find_text(evaluation_.arena(), inputs_, load.name->bytes);
        value = entry == nullptr ? find_global(load.name->bytes) : entry->value;
        break;
      }
    }
  }
}

StatementRunner::Flow StatementRunner::run(Body body, Frame& frame, TextBuilder& out) {
  const Evaluation::Nesting nesting(evaluation_);
  for (const Statement* statement : body) {
    const Flow flow = run(*statement, frame, out);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

StatementRunner::Flow StatementRunner::run(const Statement& statement, Frame& frame, TextBuilder& out) {
  evaluation_.step();
  evaluation_.set_where(statement.where);
  switch (statement.kind) {
    case StatementKind::kText: out.append(*statement.text); return Flow::kNext;
    case StatementKind::kPrint:
      append_str(evaluation_, out, expressions_.evaluate(*statement.expression, frame));
      return Flow::kNext;
    case StatementKind::kIf: return run_if(statement, frame, out);
    case StatementKind::kFor: return run_for(statement, frame, out);
    case StatementKind::kSet:
      assign(*statement.target, frame, expressions_.evaluate(*statement.expression, frame));
      return Flow::kNext;
    case StatementKind::kSetBlock:
    case StatementKind::kFilterBlock:
    case StatementKind::kWith: return run_inside(statement, frame, out);
    case StatementKind::kMacro:
      slot_in(frame, statement.slot) = define_macro(statement, frame, statement.name->bytes);
      return Flow::kNext;
    case StatementKind::kCallBlock: {
      const Value caller = define_macro(statement, frame, "caller");
      append_str(evaluation_, out, expressions_.call_with_body(*statement.expression, frame, caller));
      return Flow::kNext;
    }
    case StatementKind::kGeneration:
      append_str(evaluation_, out, call(define_macro(statement, frame, "caller"), {}));
      return Flow::kNext;
    case StatementKind::kBreak: return Flow::kBreak;
    case StatementKind::kContinue: return Flow::kContinue;
  }
  return Flow::kNext;
}

StatementRunner::Flow StatementRunner::run_if(const Statement& statement, Frame& frame, TextBuilder& out) {
  for (const Branch& branch : statement.branches)
    if (is_true(evaluation_, expressions_.evaluate(*branch.condition, frame))) return run(branch.body, frame, out);
  return run(statement.other, frame, out);
}

StatementRunner::Flow StatementRunner::run_inside(const Statement& statement, Frame& frame, TextBuilder& out) {
  Frame* inside = make_frame(*statement.scope, &frame);
  if (statement.kind == StatementKind::kWith) {
    for (const Parameter& parameter : statement.parameters)
      inside->slots[parameter.slot] = expressions_.evaluate(*parameter.value, frame);
    return run(statement.body, *inside, out);
  }
  TextBuilder text(evaluation_.arena());
  // As in Python, a break or continue leaves the block before its text is written.
  const Flow flow = run(statement.body, *inside, text);
  if (flow != Flow::kNext) return flow;
  Value value = Value::of(text.finish());
  if (statement.filter != nullptr) value = expressions_.apply_filter(*statement.filter, *inside, value);
  if (statement.kind == StatementKind::kSetBlock) {
    assign(*statement.target, frame, value);
  } else {
    append_str(evaluation_, out, value);
  }
  return Flow::kNext;
}

LoopState* StatementRunner::make_loop(const Statement& statement, Frame& frame, const Value& iterable,
                                      std::int64_t depth) {
  Arena& arena = evaluation_.arena();
  auto* loop = arena.make<LoopState>(iterable, iterate(evaluation_, iterable));
  loop->depth0 = depth;
  if (statement.test != nullptr) {
    loop->items = arena.make<TestedIterator>(Iterator{next_that_passes}, this, &statement, &frame, loop->items);
    loop->iterable = Value::of(loop->items);
  }
  if (statement.is_recursive) {
    loop->recursive = &statement;
    loop->outer = &frame;
  }
  return loop;
}

StatementRunner::Flow StatementRunner::run_for(const Statement& statement, Frame& frame, TextBuilder& out) {
  const Value iterable = expressions_.evaluate(*statement.expression, frame);
  evaluation_.set_where(statement.where);
  return run_loop(statement, frame, *make_loop(statement, frame, iterable, 0), out);
}

StatementRunner::Flow StatementRunner::run_loop(const Statement& statement, Frame& frame, LoopState& loop,
                                                TextBuilder& out) {
  Frame* inside = make_frame(*statement.scope, &frame);
  bool ended_once = false;
  while (const auto item = advance_loop(evaluation_, loop)) {
    enter(*statement.scope, *inside);
    if (statement.loop_slot >= 0) inside->slots[to_size(statement.loop_slot)] = Value::of(&loop);
    assign(*statement.target, *inside, *item);
    const Flow flow = run(statement.body, *inside, out);
    if (flow == Flow::kBreak) break;
    ended_once = ended_once || flow == Flow::kNext;
  }
  // This is jinja2's rule, not Python's: `else` runs unless some turn reached the end of the body.
  if (ended_once || statement.other.empty()) return Flow::kNext;
  return run(statement.other, *make_frame(*statement.other_scope, &frame), out);
}

void StatementRunner::assign(const Expression& target, Frame& frame, const Value& value) {
  if (target.kind == ExpressionKind::kName) {
    slot_in(frame, target.slot) = value;
    return;
  }
  if (target.kind == ExpressionKind::kAttributeOf) {
    const Value object = slot_in(frame, target.slot);
    if (!object.is(Kind::kNamespace)) evaluation_.fail("cannot assign attribute on non-namespace object");
    return set_name(evaluation_, object.as_mutable<Namespace>(), *target.attribute, value);
  }
  const std::vector<Value> items = collect(evaluation_, value);
  if (items.size() != target.parts.size())
    evaluation_.fail("found {} values to unpack, expected {}", items.size(), target.parts.size());
  for (std::size_t i = 0; i < items.size(); ++i) assign(*target.parts[i], frame, items[i]);
}

Value StatementRunner::define_macro(const Statement& statement, Frame& frame, std::string_view name) {
  return Value::of(evaluation_.arena().make<Macro>(name, &statement, &frame));
}

Value StatementRunner::call(const Value& callee, const Call& call) {
  const Evaluation::Nesting nesting(evaluation_);
  switch (callee.kind()) {
    case Kind::kUndefined: fail_undefined(evaluation_, callee);
    case Kind::kFunction: return callee.as<NamedFunction>().call(evaluation_, call);
    case Kind::kMacro: return call_macro(callee.as<Macro>(), call);
    case Kind::kLoop: return call_loop(callee.as_mutable<LoopState>(), call);
    case Kind::kJoiner: return call_joiner(evaluation_, callee, call);
    case Kind::kMethod: break;
    default: evaluation_.fail("'{}' object is not callable", type_name(callee));
  }
  const auto& method = callee.as<BoundMethod>();
  const std::span<Value> arguments = evaluation_.arena().array<Value>(call.arguments.size() + 1);
  arguments[0] = method.object;
  std::copy(call.arguments.begin(), call.arguments.end(), arguments.begin() + 1);
  return method.method->call(evaluation_, {.arguments = arguments, .named = call.named});
}

Value StatementRunner::call_loop(LoopState& loop, const Call& call) {
  if (loop.recursive == nullptr)
    evaluation_.fail("The loop must have the 'recursive' marker to be called recursively.");
  if (call.arguments.size() != 1 || !call.named.empty())
    evaluation_.fail("loop() takes one value to go through, found {}", call.arguments.size() + call.named.size());
  TextBuilder out(evaluation_.arena());
  LoopState* inner = make_loop(*loop.recursive, *loop.outer, call.arguments[0], loop.depth0 + 1);
  run_loop(*loop.recursive, *loop.outer, *inner, out);
  return Value::of(out.finish());
}

Value StatementRunner::call_macro(const Macro& macro, const Call& call) {
  const Statement& definition = *macro.definition;
  Frame* frame = make_frame(*definition.scope, macro.outer);
  bind(macro, call, *frame);
  TextBuilder out(evaluation_.arena());
  run(definition.body, *frame, out);
  return Value::of(out.finish());
}

void StatementRunner::bind(const Macro& macro, const Call& call, Frame& frame) {
  const Statement& definition = *macro.definition;
  const auto parameters = definition.parameters;
  const MacroExtras& extras = definition.extras;
  const std::size_t num_positional = std::min(parameters.size(), call.arguments.size());
  for (std::size_t i = 0; i < num_positional; ++i) frame.slots[parameters[i].slot] = call.arguments[i];
  if (extras.caller >= 0) frame.slots[to_size(extras.caller)] = evaluation_.undefined_hint("No caller defined");
  DictBuilder rest(evaluation_.arena());
  for (const NamedValue& named : call.named) {
    const auto parameter =
        std::find_if(parameters.begin() + static_cast<std::ptrdiff_t>(num_positional), parameters.end(),
                     [&](const Parameter& p) { return p.name->bytes == named.name->bytes; });
    if (parameter != parameters.end()) {
      frame.slots[parameter->slot] = named.value;
    } else if (extras.caller >= 0 && named.name->bytes == "caller") {
      frame.slots[to_size(extras.caller)] = named.value;
    } else if (extras.named >= 0) {
      rest.put(Value::of(named.name), named.value);
    } else {
      evaluation_.fail("macro '{}' takes no keyword argument '{}'", macro.name, named.name->bytes);
    }
  }
  if (extras.named >= 0) frame.slots[to_size(extras.named)] = Value::of(rest.finish());
  const auto more = call.arguments.subspan(num_positional);
  if (extras.rest >= 0) {
    frame.slots[to_size(extras.rest)] = evaluation_.tuple(more);
  } else if (!more.empty()) {
    evaluation_.fail("macro '{}' takes not more than {} argument(s)", macro.name, parameters.size());
  }
  for (const Parameter& parameter : parameters) {
    Value& value = frame.slots[parameter.slot];
    if (!value.is(Kind::kMissing)) continue;
    value = parameter.value == nullptr ? evaluation_.undefined_name(parameter.name)
                                       : expressions_.evaluate(*parameter.value, frame);
  }
}

}  // namespace octavo::jinja

#include "template/parse/names.h"

#include <algorithm>

#include "template/parse/symbols.h"

namespace octavo::jinja {

namespace {

/// Notes the names that a scope's own statements read and set, in the order of the source. Bodies that are scopes of
/// their own are left out.
class NameCollector {
 public:
  explicit NameCollector(Symbols& symbols) : symbols_(&symbols) {}

  void visit(const Expression* expression) {
    if (expression == nullptr) return;
    if (expression->kind == ExpressionKind::kName || expression->kind == ExpressionKind::kAttributeOf)
      symbols_->load(expression->name);
    for (const Expression* child : {expression->first, expression->second, expression->third}) visit(child);
    for (const Expression* part : expression->parts) visit(part);
    for (const NamedExpression& named : expression->named) visit(named.value);
    visit(expression->rest);
    visit(expression->named_rest);
  }

  void visit_target(const Expression& target) {
    if (target.kind == ExpressionKind::kAttributeOf) return symbols_->load(target.name);
    if (target.kind == ExpressionKind::kName) return symbols_->store(target.name);
    for (const Expression* part : target.parts) visit_target(*part);
  }

  void declare_target(const Expression& target) {
    if (target.kind == ExpressionKind::kName) symbols_->declare(target.name);
    for (const Expression* part : target.parts) declare_target(*part);
  }

  void visit(Body body) {
    for (const Statement* statement : body) visit(*statement);
  }

 private:
  void visit(const Statement& statement) {
    switch (statement.kind) {
      case StatementKind::kText:
      case StatementKind::kBreak:
      case StatementKind::kContinue:
      case StatementKind::kGeneration: return;
      case StatementKind::kPrint:
      case StatementKind::kFor:
      case StatementKind::kCallBlock: return visit(statement.expression);
      case StatementKind::kIf: return visit_if(statement, statement.branches);
      case StatementKind::kSet: visit(statement.expression); return visit_target(*statement.target);
      case StatementKind::kSetBlock: return visit_target(*statement.target);
      case StatementKind::kMacro: return symbols_->store(statement.name);
      case StatementKind::kFilterBlock: return visit(statement.filter);
      case StatementKind::kWith:
        for (const Parameter& parameter : statement.parameters) visit(parameter.value);
        return;
    }
  }

  /// Visits the first branch, then all others as its alternative, as in jinja2: an elif is an if within the else.
  void visit_if(const Statement& statement, std::span<const Branch> branches) {
    visit(branches[0].condition);
    Symbols* outer = symbols_;
    std::vector<Symbols> looked_through;
    looked_through.reserve(3);
    const auto begin = [&] {
      looked_through.push_back(outer->branch());
      symbols_ = &looked_through.back();
    };
    begin();
    visit(branches[0].body);
    begin();
    for (const Branch& branch : branches.subspan(1)) visit_elif(branch);
    begin();
    visit(statement.other);
    symbols_ = outer;
    outer->join(looked_through);
  }

  void visit_elif(const Branch& branch) {
    visit(branch.condition);
    Symbols* outer = symbols_;
    std::vector<Symbols> inside = {outer->branch()};
    symbols_ = &inside.back();
    visit(branch.body);
    symbols_ = outer;
    outer->join(inside);
  }

  Symbols* symbols_;
};

/// Whether a name is read in a body before it is set there, at any depth: jinja2's find_undeclared.
class MentionFinder {
 public:
  explicit MentionFinder(std::string_view name) : name_(name) {}

  bool in(Body body) {
    for (const Statement* statement : body) look(*statement);
    return found_;
  }

 private:
  void look(const Expression* expression) {
    if (expression == nullptr) return;
    if (expression->kind == ExpressionKind::kName && expression->name->bytes == name_ && !is_set_) found_ = true;
    for (const Expression* child : {expression->first, expression->second, expression->third}) look(child);
    for (const Expression* part : expression->parts) look(part);
    for (const NamedExpression& named : expression->named) look(named.value);
    look(expression->rest);
    look(expression->named_rest);
  }

  void look_at_target(const Expression* target) {
    if (target == nullptr) return;
    if (target->kind == ExpressionKind::kName && target->name->bytes == name_) is_set_ = true;
    for (const Expression* part : target->parts) look_at_target(part);
  }

  void look(const Statement& statement) {
    look_at_target(statement.target);
    for (const Parameter& parameter : statement.parameters)
      if (parameter.name->bytes == name_) is_set_ = true;
    for (const Expression* expression : {statement.expression, statement.test, statement.filter}) look(expression);
    for (const Parameter& parameter : statement.parameters) look(parameter.value);
    for (const Branch& branch : statement.branches) {
      look(branch.condition);
      for (const Statement* inner : branch.body) look(*inner);
    }
    for (const Body body : {statement.body, statement.other})
      for (const Statement* inner : body) look(*inner);
  }

  std::string_view name_;
  bool found_ = false;
  bool is_set_ = false;
};

/// Walks the tree once more: sets slots, and makes the scopes of nested bodies.
class Resolver {
 public:
  explicit Resolver(Arena& arena) : arena_(arena) {}

  void resolve(Tree& tree) {
    Symbols symbols(arena_, nullptr);
    NameCollector(symbols).visit(tree.body);
    resolve(tree.body, symbols, false);
    tree.scope = symbols.finish();
  }

 private:
  void resolve(Body body, const Symbols& symbols, bool in_condition) {
    for (Statement* statement : body) resolve(*statement, symbols, in_condition);
  }

  void resolve(Statement& statement, const Symbols& symbols, bool in_condition) {
    switch (statement.kind) {
      case StatementKind::kText:
      case StatementKind::kBreak:
      case StatementKind::kContinue: return;
      case StatementKind::kPrint: return resolve(statement.expression, symbols, in_condition);
      case StatementKind::kIf: return resolve_if(statement, symbols);
      case StatementKind::kFor: return resolve_for(statement, symbols, in_condition);
      case StatementKind::kSet:
        resolve(statement.expression, symbols, in_condition);
        return resolve(statement.target, symbols, in_condition);
      case StatementKind::kSetBlock:
        resolve_inside(statement, symbols);
        return resolve(statement.target, symbols, in_condition);
      case StatementKind::kMacro:
        statement.slot = symbols.slot_of(statement.name);
        return resolve_macro(statement, symbols);
      case StatementKind::kCallBlock:
        resolve(statement.expression, symbols, in_condition);
        return resolve_macro(statement, symbols);
      case StatementKind::kGeneration: return resolve_macro(statement, symbols);
      case StatementKind::kFilterBlock: return resolve_inside(statement, symbols);
      case StatementKind::kWith: return resolve_with(statement, symbols, in_condition);
    }
  }

  void resolve(Expression* expression, const Symbols& symbols, bool in_condition) {
    if (expression == nullptr) return;
    if (expression->kind == ExpressionKind::kName || expression->kind == ExpressionKind::kAttributeOf)
      expression->slot = symbols.slot_of(expression->name);
    const bool is_filter = expression->kind == ExpressionKind::kFilter;
    if ((is_filter || expression->kind == ExpressionKind::kTest) && expression->filter == nullptr && !in_condition)
      fail_at(expression->where, "No {} named '{}'.", is_filter ? "filter" : "test", expression->name->bytes);
    if (expression->kind == ExpressionKind::kConditional) in_condition = true;
    for (Expression* child : {expression->first, expression->second, expression->third})
      resolve(child, symbols, in_condition);
    for (Expression* part : expression->parts) resolve(part, symbols, in_condition);
    for (const NamedExpression& named : expression->named) resolve(named.value, symbols, in_condition);
    resolve(expression->rest, symbols, in_condition);
    resolve(expression->named_rest, symbols, in_condition);
  }

  void resolve_if(Statement& statement, const Symbols& symbols) {
    for (const Branch& branch : statement.branches) {
      resolve(branch.condition, symbols, true);
      resolve(branch.body, symbols, true);
    }
    resolve(statement.other, symbols, true);
  }

  void resolve_for(Statement& statement, const Symbols& symbols, bool in_condition) {
    resolve(statement.expression, symbols, in_condition);
    Symbols inside(arena_, &symbols);
    NameCollector collector(inside);
    // The target is also declared first in the scope of the test, so that its slots are the same in both.
    collector.declare_target(*statement.target);
    if (statement.is_recursive || MentionFinder("loop").in(statement.body))
      statement.loop_slot = static_cast<std::int32_t>(inside.declare(borrow_text(arena_, "loop")));
    collector.visit(statement.body);
    resolve(statement.target, inside, false);
    resolve(statement.body, inside, false);
    statement.scope = inside.finish();
    if (statement.test != nullptr) {
      Symbols testing(arena_, &symbols);
      NameCollector(testing).declare_target(*statement.target);
      NameCollector(testing).visit(statement.test);
      resolve(statement.test, testing, false);
      statement.test_scope = testing.finish();
    }
    Symbols otherwise(arena_, &symbols);
    NameCollector(otherwise).visit(statement.other);
    resolve(statement.other, otherwise, false);
    statement.other_scope = otherwise.finish();
  }

  /// Resolves the names in the body of a set or a filter block, and in its filter.
  void resolve_inside(Statement& statement, const Symbols& symbols) {
    Symbols inside(arena_, &symbols);
    NameCollector collector(inside);
    collector.visit(statement.body);
    collector.visit(statement.filter);
    resolve(statement.body, inside, false);
    resolve(statement.filter, inside, false);
    statement.scope = inside.finish();
  }

  void resolve_macro(Statement& macro, const Symbols& symbols) {
    Symbols inside(arena_, &symbols);
    NameCollector collector(inside);
    for (Parameter& parameter : macro.parameters) parameter.slot = inside.declare(parameter.name);
    for (const Parameter& parameter : macro.parameters) collector.visit(parameter.value);
    collector.visit(macro.body);
    const auto declare = [&](std::string_view name) -> std::int32_t {
      const auto named = std::find_if(macro.parameters.begin(), macro.parameters.end(),
                                      [&](const Parameter& p) { return p.name->bytes == name; });
      if (!MentionFinder(name).in(macro.body)) return -1;
      if (named == macro.parameters.end()) return static_cast<std::int32_t>(inside.declare(borrow_text(arena_, name)));
      if (name == "caller" && named->value == nullptr)
        fail_at(macro.where, "the parameter 'caller' of a macro must have a default");
      return -1;
    };
    macro.extras = {declare("caller"), declare("kwargs"), declare("varargs")};
    for (const Parameter& parameter : macro.parameters) resolve(parameter.value, inside, false);
    resolve(macro.body, inside, false);
    macro.scope = inside.finish();
  }

  void resolve_with(Statement& statement, const Symbols& symbols, bool in_condition) {
    Symbols inside(arena_, &symbols);
    for (Parameter& parameter : statement.parameters) {
      resolve(parameter.value, symbols, in_condition);
      parameter.slot = inside.declare(parameter.name);
    }
    NameCollector(inside).visit(statement.body);
    resolve(statement.body, inside, false);
    statement.scope = inside.finish();
  }

  Arena& arena_;
};

}  // namespace

void resolve_names(Arena& arena, Tree& tree) { Resolver(arena).resolve(tree); }

}  // namespace octavo::jinja

// A template as a tree, which the parser makes and the interpreter walks.
//
// Nodes live in the template's arena and do not change after compilation. One struct serves all kinds of a node; the
// comments of the kinds name the fields that each uses.
#pragma once

#include <span>

#include "template/builtins/filters.h"
#include "template/values/failure.h"
#include "template/values/operators.h"
#include "template/values/value.h"

namespace octavo::jinja {

struct Expression;
struct Statement;

enum class ExpressionKind : std::uint8_t {
  kConstant,     // constant
  kName,         // name, slot
  kAttributeOf,  // a target `name.attribute` of set: name, slot, attribute
  kList,         // parts
  kTuple,        // parts
  kDict,         // parts: key, value, key, value
  kAttribute,    // first.name
  kItem,         // first[second]
  kSlice,        // first[parts[0]:parts[1]:parts[2]], null where left out
  kCall,         // first(parts, named, *rest, **named_rest)
  kFilter,       // first|name(parts, named, ...); first is null for the text of a block
  kTest,         // first is name(parts, named, ...)
  kNot,          // first
  kAnd,          // first and second
  kOr,           // first or second
  kCompare,      // first operators[0] parts[0] operators[1] parts[1] ...
  kBinary,       // first operation second
  kUnary,        // operation first
  kConcat,       // parts
  kConditional,  // first if second else third; third may be null
};

/// The place of a name's value: the number of scopes outwards, and the slot in that scope.
struct NameSlot {
  std::uint32_t hops = 0;
  std::uint32_t slot = 0;
};

struct NamedExpression {
  const Text* name;
  Expression* value;
};

struct Expression {
  ExpressionKind kind;
  Operator operation = Operator::kAdd;
  std::uint16_t height = 1;  // the height of the tree below
  Position where = {};
  Value constant = {};
  const Text* name = nullptr;
  const Text* attribute = nullptr;
  NameSlot slot = {};
  const NamedFilter* filter = nullptr;  // null: an unknown name, which fails when it is applied
  Expression* first = nullptr;
  Expression* second = nullptr;
  Expression* third = nullptr;
  std::span<Expression* const> parts = {};
  std::span<const Operator> operators = {};
  std::span<const NamedExpression> named = {};
  Expression* rest = nullptr;
  Expression* named_rest = nullptr;
};

enum class StatementKind : std::uint8_t {
  kText,         // text
  kPrint,        // expression
  kIf,           // branches, other
  kFor,          // target, expression, test, body, other, scopes; is_recursive
  kSet,          // target, expression
  kSetBlock,     // target, filter, body, scope
  kMacro,        // name, parameters, body, scope, slot
  kCallBlock,    // expression (a call), parameters, body, scope
  kGeneration,   // body, scope: a call block that calls itself
  kFilterBlock,  // filter, body, scope
  kWith,         // parameters, body, scope
  kBreak,
  kContinue,
};

using Body = std::span<Statement* const>;

struct Branch {
  Expression* condition;
  Body body;
};

/// A parameter of a macro, or a name of `with`, which always has a value.
struct Parameter {
  const Text* name;
  Expression* value;  // the default; null: none
  std::uint32_t slot = 0;
};

/// The source of a slot's value when its scope is entered.
struct SlotLoad {
  enum class Kind : std::uint8_t {
    kParameter,  // the code that enters the scope sets it
    kResolve,    // an input or a global function
    kAlias,      // the value of an outer scope's slot
    kUnset,      // none yet
  };
  Kind kind = Kind::kUnset;
  const Text* name = nullptr;
  NameSlot outer;  // the slot in the scope around this one
};

struct Scope {
  std::span<const SlotLoad> slots;
};

/// The slots of names that a macro's body finds beside its parameters; below 0: the body does not use the name.
struct MacroExtras {
  std::int32_t caller = -1;
  std::int32_t named = -1;  // `kwargs`
  std::int32_t rest = -1;   // `varargs`
};

struct Statement {
  StatementKind kind;
  bool is_recursive = false;
  Position where = {};
  const Text* text = nullptr;
  const Text* name = nullptr;
  NameSlot slot = {};
  Expression* target = nullptr;
  Expression* expression = nullptr;
  Expression* test = nullptr;
  Expression* filter = nullptr;
  Body body = {};
  Body other = {};
  std::span<const Branch> branches = {};
  std::span<Parameter> parameters = {};
  MacroExtras extras = {};
  Scope* scope = nullptr;        // the scope of the body
  Scope* test_scope = nullptr;   // the scope of a for statement's test
  Scope* other_scope = nullptr;  // the scope of a for statement's else
  std::int32_t loop_slot = -1;   // the slot of `loop`, where the body names it
};

/// A whole template.
struct Tree {
  Body body;
  Scope* scope = nullptr;
};

}  // namespace octavo::jinja

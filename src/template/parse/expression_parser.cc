#include "template/parse/expression_parser.h"

#include <algorithm>
#include <optional>

namespace octavo::jinja {
namespace {

constexpr int kMostHeight = 250;

std::optional<Operator> comparison_of(const Token& token) {
  if (token.is_operator("==")) return Operator::kEqual;
  if (token.is_operator("!=")) return Operator::kNotEqual;
  if (token.is_operator("<")) return Operator::kLess;
  if (token.is_operator("<=")) return Operator::kLessEqual;
  if (token.is_operator(">")) return Operator::kGreater;
  if (token.is_operator(">=")) return Operator::kGreaterEqual;
  if (token.is_name("in")) return Operator::kIn;
  return std::nullopt;
}

std::optional<Operator> product_of(const Token& token) {
  if (token.is_operator("*")) return Operator::kMultiply;
  if (token.is_operator("/")) return Operator::kDivide;
  if (token.is_operator("//")) return Operator::kFloorDivide;
  if (token.is_operator("%")) return Operator::kModulo;
  return std::nullopt;
}

}  // namespace

Expression* ExpressionParser::make(ExpressionKind kind, Position where) {
  auto* expression = tokens_.arena().make<Expression>(kind);
  expression->where = where;
  return expression;
}

Expression* ExpressionParser::done(Expression* expression) {
  int height = 0;
  const auto look = [&height](const Expression* child) {
    if (child != nullptr) height = std::max<int>(height, child->height);
  };
  for (const Expression* child :
       {expression->first, expression->second, expression->third, expression->rest, expression->named_rest})
    look(child);
  for (const Expression* child : expression->parts) look(child);
  for (const NamedExpression& named : expression->named) look(named.value);
  if (height >= kMostHeight)
    fail_at(expression->where, "an expression has more than {} operations within each other", kMostHeight);
  expression->height = static_cast<std::uint16_t>(height + 1);
  return expression;
}

Expression* ExpressionParser::make_binary(Operator operation, Expression* first, Expression* second) {
  Expression* expression = make(ExpressionKind::kBinary, first->where);
  expression->operation = operation;
  expression->first = first;
  expression->second = second;
  return done(expression);
}

Expression* ExpressionParser::parse_conditional() {
  const TokenStream::Nesting nesting(tokens_);
  Expression* value = parse_or();
  while (tokens_.skip_name("if")) {
    Expression* conditional = make(ExpressionKind::kConditional, value->where);
    conditional->first = value;
    conditional->second = parse_or();
    if (tokens_.skip_name("else")) conditional->third = parse_conditional();
    value = done(conditional);
  }
  return value;
}

Expression* ExpressionParser::parse_joined(std::string_view word, ExpressionKind kind, Part part) {
  Expression* left = (this->*part)();
  while (tokens_.skip_name(word)) {
    Expression* both = make(kind, left->where);
    both->first = left;
    both->second = (this->*part)();
    left = done(both);
  }
  return left;
}

Expression* ExpressionParser::parse_or() {
  return parse_joined("or", ExpressionKind::kOr, &ExpressionParser::parse_and);
}

Expression* ExpressionParser::parse_and() {
  return parse_joined("and", ExpressionKind::kAnd, &ExpressionParser::parse_not);
}

Expression* ExpressionParser::parse_not() {
  if (!tokens_.current().is_name("not")) return parse_comparison();
  const TokenStream::Nesting nesting(tokens_);
  Expression* negation = make(ExpressionKind::kNot, tokens_.take().where);
  negation->first = parse_not();
  return done(negation);
}

Expression* ExpressionParser::parse_comparison() {
  Expression* first = parse_sum();
  std::vector<Operator> operators;
  std::vector<Expression*> operands;
  for (;;) {
    if (tokens_.current().is_name("not") && tokens_.look_ahead().is_name("in")) {
      tokens_.take();
      operators.push_back(Operator::kNotIn);
    } else if (const auto comparison = comparison_of(tokens_.current())) {
      operators.push_back(*comparison);
    } else {
      break;
    }
    tokens_.take();
    operands.push_back(parse_sum());
  }
  if (operators.empty()) return first;
  Expression* comparison = make(ExpressionKind::kCompare, first->where);
  comparison->first = first;
  comparison->operators = tokens_.arena().copy(operators);
  comparison->parts = tokens_.arena().copy(operands);
  return done(comparison);
}

Expression* ExpressionParser::parse_sum() {
  Expression* left = parse_concat();
  for (;;) {
    if (tokens_.skip_operator("+")) {
      left = make_binary(Operator::kAdd, left, parse_concat());
    } else if (tokens_.skip_operator("-")) {
      left = make_binary(Operator::kSubtract, left, parse_concat());
    } else {
      return left;
    }
  }
}

Expression* ExpressionParser::parse_concat() {
  std::vector<Expression*> parts = {parse_product()};
  while (tokens_.skip_operator("~")) parts.push_back(parse_product());
  return parts.size() == 1 ? parts[0] : join(parts, parts[0]->where);
}

Expression* ExpressionParser::join(std::span<Expression* const> parts, Position where) {
  Expression* concat = make(ExpressionKind::kConcat, where);
  concat->parts = tokens_.arena().copy(parts);
  return done(concat);
}

Expression* ExpressionParser::parse_product() {
  Expression* left = parse_power();
  while (const auto operation = product_of(tokens_.current())) {
    tokens_.take();
    left = make_binary(*operation, left, parse_power());
  }
  return left;
}

Expression* ExpressionParser::parse_power() {
  Expression* left = parse_unary(true);
  while (tokens_.skip_operator("**")) left = make_binary(Operator::kPower, left, parse_unary(true));
  return left;
}

Expression* ExpressionParser::parse_unary(bool with_filters) {
  Expression* expression = nullptr;
  const Token& token = tokens_.current();
  if (token.is_operator("-") || token.is_operator("+")) {
    const TokenStream::Nesting nesting(tokens_);
    expression = make(ExpressionKind::kUnary, token.where);
    expression->operation = token.is_operator("-") ? Operator::kNegate : Operator::kKeepSign;
    tokens_.take();
    expression->first = parse_unary(false);
    done(expression);
  } else {
    expression = parse_primary(false);
  }
  expression = parse_postfix(expression);
  return with_filters ? parse_filters(expression) : expression;
}

Expression* ExpressionParser::parse_primary(bool with_attributes) {
  const TokenStream::Nesting nesting(tokens_);
  const Token& token = tokens_.current();
  if (token.is(TokenKind::kName)) return parse_name(with_attributes);
  if (token.is(TokenKind::kString)) return parse_strings();
  if (token.is(TokenKind::kInteger) || token.is(TokenKind::kFloat)) {
    Expression* constant = make(ExpressionKind::kConstant, token.where);
    constant->constant = tokens_.take().number;
    return constant;
  }
  if (tokens_.skip_operator("(")) {
    if (tokens_.current().is_operator(")")) {
      Expression* empty = make(ExpressionKind::kTuple, tokens_.take().where);
      return done(empty);
    }
    Expression* inside = parse_tuple();
    tokens_.expect_operator(")");
    return inside;
  }
  if (token.is_operator("[")) return parse_list();
  if (token.is_operator("{")) return parse_dict();
  tokens_.fail_expected("an expression");
}

Expression* ExpressionParser::parse_name(bool with_attributes) {
  const Token& token = tokens_.take();
  if (token.text == "true" || token.text == "True" || token.text == "false" || token.text == "False") {
    Expression* constant = make(ExpressionKind::kConstant, token.where);
    constant->constant = Value::boolean(token.text == "true" || token.text == "True");
    return constant;
  }
  if (token.text == "none" || token.text == "None") {
    Expression* constant = make(ExpressionKind::kConstant, token.where);
    constant->constant = Value::none();
    return constant;
  }
  Expression* name = make(ExpressionKind::kName, token.where);
  name->name = tokens_.text_of(token.text);
  if (with_attributes && tokens_.skip_operator(".")) {
    name->kind = ExpressionKind::kAttributeOf;
    name->attribute = tokens_.text_of(tokens_.expect(TokenKind::kName, "an attribute's name").text);
  }
  return name;
}

Expression* ExpressionParser::parse_strings() {
  Expression* constant = make(ExpressionKind::kConstant, tokens_.current().where);
  TextBuilder joined(tokens_.arena());
  while (tokens_.current().is(TokenKind::kString)) joined.append(tokens_.take().text);
  constant->constant = Value::of(joined.finish());
  return constant;
}

Expression* ExpressionParser::parse_list() {
  Expression* list = make(ExpressionKind::kList, tokens_.take().where);
  std::vector<Expression*> items;
  while (!tokens_.current().is_operator("]")) {
    if (!items.empty()) tokens_.expect_operator(",");
    if (tokens_.current().is_operator("]")) break;
    items.push_back(parse());
  }
  tokens_.expect_operator("]");
  list->parts = tokens_.arena().copy(items);
  return done(list);
}

Expression* ExpressionParser::parse_dict() {
  Expression* dict = make(ExpressionKind::kDict, tokens_.take().where);
  std::vector<Expression*> items;
  while (!tokens_.current().is_operator("}")) {
    if (!items.empty()) tokens_.expect_operator(",");
    if (tokens_.current().is_operator("}")) break;
    items.push_back(parse());
    tokens_.expect_operator(":");
    items.push_back(parse());
  }
  tokens_.expect_operator("}");
  dict->parts = tokens_.arena().copy(items);
  return done(dict);
}

bool ExpressionParser::at_tuple_end(std::string_view end) const {
  const Token& token = tokens_.current();
  return token.is(TokenKind::kPrintEnd) || token.is(TokenKind::kBlockEnd) || token.is_operator(")") ||
         (!end.empty() && token.is_name(end));
}

template <class Parse>
Expression* ExpressionParser::parse_items(std::string_view end, const Parse& parse) {
  std::vector<Expression*> items;
  bool is_tuple = false;
  const Position where = tokens_.current().where;
  for (;;) {
    if (!items.empty()) tokens_.expect_operator(",");
    if (at_tuple_end(end)) break;
    items.push_back(parse());
    if (!tokens_.current().is_operator(",")) break;
    is_tuple = true;
  }
  if (items.empty()) return nullptr;
  if (!is_tuple) return items[0];
  Expression* tuple = make(ExpressionKind::kTuple, where);
  tuple->parts = tokens_.arena().copy(items);
  return done(tuple);
}

Expression* ExpressionParser::parse_tuple(bool with_condition, std::string_view end) {
  Expression* tuple = parse_items(end, [&] { return with_condition ? parse_conditional() : parse_or(); });
  if (tuple == nullptr) tokens_.fail_expected("an expression");
  return tuple;
}

void ExpressionParser::require_assignable(const Expression& target) const {
  switch (target.kind) {
    case ExpressionKind::kName:
    case ExpressionKind::kAttributeOf: return;
    case ExpressionKind::kTuple:
      for (const Expression* part : target.parts) require_assignable(*part);
      return;
    default: fail_at(target.where, "found something that cannot be assigned to, expected a name");
  }
}

Expression* ExpressionParser::parse_target(bool with_attributes, std::string_view end) {
  Expression* target = parse_items(end, [&] { return parse_primary(with_attributes); });
  if (target == nullptr) tokens_.fail_expected("a name to assign to");
  require_assignable(*target);
  return target;
}

Expression* ExpressionParser::parse_postfix(Expression* expression) {
  for (;;) {
    if (tokens_.current().is_operator(".")) {
      expression = parse_attribute(expression);
    } else if (tokens_.current().is_operator("[")) {
      expression = parse_subscript(expression);
    } else if (tokens_.current().is_operator("(")) {
      expression = parse_call(expression);
    } else {
      return expression;
    }
  }
}

Expression* ExpressionParser::parse_filters(Expression* expression) {
  for (;;) {
    if (tokens_.current().is_operator("|")) {
      tokens_.take();
      expression = parse_filter(expression);
    } else if (tokens_.current().is_name("is")) {
      expression = parse_test(expression);
    } else if (tokens_.current().is_operator("(")) {
      expression = parse_call(expression);
    } else {
      return expression;
    }
  }
}

Expression* ExpressionParser::parse_attribute(Expression* object) {
  const Position where = tokens_.take().where;
  const Token& token = tokens_.take();
  if (token.is(TokenKind::kName)) {
    Expression* attribute = make(ExpressionKind::kAttribute, where);
    attribute->first = object;
    attribute->name = tokens_.text_of(token.text);
    return done(attribute);
  }
  if (!token.is(TokenKind::kInteger))
    fail_at(token.where, "found {}, expected an attribute's name or number", describe(token));
  Expression* index = make(ExpressionKind::kConstant, token.where);
  index->constant = token.number;
  Expression* item = make(ExpressionKind::kItem, where);
  item->first = object;
  item->second = index;
  return done(item);
}

Expression* ExpressionParser::parse_subscript(Expression* object) {
  const Position where = tokens_.take().where;
  std::vector<Expression*> indexes;
  while (!tokens_.current().is_operator("]")) {
    if (!indexes.empty()) tokens_.expect_operator(",");
    indexes.push_back(parse_slice_or_index());
  }
  tokens_.expect_operator("]");
  if (indexes.size() == 1 && indexes[0]->kind == ExpressionKind::kSlice) {
    indexes[0]->first = object;
    return done(indexes[0]);
  }
  Expression* item = make(ExpressionKind::kItem, where);
  item->first = object;
  if (indexes.size() == 1) {
    item->second = indexes[0];
    return done(item);
  }
  for (const Expression* index : indexes)
    if (index->kind == ExpressionKind::kSlice)
      fail_at(index->where, "found a slice among several indexes, expected one");
  Expression* tuple = make(ExpressionKind::kTuple, where);
  tuple->parts = tokens_.arena().copy(indexes);
  item->second = done(tuple);
  return done(item);
}

Expression* ExpressionParser::parse_slice_or_index() {
  const Position where = tokens_.current().where;
  const auto at_end = [&] {
    const Token& token = tokens_.current();
    return token.is_operator("]") || token.is_operator(",") || token.is_operator(":");
  };
  Expression* first = tokens_.current().is_operator(":") ? nullptr : parse();
  if (!tokens_.skip_operator(":")) return first;
  const auto bounds = tokens_.arena().array<Expression*>(3);
  bounds[0] = first;
  bounds[1] = at_end() ? nullptr : parse();
  if (tokens_.skip_operator(":")) bounds[2] = at_end() ? nullptr : parse();
  Expression* slice = make(ExpressionKind::kSlice, where);
  slice->parts = bounds;
  return slice;
}

Expression* ExpressionParser::parse_call(Expression* callee) {
  Expression* call = make(ExpressionKind::kCall, tokens_.current().where);
  call->first = callee;
  parse_arguments(*call);
  return done(call);
}

void ExpressionParser::parse_arguments(Expression& call) {
  tokens_.expect_operator("(");
  std::vector<Expression*> parts;
  std::vector<NamedExpression> named;
  bool begun = false;
  while (!tokens_.current().is_operator(")")) {
    if (begun) {
      tokens_.expect_operator(",");
      if (tokens_.current().is_operator(")")) break;
    }
    begun = true;
    parse_argument(call, parts, named);
  }
  tokens_.expect_operator(")");
  call.parts = tokens_.arena().copy(parts);
  call.named = tokens_.arena().copy(named);
}

void ExpressionParser::parse_argument(Expression& call, std::vector<Expression*>& parts,
                                      std::vector<NamedExpression>& named) {
  const Position where = tokens_.current().where;
  const auto require = [&](bool allowed) {
    if (!allowed) fail_at(where, "found an argument out of order, expected values, names, *values, **names");
  };
  if (tokens_.skip_operator("*")) {
    require(call.rest == nullptr && call.named_rest == nullptr);
    call.rest = parse();
  } else if (tokens_.skip_operator("**")) {
    require(call.named_rest == nullptr);
    call.named_rest = parse();
  } else if (tokens_.current().is(TokenKind::kName) && tokens_.look_ahead().is_operator("=")) {
    require(call.named_rest == nullptr);
    const Text* name = tokens_.text_of(tokens_.take().text);
    const bool repeated = std::any_of(named.begin(), named.end(),
                                      [&](const NamedExpression& other) { return other.name->bytes == name->bytes; });
    if (repeated) fail_at(where, "the argument '{}' is given twice", name->bytes);
    tokens_.take();
    named.push_back({name, parse()});
  } else {
    require(call.rest == nullptr && call.named_rest == nullptr && named.empty());
    parts.push_back(parse());
  }
}

const Text* ExpressionParser::parse_dotted_name() {
  const Token& token = tokens_.expect(TokenKind::kName, "a name");
  if (!tokens_.current().is_operator(".")) return tokens_.text_of(token.text);
  TextBuilder name(tokens_.arena());
  name.append(token.text);
  while (tokens_.skip_operator(".")) {
    name.append(".");
    name.append(tokens_.expect(TokenKind::kName, "a name").text);
  }
  return name.finish();
}

Expression* ExpressionParser::parse_filter(Expression* operand) {
  Expression* filter = make(ExpressionKind::kFilter, tokens_.current().where);
  filter->first = operand;
  filter->name = parse_dotted_name();
  filter->filter = find_filter(filter->name->bytes);
  if (tokens_.current().is_operator("(")) parse_arguments(*filter);
  return done(filter);
}

Expression* ExpressionParser::parse_block_filter(bool begun) {
  Expression* filter = nullptr;
  while (begun || tokens_.skip_operator("|")) {
    begun = false;
    filter = parse_filter(filter);
  }
  return filter;
}

Expression* ExpressionParser::parse_test(Expression* operand) {
  Expression* test = make(ExpressionKind::kTest, tokens_.take().where);
  const bool negated = tokens_.skip_name("not");
  test->first = operand;
  test->name = parse_dotted_name();
  test->filter = find_test(test->name->bytes);
  const Token& token = tokens_.current();
  const bool begins_value = token.is(TokenKind::kName) || token.is(TokenKind::kString) ||
                            token.is(TokenKind::kInteger) || token.is(TokenKind::kFloat) || token.is_operator("[") ||
                            token.is_operator("{");
  if (token.is_operator("(")) {
    parse_arguments(*test);
  } else if (begins_value && !token.is_name("else") && !token.is_name("or") && !token.is_name("and")) {
    if (token.is_name("is")) tokens_.fail_expected("no second 'is' behind a test");
    const std::vector<Expression*> argument = {parse_postfix(parse_primary(false))};
    test->parts = tokens_.arena().copy(argument);
  }
  if (!negated) return done(test);
  Expression* negation = make(ExpressionKind::kNot, test->where);
  negation->first = done(test);
  return done(negation);
}

}  // namespace octavo::jinja

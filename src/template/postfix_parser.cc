// What stands behind a value in an expression: attributes, subscripts, calls, filters and tests.
#include <algorithm>

#include "template/expression_parser.h"

namespace octavo::jinja {

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

// Parses the expressions of a template, with jinja2's precedence. One thread uses a parser.
#pragma once

#include "template/parse/token_stream.h"

namespace octavo::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  Expression* parse() { return parse_conditional(); }
  /// Parses one expression, or a tuple of several between commas. `end` is a name that ends the tuple.
  Expression* parse_tuple(bool with_condition = true, std::string_view end = {});
  /// Parses the target of `set` and `for`: names, or with `with_attributes` attributes of a namespace.
  Expression* parse_target(bool with_attributes, std::string_view end = {});
  /// Parses the filters behind a block's name: "|upper|trim", or "upper|trim" with `begun`. Null: there are none.
  Expression* parse_block_filter(bool begun);
  /// An expression that joins the texts of several.
  Expression* join(std::span<Expression* const> parts, Position where);

 private:
  using Part = Expression* (ExpressionParser::*)();

  Expression* make(ExpressionKind kind, Position where);
  /// Notes the height of the tree, once its parts are there.
  Expression* done(Expression* expression);
  Expression* make_binary(Operator operation, Expression* first, Expression* second);

  Expression* parse_conditional();
  /// Operands of one kind with a word between them.
  Expression* parse_joined(std::string_view word, ExpressionKind kind, Part part);
  Expression* parse_or();
  Expression* parse_and();
  Expression* parse_not();
  Expression* parse_comparison();
  Expression* parse_sum();
  Expression* parse_concat();
  Expression* parse_product();
  Expression* parse_power();
  Expression* parse_unary(bool with_filters);
  Expression* parse_primary(bool with_attributes);
  Expression* parse_name(bool with_attributes);
  Expression* parse_strings();
  Expression* parse_list();
  Expression* parse_dict();
  Expression* parse_postfix(Expression* expression);
  Expression* parse_filters(Expression* expression);
  Expression* parse_attribute(Expression* object);
  Expression* parse_subscript(Expression* object);
  Expression* parse_slice_or_index();
  Expression* parse_call(Expression* callee);
  Expression* parse_filter(Expression* operand);
  Expression* parse_test(Expression* operand);
  void parse_arguments(Expression& call);
  void parse_argument(Expression& call, std::vector<Expression*>& parts, std::vector<NamedExpression>& named);
  const Text* parse_dotted_name();
  bool at_tuple_end(std::string_view end) const;
  /// One item, or the tuple of several between commas. Null: there is none.
  template <class Parse>
  Expression* parse_items(std::string_view end, const Parse& parse);
  void require_assignable(const Expression& target) const;

  TokenStream& tokens_;
};

}  // namespace octavo::jinja

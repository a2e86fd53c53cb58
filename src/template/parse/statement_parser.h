// Parses a template's statements into a tree.
#pragma once

#include <initializer_list>

#include "template/parse/expression_parser.h"

namespace octavo::jinja {

class StatementParser {
 public:
  explicit StatementParser(TokenStream& tokens) : tokens_(tokens), expressions_(tokens) {}

  /// Parses the whole template.
  Body parse();

 private:
  using Names = std::initializer_list<std::string_view>;

  Statement* make(StatementKind kind, Position where);
  /// Parses statements up to a block that begins with one of the names, which is then the current token.
  Body parse_until(Names names);
  /// Parses the body behind a statement's own block, and the end of its last block.
  Body parse_body(std::string_view end);
  void begin_body();

  Statement* parse_print();
  Statement* parse_statement();
  Statement* parse_if(Position where);
  Statement* parse_for(Position where);
  Statement* parse_set(Position where);
  Statement* parse_macro(Position where);
  Statement* parse_call_block(Position where);
  Statement* parse_filter_block(Position where);
  Statement* parse_generation(Position where);
  Statement* parse_with(Position where);
  Statement* parse_loop_control(Position where, StatementKind kind);
  std::span<Parameter> parse_parameters();
  /// Parses the prints of `{% print a, b %}`.
  Statement* parse_print_block(Position where);

  TokenStream& tokens_;
  ExpressionParser expressions_;
  int loop_depth_ = 0;  // the number of loops that `break` may leave, 0 in a macro's body
};

}  // namespace octavo::jinja

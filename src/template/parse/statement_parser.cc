#include "template/parse/statement_parser.h"

#include <algorithm>
#include <utility>

namespace octavo::jinja {

namespace {

/// Whether a target has this name, at any depth.
bool has_name(const Expression& target, std::string_view name) {
  if (target.kind == ExpressionKind::kName) return target.name->bytes == name;
  return std::any_of(target.parts.begin(), target.parts.end(),
                     [&](const Expression* part) { return has_name(*part, name); });
}

std::string list_of(std::initializer_list<std::string_view> names) {
  std::string list;
  for (const std::string_view name : names) list += fmt::format("{}{{% {} %}}", list.empty() ? "" : " or ", name);
  return list;
}

}  // namespace

Statement* StatementParser::make(StatementKind kind, Position where) {
  auto* statement = tokens_.arena().make<Statement>(kind);
  statement->where = where;
  return statement;
}

Body StatementParser::parse() { return parse_until({}); }

Body StatementParser::parse_until(Names names) {
  std::vector<Statement*> statements;
  for (;;) {
    const Token& token = tokens_.current();
    if (token.is(TokenKind::kEnd)) {
      if (names.size() == 0) break;
      tokens_.fail_expected(list_of(names));
    }
    if (token.is(TokenKind::kText)) {
      Statement* text = make(StatementKind::kText, token.where);
      text->text = tokens_.text_of(tokens_.take().text);
      statements.push_back(text);
    } else if (token.is(TokenKind::kPrintBegin)) {
      statements.push_back(parse_print());
    } else {
      tokens_.take();
      const Token& name = tokens_.current();
      if (name.is(TokenKind::kName) && std::find(names.begin(), names.end(), name.text) != names.end()) break;
      Statement* statement = parse_statement();
      if (statement != nullptr) statements.push_back(statement);
      tokens_.expect(TokenKind::kBlockEnd, "'%}'");
    }
  }
  return tokens_.arena().copy(statements);
}

void StatementParser::begin_body() {
  tokens_.skip_operator(":");
  tokens_.expect(TokenKind::kBlockEnd, "'%}'");
}

Body StatementParser::parse_body(std::string_view end) {
  begin_body();
  const Body body = parse_until({end});
  tokens_.take();
  return body;
}

Statement* StatementParser::parse_print() {
  Statement* print = make(StatementKind::kPrint, tokens_.take().where);
  print->expression = expressions_.parse_tuple();
  tokens_.expect(TokenKind::kPrintEnd, "'}}'");
  return print;
}

Statement* StatementParser::parse_statement() {
  const TokenStream::Nesting nesting(tokens_);
  const Token& token = tokens_.expect(TokenKind::kName, "a statement's name");
  const std::string_view name = token.text;
  if (name == "if") return parse_if(token.where);
  if (name == "for") return parse_for(token.where);
  if (name == "set") return parse_set(token.where);
  if (name == "macro") return parse_macro(token.where);
  if (name == "call") return parse_call_block(token.where);
  if (name == "filter") return parse_filter_block(token.where);
  if (name == "generation") return parse_generation(token.where);
  if (name == "with") return parse_with(token.where);
  if (name == "print") return parse_print_block(token.where);
  if (name == "break") return parse_loop_control(token.where, StatementKind::kBreak);
  if (name == "continue") return parse_loop_control(token.where, StatementKind::kContinue);
  for (const std::string_view refused : {"include", "import", "from", "extends", "block", "autoescape"})
    if (name == refused) fail_at(token.where, "the statement '{}' is not supported: a template is one text", name);
  fail_at(token.where, "found the statement '{}', which is not known or has no begin here", name);
}

Statement* StatementParser::parse_if(Position where) {
  Statement* statement = make(StatementKind::kIf, where);
  std::vector<Branch> branches;
  for (;;) {
    Branch branch{};
    branch.condition = expressions_.parse_tuple(false);
    begin_body();
    branch.body = parse_until({"elif", "else", "endif"});
    branches.push_back(branch);
    const std::string_view end = tokens_.take().text;
    if (end == "elif") continue;
    if (end == "else") statement->other = parse_body("endif");
    statement->branches = tokens_.arena().copy(branches);
    return statement;
  }
}

Statement* StatementParser::parse_for(Position where) {
  Statement* statement = make(StatementKind::kFor, where);
  statement->target = expressions_.parse_target(false, "in");
  if (has_name(*statement->target, "loop")) fail_at(where, "found 'loop' as the name to assign to in a for statement");
  if (!tokens_.skip_name("in")) tokens_.fail_expected("'in'");
  statement->expression = expressions_.parse_tuple(false, "recursive");
  if (tokens_.skip_name("if")) statement->test = expressions_.parse();
  statement->is_recursive = tokens_.skip_name("recursive");
  begin_body();
  ++loop_depth_;
  statement->body = parse_until({"endfor", "else"});
  --loop_depth_;
  if (tokens_.take().text == "else") statement->other = parse_body("endfor");
  return statement;
}

Statement* StatementParser::parse_set(Position where) {
  Expression* target = expressions_.parse_target(true);
  const bool is_block = !tokens_.skip_operator("=");
  Statement* statement = make(is_block ? StatementKind::kSetBlock : StatementKind::kSet, where);
  statement->target = target;
  if (is_block) {
    statement->filter = expressions_.parse_block_filter(false);
    statement->body = parse_body("endset");
  } else {
    statement->expression = expressions_.parse_tuple();
  }
  return statement;
}

std::span<Parameter> StatementParser::parse_parameters() {
  std::vector<Parameter> parameters;
  tokens_.expect_operator("(");
  while (!tokens_.current().is_operator(")")) {
    if (!parameters.empty()) tokens_.expect_operator(",");
    const Token& token = tokens_.expect(TokenKind::kName, "a parameter's name");
    for (const Parameter& other : parameters)
      if (other.name->bytes == token.text) fail_at(token.where, "the parameter '{}' is there twice", token.text);
    Expression* value = tokens_.skip_operator("=") ? expressions_.parse() : nullptr;
    if (value == nullptr && !parameters.empty() && parameters.back().value != nullptr)
      fail_at(token.where, "the parameter '{}' has no default, but stands behind one that has", token.text);
    parameters.push_back({tokens_.text_of(token.text), value});
  }
  tokens_.expect_operator(")");
  const auto kept = tokens_.arena().array<Parameter>(parameters.size());
  std::copy(parameters.begin(), parameters.end(), kept.begin());
  return kept;
}

Statement* StatementParser::parse_macro(Position where) {
  Statement* macro = make(StatementKind::kMacro, where);
  macro->name = tokens_.text_of(tokens_.expect(TokenKind::kName, "the macro's name").text);
  macro->parameters = parse_parameters();
  const int outer_depth = std::exchange(loop_depth_, 0);
  macro->body = parse_body("endmacro");
  loop_depth_ = outer_depth;
  return macro;
}

Statement* StatementParser::parse_call_block(Position where) {
  Statement* block = make(StatementKind::kCallBlock, where);
  if (tokens_.current().is_operator("(")) block->parameters = parse_parameters();
  block->expression = expressions_.parse();
  if (block->expression->kind != ExpressionKind::kCall)
    fail_at(block->expression->where, "found no call behind 'call', expected one");
  const int outer_depth = std::exchange(loop_depth_, 0);
  block->body = parse_body("endcall");
  loop_depth_ = outer_depth;
  return block;
}

Statement* StatementParser::parse_filter_block(Position where) {
  Statement* block = make(StatementKind::kFilterBlock, where);
  block->filter = expressions_.parse_block_filter(true);
  block->body = parse_body("endfilter");
  return block;
}

Statement* StatementParser::parse_generation(Position where) {
  Statement* block = make(StatementKind::kGeneration, where);
  const int outer_depth = std::exchange(loop_depth_, 0);
  block->body = parse_body("endgeneration");
  loop_depth_ = outer_depth;
  return block;
}

Statement* StatementParser::parse_with(Position where) {
  Statement* statement = make(StatementKind::kWith, where);
  std::vector<Parameter> names;
  while (!tokens_.current().is(TokenKind::kBlockEnd)) {
    if (!names.empty()) tokens_.expect_operator(",");
    const Token& token = tokens_.expect(TokenKind::kName, "a name to set");
    tokens_.expect_operator("=");
    names.push_back({tokens_.text_of(token.text), expressions_.parse()});
  }
  statement->parameters = tokens_.arena().array<Parameter>(names.size());
  std::copy(names.begin(), names.end(), statement->parameters.begin());
  statement->body = parse_body("endwith");
  return statement;
}

Statement* StatementParser::parse_print_block(Position where) {
  Statement* statement = make(StatementKind::kPrint, where);
  std::vector<Expression*> parts;
  while (!tokens_.current().is(TokenKind::kBlockEnd)) {
    if (!parts.empty()) tokens_.expect_operator(",");
    parts.push_back(expressions_.parse());
  }
  statement->expression = expressions_.join(parts, where);
  return statement;
}

Statement* StatementParser::parse_loop_control(Position where, StatementKind kind) {
  if (loop_depth_ == 0)
    fail_at(where, "found '{}' outside of a loop", kind == StatementKind::kBreak ? "break" : "continue");
  return make(kind, where);
}

}  // namespace octavo::jinja

// A template's source cut into tokens, as jinja2's lexer cuts it with trim_blocks and lstrip_blocks.
#pragma once

#include <vector>

#include "template/values/arena.h"
#include "template/values/failure.h"
#include "template/values/value.h"

namespace octavo::jinja {

enum class TokenKind : std::uint8_t {
  kText,
  kPrintBegin,
  kPrintEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  Position where;
  std::string_view text;  // text, name, operator, or the string's value
  Value number;

  bool is(TokenKind wanted) const { return kind == wanted; }
  bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
  bool is_operator(std::string_view symbol) const { return kind == TokenKind::kOperator && text == symbol; }
};

/// The token as messages name it.
std::string describe(const Token& token);

/// The tokens of a source, the last of kind kEnd. The source, UTF-8 with lines that end with "\n" (see
/// Template::compile()), and the arena must outlive them. Throws a Failure.
std::vector<Token> cut_tokens(Arena& arena, std::string_view source);

}  // namespace octavo::jinja

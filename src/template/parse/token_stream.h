// The tokens of a template, which the parsers take one by one, and the checks that both parsers make.
#pragma once

#include <algorithm>
#include <vector>

#include "template/parse/syntax.h"
#include "template/parse/tokens.h"

namespace octavo::jinja {

class TokenStream {
 public:
  TokenStream(Arena& arena, std::vector<Token> tokens) : arena_(arena), tokens_(std::move(tokens)) {}

  Arena& arena() { return arena_; }
  const Token& current() const { return tokens_[at_]; }
  const Token& look_ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  /// Passes the current token and gives it. The last one stays.
  const Token& take() {
    const Token& token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool skip_name(std::string_view name) { return skip(current().is_name(name)); }
  bool skip_operator(std::string_view symbol) { return skip(current().is_operator(symbol)); }
  const Token& expect(TokenKind kind, std::string_view expected) {
    if (!current().is(kind)) fail_expected(expected);
    return take();
  }
  void expect_operator(std::string_view symbol) {
    if (!skip_operator(symbol)) fail_expected(fmt::format("'{}'", symbol));
  }
  [[noreturn]] void fail_expected(std::string_view expected) const {
    fail_at(current().where, "found {}, expected {}", describe(current()), expected);
  }

  const Text* text_of(std::string_view bytes) { return borrow_text(arena_, bytes); }

  /// The depth of constructs within each other. A parser holds one for each construct.
  class Nesting {
   public:
    explicit Nesting(TokenStream& tokens) : depth_(tokens.depth_) {
      if (++depth_ <= kMostNested) return;
      --depth_;  // the destructor of what was not constructed does not run
      fail_at(tokens.current().where, "it is nested more than {} deep", kMostNested);
    }
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    int& depth_;
  };

 private:
  static constexpr int kMostNested = 200;  // CPython, to which jinja2 compiles, takes no more either

  bool skip(bool matches) {
    if (matches) take();
    return matches;
  }

  Arena& arena_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace octavo::jinja

// An independent truth for constraints: does a text, or a beginning of one, belong to a grammar? Found by trying
// derivations on the text itself, without an automaton, a stack or a trie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "constraint/grammar/grammar.h"

namespace octavo::test {

/// Reads one text by its grammar. Expressions must make progress: no rule that begins with itself.
class Recogniser {
 public:
  /// Ends of what an expression can read from a place, and whether it can read all of the rest and want more.
  struct Reading {
    std::set<std::size_t> ends;
    bool wants_more = false;
  };

  Recogniser(const Grammar& grammar, std::string_view text) : grammar_(grammar), text_(text) {}

  bool is_whole() { return read(grammar_.root(), 0).ends.contains(text_.size()); }
  /// Something can be added so that the text is whole.
  bool is_beginning() {
    const Reading reading = read(grammar_.root(), 0);
    return reading.wants_more || reading.ends.contains(text_.size());
  }

 private:
  using Kind = Expression::Kind;

  Reading read(ExpressionId id, std::size_t from) {
    const auto known = known_.find({id, from});
    if (known != known_.end()) return known->second;
    const Reading reading = find(grammar_.at(id), from);
    known_.emplace(std::pair(id, from), reading);
    return reading;
  }

  Reading find(const Expression& expression, std::size_t from) {
    switch (expression.kind) {
      case Kind::kNothing:
      case Kind::kToken: return {};
      case Kind::kLiteral: return read_literal(expression.text, from);
      case Kind::kSet: return read_set(grammar_.set_at(expression.first), from);
      case Kind::kRule: return read(grammar_.rules()[expression.first].body, from);
      case Kind::kAlternatives: return read_any(expression, from);
      case Kind::kSequence: return read_all(expression, from);
      case Kind::kRepeat: return read_repeat(expression, from);
    }
    return {};
  }

  Reading read_literal(std::string_view literal, std::size_t from) const {
    const std::string_view rest = text_.substr(from);
    if (rest.starts_with(literal)) return {.ends = {from + literal.size()}};
    return {.ends = {}, .wants_more = literal.starts_with(rest)};
  }

  /// Tries every character of the set: tests keep their sets small.
  Reading read_set(const CodePointSet& set, std::size_t from) const {
    Reading reading;
    for (const CodePointSet::Range& range : set.ranges()) {
      for (std::uint32_t c = range.begin; c < range.end; ++c) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        std::string bytes;
        append_utf8(bytes, c);
        merge(read_literal(bytes, from), reading);
      }
    }
    return reading;
  }

  Reading read_any(const Expression& expression, std::size_t from) {
    Reading reading;
    for (const ExpressionId child : expression.children) merge(read(child, from), reading);
    return reading;
  }

  Reading read_all(const Expression& expression, std::size_t from) {
    Reading reading{.ends = {from}};
    for (const ExpressionId child : expression.children) {
      Reading next{.ends = {}, .wants_more = reading.wants_more};
      for (const std::size_t end : reading.ends) merge(read(child, end), next);
      reading = std::move(next);
    }
    return reading;
  }

  Reading read_repeat(const Expression& expression, std::size_t from) {
    Reading reading;
    std::set<std::size_t> here = {from};
    // Beyond so many times nothing new is read: each time that counts takes a byte.
    const std::size_t most = std::min<std::size_t>(expression.max, expression.min + text_.size() + 1);
    for (std::size_t i = 0; i <= most && !here.empty(); ++i) {
      if (i >= expression.min) reading.ends.insert(here.begin(), here.end());
      if (i == most) break;
      Reading next;
      for (const std::size_t end : here) merge(read(expression.children.front(), end), next);
      reading.wants_more = reading.wants_more || next.wants_more;
      here = std::move(next.ends);
    }
    return reading;
  }

  static void merge(const Reading& from, Reading& to) {
    to.ends.insert(from.ends.begin(), from.ends.end());
    to.wants_more = to.wants_more || from.wants_more;
  }

  const Grammar& grammar_;
  std::string_view text_;
  std::map<std::pair<ExpressionId, std::size_t>, Reading> known_;
};

}  // namespace octavo::test

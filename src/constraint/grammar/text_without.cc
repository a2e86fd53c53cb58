#include "constraint/grammar/text_without.h"

#include <map>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"

namespace octavo {
namespace {

constexpr std::size_t kMaxMarkBytes = 4096;  // each of its beginnings is a part of the grammar

/// The beginnings of what follows the first character of the marks, each with the characters that lead on.
using Beginnings = std::map<std::string, CodePointSet>;

Result<Beginnings> beginnings_of(std::span<const std::string> marks, CompileWork& work) {
  Beginnings found;
  for (const std::string& mark : marks) {
    const std::size_t first = mark.empty() ? 0 : utf8_announced_length(mark.front());
    if (mark.size() <= first || !is_valid_utf8(mark))
      return fail("found the mark {}, expected two characters at least, in UTF-8", quote(mark));
    if (!marks.front().starts_with(mark.substr(0, first)) || mark.find(mark.substr(0, first), 1) != std::string::npos)
      return fail("found the mark {}, expected the first character of {} at its beginning and nowhere else",
                  quote(mark), quote(marks.front()));
    if (mark.size() > kMaxMarkBytes)
      return fail("found a mark of {} bytes, expected at most {}", mark.size(), kMaxMarkBytes);
    for (std::size_t i = first; i < mark.size(); i += utf8_announced_length(mark[i])) {
      if (!work.add(i)) return std::unexpected(work.error());
      found[mark.substr(first, i - first)].add(decode_utf8(std::string_view(mark).substr(i)));
    }
  }
  for (const std::string& mark : marks) {
    const std::size_t first = utf8_announced_length(mark.front());
    if (found.contains(mark.substr(first))) return fail("found the mark {}, with which another begins", quote(mark));
  }
  return found;
}

}  // namespace

// With f the marks' first character, and b any beginning of what follows it in a mark: a text is made of characters
// other than f, and of f (b f)* b c, where c leads on in no mark and is not f. It may end with f (b f)* b.
Result<ExpressionId> text_without(std::span<const std::string> marks, Grammar& grammar) {
  if (marks.empty()) return fail("found no mark, expected one at least");
  OCTAVO_TRY(const Beginnings beginnings, beginnings_of(marks, grammar.work()));
  const std::uint32_t first = decode_utf8(marks.front());
  const ExpressionId opens = grammar.set(CodePointSet(first));
  std::vector<ExpressionId> again, ends, left;
  for (const auto& [text, leads] : beginnings) {
    CodePointSet on = leads;
    on.add(first);
    const ExpressionId begun = grammar.literal(text);
    again.push_back(grammar.sequence({begun, opens}));
    ends.push_back(begun);
    left.push_back(grammar.sequence({begun, grammar.set(on.complement())}));
  }
  const ExpressionId begun =
      grammar.sequence({opens, grammar.repeat(grammar.alternatives(again), 0, Grammar::kAnyNumber)});
  const ExpressionId plain = grammar.set(CodePointSet(first).complement());
  const ExpressionId part = grammar.alternatives({plain, grammar.sequence({begun, grammar.alternatives(left)})});
  return grammar.sequence({grammar.repeat(part, 0, Grammar::kAnyNumber),
                           grammar.optional(grammar.sequence({begun, grammar.alternatives(ends)}))});
}

}  // namespace octavo

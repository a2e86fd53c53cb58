#include "constraint/forced_text.h"

#include <algorithm>
#include <bitset>
#include <string>
#include <string_view>

namespace octavo {
namespace {

constexpr std::size_t kMaxMembers = 64;  // in a set that is looked at; larger sets leave a choice

using Bytes = std::bitset<256>;

/// The bytes that a set can read; all bytes where it can also read tokens.
Bytes next_bytes(const Automaton& automaton, const ConfigurationSet& set) {
  Bytes bytes;
  for (const Configuration& member : set.members) {
    const Automaton::State& state = automaton.at(member.state);
    if (state.kind != Automaton::Kind::kBytes) return bytes.set();
    for (const Automaton::Edge& edge : automaton.edges(state)) {
      if (!automaton.is_live(edge.target)) continue;
      for (int byte = edge.low; byte <= edge.high; ++byte) bytes.set(to_size(byte));
    }
  }
  return bytes;
}

/// The only byte; -1: there are several, or none.
int single(const Bytes& bytes) {
  if (bytes.count() != 1) return -1;
  int byte = 0;
  while (!bytes.test(to_size(byte))) ++byte;
  return byte;
}

struct ForcedText {
  std::string text = {};
  Bytes next = {};  // the bytes that can follow it
};

bool may_be_forced(const ConfigurationSet& set) { return !set.is_complete && set.members.size() <= kMaxMembers; }

/// Finds forced text. Each token of an answer asks, and at most places there is a choice: nothing is copied or stepped
/// there.
ForcedText find_text(const Automaton& automaton, CallStacks& stacks, const ConfigurationSet& from) {
  ForcedText forced;
  if (!may_be_forced(from)) return forced;
  forced.next = next_bytes(automaton, from);
  if (single(forced.next) < 0) return forced;
  ConfigurationStepper stepper(automaton, stacks);
  ConfigurationSet set = from;
  while (may_be_forced(set) && forced.text.size() < kMaxForcedBytes) {
    const int byte = single(forced.next);
    if (byte < 0) break;
    forced.text += static_cast<char>(byte);
    set = stepper.after_byte(set.members, static_cast<std::uint8_t>(byte));
    forced.next = next_bytes(automaton, set);
  }
  return forced;
}

/// Whether a token in the nodes [begin, end), which are whole subtrees, begins with `text` and one of the bytes.
bool may_grow(const TokenTrie& trie, std::uint32_t begin, std::uint32_t end, std::string_view text, const Bytes& next) {
  const auto child_with = [&trie](std::uint32_t first, std::uint32_t behind, auto&& is_it) {
    std::uint32_t child = first;
    while (child < behind && !is_it(trie.at(child).byte)) child = trie.at(child).end;
    return child;
  };
  for (const char c : text) {
    const std::uint32_t node =
        child_with(begin, end, [c](std::uint8_t byte) { return byte == static_cast<std::uint8_t>(c); });
    if (node >= end) return false;
    begin = node + 1;
    end = trie.at(node).end;
  }
  return child_with(begin, end, [&next](std::uint8_t byte) { return next.test(byte); }) < end;
}

/// Whether a token begins with `text` and one of the bytes.
bool may_grow(const TokenTrie& trie, std::string_view text, const Bytes& next) {
  return std::ranges::any_of(
      trie.parts(), [&](const TokenTrie::Part& part) { return may_grow(trie, part.begin, part.end, text, next); });
}

/// The number of a text's leading tokens that stay as they are whatever follows.
std::size_t count_settled(const ConstraintVocabulary& vocabulary, std::span<const TokenId> tokens,
                          const ForcedText& forced) {
  std::string_view rest = forced.text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (may_grow(vocabulary.trie(), rest, forced.next)) return i;
    rest.remove_prefix(std::min(rest.size(), vocabulary.at(tokens[i]).bytes.size()));
  }
  return tokens.size();
}

}  // namespace

std::vector<TokenId> forced_tokens(const CompiledConstraint& constraint, CallStacks& stacks,
                                   const ConfigurationSet& set, std::optional<TokenId> previous) {
  const ConstraintVocabulary& vocabulary = *constraint.vocabulary();
  if (!vocabulary.has_encoder()) return {};
  const ForcedText forced = find_text(constraint.automaton(), stacks, set);
  if (forced.text.empty()) return {};
  std::vector<TokenId> tokens = vocabulary.encode(previous, forced.text);
  for (const TokenId token : tokens)
    if (token < 0 || to_size(token) >= vocabulary.size() || vocabulary.at(token).ends_answer ||
        vocabulary.at(token).bytes.empty())
      return {};
  tokens.resize(count_settled(vocabulary, tokens, forced));
  return tokens;
}

}  // namespace octavo

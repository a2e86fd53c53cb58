// The sets of texts that a schema's patterns and formats mean.
//
// Sets are made as they are asked for and kept, within a bound on the work of one schema. One thread uses them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "constraint/regex/character_dfa.h"
#include "constraint/schema/json_tree.h"

namespace octavo {

/// The pattern that the whole texts of a format match. No value: Octavo does not know the format.
std::optional<std::string_view> pattern_of_format(std::string_view name);
/// Whether JSON Schema defines the format, so that a schema which names the format relies on it.
bool is_standard_format(std::string_view name);

class SchemaTexts {
 public:
  static constexpr std::size_t kMaxTransitions = 1 << 23;  // for all automata of a schema: 32 MiB

  SchemaTexts(const JsonTree& tree, CompileWork& work) : tree_(tree), work_(work) {}

  /// The texts in which the pattern at a node is found. Null: why_not() has the reason.
  const CharacterDfa* of_pattern(JsonTree::NodeId keyword);
  /// The names of which a member of `patternProperties` speaks.
  const CharacterDfa* of_names(JsonTree::NodeId member);
  /// The texts of a format; null also for a format that is not known.
  const CharacterDfa* of_format(JsonTree::NodeId keyword);
  const std::string& why_not() const { return why_not_; }

  std::optional<CharacterDfa> both(const CharacterDfa& a, const CharacterDfa& b);
  /// All texts but the given ones.
  std::optional<CharacterDfa> all_but(std::span<const std::string> texts);

 private:
  const CharacterDfa* known(JsonTree::NodeId node, std::string_view pattern, RegexReach reach);
  std::optional<CharacterDfa> counted(std::optional<CharacterDfa> dfa);

  struct Entry {
    std::optional<CharacterDfa> dfa;
    std::string why_not;
  };
  const JsonTree& tree_;
  CompileWork& work_;
  std::map<std::pair<RegexReach, std::string>, Entry, std::less<>> entries_;
  std::map<std::pair<RegexReach, JsonTree::NodeId>, const Entry*> by_node_;  // the entries of nodes that were asked for
  std::string why_not_;
  std::size_t num_transitions_ = 0;
};

}  // namespace octavo

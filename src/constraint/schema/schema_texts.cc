#include "constraint/schema/schema_texts.h"

#include <utility>

namespace octavo {

const CharacterDfa* SchemaTexts::of_pattern(JsonTree::NodeId keyword) {
  return known(keyword, tree_.at(keyword).text, RegexReach::kSomewhere);
}

const CharacterDfa* SchemaTexts::of_names(JsonTree::NodeId member) {
  return known(member, tree_.at(member).key, RegexReach::kSomewhere);
}

const CharacterDfa* SchemaTexts::of_format(JsonTree::NodeId keyword) {
  const auto pattern = pattern_of_format(tree_.at(keyword).text);
  return pattern ? known(keyword, *pattern, RegexReach::kWhole) : nullptr;
}

const CharacterDfa* SchemaTexts::known(JsonTree::NodeId node, std::string_view pattern, RegexReach reach) {
  const auto [by_node, is_new_node] = by_node_.try_emplace({reach, node});
  if (!is_new_node) {
    why_not_ = by_node->second->why_not;
    return by_node->second->dfa ? &*by_node->second->dfa : nullptr;
  }
  work_.add(pattern.size());
  const auto [place, is_new] = entries_.try_emplace({reach, std::string(pattern)});
  Entry& entry = place->second;
  by_node->second = &entry;
  if (is_new && num_transitions_ < kMaxTransitions) {
    auto dfa = CharacterDfa::of_pattern(pattern, reach, work_);
    if (dfa) {
      entry.dfa = counted(std::move(*dfa));
      if (!entry.dfa) entry.why_not = "the pattern takes too many states";
    } else {
      entry.why_not = dfa.error().message;
    }
  }
  if (is_new && !entry.dfa && entry.why_not.empty()) entry.why_not = "the schema's patterns take too many states";
  why_not_ = entry.why_not;
  return entry.dfa ? &*entry.dfa : nullptr;
}

std::optional<CharacterDfa> SchemaTexts::counted(std::optional<CharacterDfa> dfa) {
  num_transitions_ += dfa ? dfa->num_transitions() : CharacterDfa::kMaxTransitions / 4;
  return dfa;
}

std::optional<CharacterDfa> SchemaTexts::both(const CharacterDfa& a, const CharacterDfa& b) {
  if (num_transitions_ >= kMaxTransitions) return std::nullopt;
  num_transitions_ += (a.num_transitions() + b.num_transitions()) / 16;  // the work of going through them
  return counted(a.intersection(b, work_));
}

std::optional<CharacterDfa> SchemaTexts::all_but(std::span<const std::string> texts) {
  if (num_transitions_ >= kMaxTransitions) return std::nullopt;
  auto dfa = counted(CharacterDfa::of_texts(texts, work_));
  if (dfa) dfa = dfa->complement();
  return dfa;
}

}  // namespace octavo

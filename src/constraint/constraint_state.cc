#include "constraint/constraint_state.h"

#include <algorithm>
#include <utility>

#include "constraint/forced_text.h"

namespace octavo {
namespace {

/// The union of two sets, to which two ways of reading a token have led.
ConfigurationSet joined(ConfigurationSet a, const ConfigurationSet& b) {
  a.members.insert(a.members.end(), b.members.begin(), b.members.end());
  std::ranges::sort(a.members);
  const auto rest = std::ranges::unique(a.members);
  a.members.erase(rest.begin(), rest.end());
  a.is_complete = a.is_complete || b.is_complete;
  a.is_too_large = a.is_too_large || b.is_too_large;
  return a;
}

}  // namespace

void ConstraintState::begin(std::shared_ptr<const CompiledConstraint> constraint, std::optional<TokenId> previous) {
  constraint_ = std::move(constraint);
  stacks_.clear();
  most_stacks_ = kFewStacks;
  set_ = ConfigurationStepper(constraint_->automaton(), stacks_).enter(constraint_->automaton().start());
  drops_space_ = constraint_->vocabulary()->drops_first_space();
  has_ended_ = false;
  is_at_start_ = true;
  work_ = 0;
  previous_ = previous;
  if (previous) {
    pass(*previous);
  } else {
    find_forced();
  }
}

void ConstraintState::pass(TokenId token) {
  move_behind(token);
  find_forced();
}

void ConstraintState::move_behind(TokenId token) {
  const ConstraintVocabulary& vocabulary = *constraint_->vocabulary();
  const bool is_known = token >= 0 && to_size(token) < vocabulary.size();
  drops_space_ = vocabulary.drops_first_space() && is_known && vocabulary.at(token).drops_space;
  previous_ = token;
}

void ConstraintState::find_forced() {
  forced_.clear();
  num_forced_taken_ = 0;
  if (!has_ended_) forced_ = forced_tokens(*constraint_, stacks_, set_, previous_);
}

FoundMask ConstraintState::allow(std::span<MaskWord> mask, const MaskSearch& search) const {
  const ConstraintVocabulary& vocabulary = *constraint_->vocabulary();
  if (set_.is_complete)
    for (const TokenId token : vocabulary.end_tokens()) allow_token(mask, to_size(token));
  if (has_ended_) return {};
  if (!forced().empty()) {
    allow_token(mask, to_size(forced().front()));
    return {};
  }
  for (const auto& [id, stack] : set_.members) {
    const Automaton::State& state = constraint_->automaton().at(id);
    if (state.kind == Automaton::Kind::kToken && state.begin < vocabulary.size()) allow_token(mask, state.begin);
  }
  return constraint_->masks().allow(set_, stacks_, drops_space_, mask, search);
}

bool ConstraintState::is_mask_kept() const {
  return has_ended_ || !forced().empty() || constraint_->masks().is_kept(set_, stacks_, drops_space_);
}

void ConstraintState::allow_all_but_ends(std::span<MaskWord> mask) const {
  std::ranges::fill(mask, ~MaskWord{0});
  for (const TokenId token : constraint_->vocabulary()->end_tokens()) forbid_token(mask, to_size(token));
}

bool ConstraintState::accept(TokenId token) {
  is_at_start_ = false;
  const ConstraintVocabulary& vocabulary = *constraint_->vocabulary();
  if (token < 0 || to_size(token) >= vocabulary.size()) {
    set_ = {};
    return false;
  }
  const ConstraintVocabulary::Token& known = vocabulary.at(token);
  ConfigurationStepper stepper(constraint_->automaton(), stacks_);
  ConfigurationSet next = stepper.after_token(set_.members, token);
  if (known.ends_answer && next.is_dead()) {
    has_ended_ = true;
    return set_.is_complete;
  }
  std::string_view bytes = known.ends_answer ? std::string_view() : known.bytes;
  if (drops_space_ && bytes.starts_with(' ')) bytes.remove_prefix(1);
  if (!bytes.empty()) next = joined(std::move(next), after_bytes(bytes));
  set_ = has_ended_ ? ConfigurationSet{} : std::move(next);
  const bool is_forced = !forced().empty() && forced().front() == token;
  move_behind(token);
  if (is_forced) ++num_forced_taken_;
  if (!is_forced || forced().empty()) find_forced();
  if (stacks_.size() > most_stacks_) drop_unused_stacks();
  return !set_.is_dead() && !set_.is_too_large;
}

ConfigurationSet ConstraintState::after_bytes(std::string_view bytes) {
  ConfigurationStepper stepper(constraint_->automaton(), stacks_);
  ConfigurationSet set = set_;
  for (const char c : bytes) {
    if (set.members.empty()) return {.members = {}, .is_too_large = set.is_too_large};
    work_ += set.members.size();
    set = stepper.after_byte(set.members, static_cast<std::uint8_t>(c));
  }
  return set;
}

/// Drops stacks on which no configuration stands any more: they would grow with the answer.
void ConstraintState::drop_unused_stacks() {
  CallStacks kept;
  std::unordered_map<StackId, StackId> moved = {{CallStacks::kBottom, CallStacks::kBottom}};
  std::vector<StackId> path;
  for (Configuration& member : set_.members) {
    path.clear();
    for (StackId stack = member.stack; !moved.contains(stack); stack = stacks_.below(stack)) path.push_back(stack);
    for (; !path.empty(); path.pop_back())
      moved[path.back()] = kept.push(moved.at(stacks_.below(path.back())), stacks_.return_of(path.back()));
    member.stack = moved.at(member.stack);
  }
  std::ranges::sort(set_.members);
  stacks_ = std::move(kept);
  most_stacks_ = std::max(kFewStacks, 2 * stacks_.size());
}

}  // namespace octavo

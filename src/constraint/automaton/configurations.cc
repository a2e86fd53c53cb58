#include "constraint/automaton/configurations.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {
namespace {

std::uint64_t join(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32 | low; }

/// The last step of MurmurHash3: every bit of the key changes every bit of the result.
std::uint64_t mix(std::uint64_t key) {
  key = (key ^ key >> 33) * 0xFF51AFD7ED558CCD;
  key = (key ^ key >> 33) * 0xC4CEB9FE1A85EC53;
  return key ^ key >> 33;
}

}  // namespace

StackId CallStacks::push(StackId below, StateId return_to) {
  const auto [place, is_new] = ids_.try_emplace(join(below, return_to), static_cast<StackId>(nodes_.size()));
  if (is_new) nodes_.push_back({return_to, below});
  return place->second;
}

void CallStacks::clear() {
  nodes_.assign(1, {Automaton::kReturn, kBottom});
  ids_.clear();
}

bool is_in_loop(const Automaton& automaton, const Configuration& configuration, const CallStacks& stacks,
                StackId bottom) {
  if (automaton.is_in_loop(configuration.state)) return true;
  for (StackId at = configuration.stack; at != bottom; at = stacks.below(at))
    if (automaton.is_in_loop(stacks.return_of(at))) return true;
  return false;
}

void MetKeys::clear() {
  ++round_;
  count_ = 0;
  if (round_ != 0) return;
  std::ranges::fill(slots_, Slot{});
  round_ = 1;
}

bool MetKeys::insert(std::uint64_t key) {
  if (!place(key)) return false;
  if (++count_ * 2 < slots_.size()) return true;
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.round == round_) place(slot.key);
  return true;
}

bool MetKeys::place(std::uint64_t key) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = mix(key) & mask;
  for (; slots_[i].round == round_; i = (i + 1) & mask)
    if (slots_[i].key == key) return false;
  slots_[i] = {key, round_};
  return true;
}

ConfigurationSet ConfigurationStepper::enter(StateId state, StackId stack) {
  add({state, stack});
  return close();
}

ConfigurationSet ConfigurationStepper::after_byte(std::span<const Configuration> from, std::uint8_t byte) {
  ConfigurationSet set;
  after_byte(from, byte, set);
  return set;
}

void ConfigurationStepper::after_byte(std::span<const Configuration> from, std::uint8_t byte, ConfigurationSet& set) {
  for (const auto& [id, stack] : from) {
    const Automaton::State& state = automaton_.at(id);
    if (state.kind != Automaton::Kind::kBytes) continue;
    for (const Automaton::Edge& edge : automaton_.edges(state))
      if (edge.low <= byte && byte <= edge.high) add({edge.target, stack});
  }
  close(set);
}

ConfigurationSet ConfigurationStepper::after_token(std::span<const Configuration> from, TokenId token) {
  for (const auto& [id, stack] : from) {
    const Automaton::State& state = automaton_.at(id);
    if (state.kind == Automaton::Kind::kToken && state.begin == to_size(token)) add({state.next, stack});
  }
  return close();
}

void ConfigurationStepper::add(Configuration configuration) {
  if (!automaton_.is_live(configuration.state)) return;
  if (met_.insert(join(configuration.state, configuration.stack))) work_.push_back(configuration);
}

void ConfigurationStepper::expand(Configuration configuration, ConfigurationSet& set) {
  const auto [id, stack] = configuration;
  const Automaton::State& state = automaton_.at(id);
  switch (state.kind) {
    case Automaton::Kind::kBytes:
    case Automaton::Kind::kToken: set.members.push_back(configuration); return;
    case Automaton::Kind::kSplit:
      for (const StateId target : automaton_.targets(state)) add({target, stack});
      return;
    case Automaton::Kind::kCall:
      // A call that nothing follows returns where its caller does: recursion to the right needs no stack.
      add({state.begin, state.next == Automaton::kReturn ? stack : stacks_.push(stack, state.next)});
      return;
    case Automaton::Kind::kReturn:
      if (stack == CallStacks::kBottom) {
        set.is_complete = true;
      } else {
        add({stacks_.return_of(stack), stacks_.below(stack)});
      }
  }
}

ConfigurationSet ConfigurationStepper::close() {
  ConfigurationSet set;
  close(set);
  return set;
}

/// Adds to the set what is reached from the work list without reading.
void ConfigurationStepper::close(ConfigurationSet& set) {
  set.members.clear();
  set.is_complete = set.is_too_large = false;
  while (!work_.empty()) {
    const Configuration next = work_.back();
    work_.pop_back();
    expand(next, set);
    if (met_.size() > kMaxConfigurations) {
      set = {.members = {}, .is_too_large = true};
      work_.clear();
    }
  }
  met_.clear();
  std::ranges::sort(set.members);
  automaton_.simulation().reduce(set.members, stacks_, Simulation::kNoStack);
}

}  // namespace octavo

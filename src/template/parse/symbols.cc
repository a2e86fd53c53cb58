#include "template/parse/symbols.h"

#include <algorithm>

#include "base/error.h"

namespace octavo::jinja {

namespace {

constexpr std::size_t kMostNames = 2000;  // in a scope

}  // namespace

Symbols::Symbols(Arena& arena, const Symbols* outer)
    : arena_(&arena), outer_(outer), names_(std::make_shared<std::vector<const Text*>>()) {}

std::optional<NameSlot> Symbols::find(std::string_view name) const {
  std::uint32_t hops = 0;
  for (const Symbols* scope = this; scope != nullptr; scope = scope->outer_, ++hops) {
    arena_->charge_steps(1);
    const auto found = scope->references_.find(name);
    if (found != scope->references_.end()) return NameSlot{hops, found->second};
  }
  return std::nullopt;
}

std::uint32_t Symbols::own_slot(const Text* name) {
  const auto known =
      std::find_if(names_->begin(), names_->end(), [&](const Text* other) { return other->bytes == name->bytes; });
  const auto slot = static_cast<std::uint32_t>(known - names_->begin());
  arena_->charge_steps(1 + slot / 8);
  if (known == names_->end()) {
    if (names_->size() == kMostNames) fail_at({}, "a scope has more than {} names", kMostNames);
    names_->push_back(name);
  }
  references_[name->bytes] = slot;
  return slot;
}

void Symbols::load(const Text* name) {
  if (find(name->bytes)) return;
  loads_[own_slot(name)] = {SlotLoad::Kind::kResolve, name, {}};
}

void Symbols::store(const Text* name) {
  stores_.insert(name->bytes);
  if (references_.contains(name->bytes)) return;
  const auto outside = outer_ == nullptr ? std::nullopt : outer_->find(name->bytes);
  SlotLoad load{SlotLoad::Kind::kUnset, name, {}};
  if (outside) load = {SlotLoad::Kind::kAlias, name, *outside};
  loads_[own_slot(name)] = load;
}

std::uint32_t Symbols::declare(const Text* name) {
  stores_.insert(name->bytes);
  const std::uint32_t slot = own_slot(name);
  loads_[slot] = {SlotLoad::Kind::kParameter, name, {}};
  return slot;
}

Symbols Symbols::branch() const {
  arena_->charge_steps(references_.size() + loads_.size() + stores_.size() + 1);
  return *this;
}

void Symbols::join(std::span<const Symbols> branches) {
  std::set<std::string_view> set_in_branches;
  for (const Symbols& branch : branches) {
    arena_->charge_steps(branch.references_.size() + branch.loads_.size() + branch.stores_.size() + 1);
    for (const std::string_view name : branch.stores_)
      if (!stores_.contains(name)) set_in_branches.insert(name);
  }
  for (const Symbols& branch : branches) {
    for (const auto& [name, slot] : branch.references_) references_[name] = slot;
    for (const auto& [slot, load] : branch.loads_) loads_[slot] = load;
    stores_.insert(branch.stores_.begin(), branch.stores_.end());
  }
  // A name that only some branches set has the outer value where none of these ran.
  for (const std::string_view name : set_in_branches) {
    const std::uint32_t slot = references_.at(name);
    const auto outside = outer_ == nullptr ? std::nullopt : outer_->find(name);
    const Text* text = (*names_)[slot];
    loads_[slot] =
        outside ? SlotLoad{SlotLoad::Kind::kAlias, text, *outside} : SlotLoad{SlotLoad::Kind::kResolve, text, {}};
  }
}

NameSlot Symbols::slot_of(const Text* name) const {
  const auto found = find(name->bytes);
  OCTAVO_CHECK(found.has_value(), "a name that was not looked through");
  return *found;
}

Scope* Symbols::finish() const {
  const auto slots = arena_->array<SlotLoad>(names_->size());
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    const auto load = loads_.find(static_cast<std::uint32_t>(slot));
    slots[slot].name = (*names_)[slot];
    if (load != loads_.end()) slots[slot] = load->second;
  }
  return arena_->make<Scope>(slots);
}

}  // namespace octavo::jinja
